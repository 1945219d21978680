package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// builtin are the judges of Kubernetes' kinds. Other kinds are judged by their conditions.
var builtin = map[string]func(*unstructured.Unstructured) HealthVerdict{
	"Deployment.apps":                     onceSeen(deploymentVerdict),
	"StatefulSet.apps":                    onceSeen(statefulSet),
	"DaemonSet.apps":                      onceSeen(daemonSet),
	"ReplicaSet.apps":                     onceSeen(replicaSet),
	"ReplicationController":               onceSeen(replicaSet),
	"Job.batch":                           job,
	"Pod":                                 pod,
	"Service":                             service,
	"PersistentVolumeClaim":               claim,
	"PersistentVolume":                    volume,
	"HorizontalPodAutoscaler.autoscaling": autoscaler,
	"CustomResourceDefinition.apiextensions.k8s.io": crd,
	"APIService.apiregistration.k8s.io":             apiService,
}

// outdatedStatus returns the verdict on an object whose status describes an earlier
// generation.
func outdatedStatus(u *unstructured.Unstructured) (v HealthVerdict, ok bool) {
	seen, known := asInt(fieldValue(u, "status", "observedGeneration"))
	last, counted := asInt(fieldValue(u, "metadata", "generation"))
	if known && counted && seen != last {
		return HealthVerdict{HealthInProgress, fmt.Sprintf("its controller has seen generation %d, and the last is %d", seen, last)}, true
	}
	return HealthVerdict{}, false
}

// onceSeen returns the judge of a kind whose controller always sets the observed
// generation.
func onceSeen(judge func(*unstructured.Unstructured) HealthVerdict) func(*unstructured.Unstructured) HealthVerdict {
	return func(u *unstructured.Unstructured) HealthVerdict {
		if _, known := asInt(fieldValue(u, "status", "observedGeneration")); !known {
			return HealthVerdict{HealthInProgress, "its controller has not seen it yet"}
		}
		return judge(u)
	}
}

// service judges a Service. Only a load balancer must get an address, which DNS and
// clients need.
func service(u *unstructured.Unstructured) HealthVerdict {
	external, _ := fieldValue(u, "spec", "externalIPs").([]any)
	if text(u, "spec", "type") != "LoadBalancer" || len(external) > 0 {
		return HealthVerdict{HealthReady, "it exists"}
	}
	if ingress, _ := fieldValue(u, "status", "loadBalancer", "ingress").([]any); len(ingress) > 0 {
		return HealthVerdict{HealthReady, "its load balancer has an address"}
	}
	return HealthVerdict{HealthInProgress, "its load balancer has no address yet"}
}

// claim judges a volume claim. Without a sign of provisioning its state is Unknown,
// since its class may wait for the first pod that uses it.
func claim(u *unstructured.Unstructured) HealthVerdict {
	phase := text(u, "status", "phase")
	started := text(u, "spec", "volumeName") != ""
	for _, a := range []string{"volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"} {
		started = started || text(u, "metadata", "annotations", a) != ""
	}
	switch {
	case phase == "Bound":
		return HealthVerdict{HealthReady, "it is bound"}
	case phase == "Lost":
		return HealthVerdict{HealthFailed, "its volume is lost"}
	case started:
		return HealthVerdict{HealthInProgress, "its volume is being created"}
	}
	return HealthVerdict{HealthUnknown, "it waits for a volume, or for a pod that uses it"}
}

func volume(u *unstructured.Unstructured) HealthVerdict {
	switch phase := text(u, "status", "phase"); phase {
	case "Failed":
		return HealthVerdict{HealthFailed, "it failed" + condition{reason: text(u, "status", "reason"), message: text(u, "status", "message")}.detail()}
	case "", "Pending":
		return HealthVerdict{HealthInProgress, "it is not available yet"}
	}
	return HealthVerdict{HealthReady, "it is available"}
}

// autoscaler judges an autoscaler: its target must exist. Metrics do not matter.
func autoscaler(u *unstructured.Unstructured) HealthVerdict {
	if c, found := conditionOf(u, "AbleToScale"); found && c.status == "False" && c.reason == "FailedGetScale" {
		return HealthVerdict{HealthInProgress, c.describe()}
	}
	return HealthVerdict{HealthReady, "it exists"}
}

// crd judges a CRD. The API server serves an established CRD without a short name that is
// taken, which may be the singular name of the same CRD.
func crd(u *unstructured.Unstructured) HealthVerdict {
	names, known := conditionOf(u, "NamesAccepted")
	c, found := conditionOf(u, "Established")
	if known && names.holds("False") && !(names.reason == "ShortNamesConflict" && found && c.holds("True")) {
		return HealthVerdict{HealthFailed, names.describe()}
	}
	switch {
	case found && c.holds("True"):
		return HealthVerdict{HealthReady, "it is established"}
	case found && c.holds("False") && c.reason != "Installing":
		return HealthVerdict{HealthFailed, c.describe()}
	}
	return HealthVerdict{HealthInProgress, "it is not established yet"}
}

func apiService(u *unstructured.Unstructured) HealthVerdict {
	switch c, found := conditionOf(u, "Available"); {
	case found && c.holds("True"):
		return HealthVerdict{HealthReady, "it is available"}
	case found:
		return HealthVerdict{HealthInProgress, c.describe()}
	}
	return HealthVerdict{HealthInProgress, "it is not available yet"}
}
