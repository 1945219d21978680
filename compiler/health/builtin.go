package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtin returns how objects of a kind of Kubernetes' own are judged, nil when
// they are as any other.
func builtin(gk schema.GroupKind) func(*unstructured.Unstructured) Verdict {
	switch gk.String() {
	case "Deployment.apps":
		return deployment
	case "StatefulSet.apps":
		return statefulSet
	case "DaemonSet.apps":
		return daemonSet
	case "ReplicaSet.apps", "ReplicationController":
		return replicaSet
	case "Job.batch":
		return job
	case "Pod":
		return pod
	case "Service":
		return service
	case "PersistentVolumeClaim":
		return claim
	case "PersistentVolume":
		return volume
	case "HorizontalPodAutoscaler.autoscaling":
		return autoscaler
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return crd
	case "APIService.apiregistration.k8s.io":
		return apiService
	}
	return nil
}

// behind returns the verdict on an object whose controller has not seen its last
// change, whose status therefore is of the one before.
func behind(u *unstructured.Unstructured) (v Verdict, ok bool) {
	seen, told := whole(at(u, "status", "observedGeneration"))
	last, counted := whole(at(u, "metadata", "generation"))
	if told && counted && seen != last {
		return Verdict{InProgress, fmt.Sprintf("its controller has seen generation %d, and the last is %d", seen, last)}, true
	}
	return Verdict{}, false
}

// unseen returns the verdict on an object of a kind whose controller always says
// which generation it has seen, and has not yet.
func unseen(u *unstructured.Unstructured) (v Verdict, ok bool) {
	if _, told := whole(at(u, "status", "observedGeneration")); !told {
		return Verdict{InProgress, "its controller has not seen it yet"}, true
	}
	return Verdict{}, false
}

// service waits for the address of a load balancer, which DNS and clients need,
// and for nothing else.
func service(u *unstructured.Unstructured) Verdict {
	external, _ := at(u, "spec", "externalIPs").([]any)
	if text(u, "spec", "type") != "LoadBalancer" || len(external) > 0 {
		return Verdict{Ready, "it exists"}
	}
	if ingress, _ := at(u, "status", "loadBalancer", "ingress").([]any); len(ingress) > 0 {
		return Verdict{Ready, "its load balancer has an address"}
	}
	return Verdict{InProgress, "its load balancer has no address yet"}
}

// claim does not wait for ever for the volume of a claim that nobody asks for:
// its class may wait for the first pod that does. What is under way is waited
// for.
func claim(u *unstructured.Unstructured) Verdict {
	phase := text(u, "status", "phase")
	begun := text(u, "spec", "volumeName") != ""
	for _, a := range []string{"volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"} {
		begun = begun || text(u, "metadata", "annotations", a) != ""
	}
	switch {
	case phase == "Bound":
		return Verdict{Ready, "it is bound"}
	case phase == "Lost":
		return Verdict{Failed, "its volume is lost"}
	case begun:
		return Verdict{InProgress, "its volume is being made"}
	}
	return Verdict{Unknown, "it waits for a volume, or for a pod that asks for one"}
}

func volume(u *unstructured.Unstructured) Verdict {
	switch phase := text(u, "status", "phase"); phase {
	case "Failed":
		return Verdict{Failed, "it failed" + condition{reason: text(u, "status", "reason"), message: text(u, "status", "message")}.why()}
	case "", "Pending":
		return Verdict{InProgress, "it is not available yet"}
	}
	return Verdict{Ready, "it is available"}
}

// autoscaler waits for what it scales to exist, and for no metrics.
func autoscaler(u *unstructured.Unstructured) Verdict {
	if c, found := conditionOf(u, "AbleToScale"); found && c.status == "False" && c.reason == "FailedGetScale" {
		return Verdict{InProgress, c.says()}
	}
	return Verdict{Ready, "it exists"}
}

func crd(u *unstructured.Unstructured) Verdict {
	if c, found := conditionOf(u, "NamesAccepted"); found && c.is("False") {
		return Verdict{Failed, c.says()}
	}
	switch c, found := conditionOf(u, "Established"); {
	case found && c.is("True"):
		return Verdict{Ready, "it is established"}
	case found && c.is("False") && c.reason != "Installing":
		return Verdict{Failed, c.says()}
	}
	return Verdict{InProgress, "it is not established yet"}
}

func apiService(u *unstructured.Unstructured) Verdict {
	switch c, found := conditionOf(u, "Available"); {
	case found && c.is("True"):
		return Verdict{Ready, "it is available"}
	case found:
		return Verdict{InProgress, c.says()}
	}
	return Verdict{InProgress, "it is not available yet"}
}
