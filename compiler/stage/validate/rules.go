package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Names of definitions in Kubernetes' OpenAPI documents.
const (
	core       = "io.k8s.api.core.v1."
	apps       = "io.k8s.api.apps.v1."
	batch      = "io.k8s.api.batch.v1."
	storage    = "io.k8s.api.storage.v1."
	meta       = "io.k8s.apimachinery.pkg.apis.meta.v1."
	extensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
	secret     = core + "Secret"
)

// rules checks rules for a definition that its schema does not express.
func (w *walk) rules(definition string, m map[string]any) {
	switch definition {
	case meta + "ObjectMeta":
		w.labels(m, "labels")
		w.annotations(m)
	case meta + "LabelSelector":
		w.labels(m, "matchLabels")
	case meta + "LabelSelectorRequirement":
		w.selectorRequirement(m)
	case core + "NodeSelectorRequirement":
		w.nodeRequirement(m)
	case apps + "DeploymentSpec", apps + "StatefulSetSpec", apps + "DaemonSetSpec", apps + "ReplicaSetSpec",
		core + "ReplicationControllerSpec", batch + "JobSpec", batch + "CronJobSpec":
		w.workload(definition, m)
	case core + "PodSpec":
		w.labels(m, "nodeSelector")
		w.pod(m)
	case core + "Container", core + "EphemeralContainer":
		w.container(m)
	case core + "EnvVar":
		if v, _ := m["value"].(string); v != "" && m["valueFrom"] != nil {
			w.add("leave one of them out", "must not be set together with value", "valueFrom")
		}
		if name, _ := m["name"].(string); strings.Contains(name, "=") {
			w.add("", "is "+w.show(name)+", which is not a valid name: it must not contain =", "name")
		}
	case core + "ResourceRequirements":
		w.resources(m)
	case secret, core + "ConfigMap":
		w.data(definition, m)
	case extensions + "CustomResourceDefinitionSpec":
		if scope, ok := m["scope"].(string); ok && scope != "" && scope != "Namespaced" && scope != "Cluster" {
			w.add("", "is "+w.show(scope)+", neither Namespaced nor Cluster", "scope")
		}
	default:
		w.networkRules(definition, m)
	}
}

// networkRules are the rules for ports and addresses.
func (w *walk) networkRules(definition string, m map[string]any) {
	switch definition {
	case core + "ContainerPort":
		w.port(m, "containerPort")
		w.within(m, "hostPort", 0, 65535)
		w.name(m, validation.IsValidPortName, portName)
	case core + "ServicePort":
		w.port(m, "port")
		w.within(m, "nodePort", 0, 65535)
		w.portOrName(m, "targetPort")
		w.name(m, validation.IsDNS1123Label, label)
	case core + "ServiceSpec":
		w.labels(m, "selector")
		w.servicePorts(m)
	case core + "HTTPGetAction", core + "TCPSocketAction":
		w.portOrName(m, "port")
	case core + "GRPCAction", core + "EndpointPort":
		w.port(m, "port")
	case "io.k8s.api.networking.v1.ServiceBackendPort":
		w.within(m, "number", 0, 65535)
		w.name(m, validation.IsValidPortName, portName)
	case "io.k8s.api.networking.v1.NetworkPolicyPort":
		w.portOrName(m, "port")
		w.port(m, "endPort")
	case "io.k8s.api.networking.v1.IPBlock":
		if text, ok := m["cidr"].(string); ok && text != "" {
			if _, err := netip.ParsePrefix(text); err != nil {
				w.add("write it as 10.0.0.0/8", "is "+w.show(text)+", which is not a valid range of addresses", "cidr")
			}
		}
	case "io.k8s.api.networking.v1.HTTPIngressPath":
		kind, _ := m["pathType"].(string)
		if path, _ := m["path"].(string); (kind == "Exact" || kind == "Prefix") && !strings.HasPrefix(path, "/") {
			w.add("begin it with /", "is "+w.show(path)+", which does not begin with /, as pathType "+kind+" requires", "path")
		}
	default:
		w.amountRules(definition, m)
	}
}

// amountRules are the rules for numbers.
func (w *walk) amountRules(definition string, m map[string]any) {
	const autoscaler = "HorizontalPodAutoscalerSpec"
	switch definition {
	case apps + "RollingUpdateDeployment", apps + "RollingUpdateDaemonSet", apps + "RollingUpdateStatefulSetStrategy":
		w.share(m, "maxSurge")
		w.share(m, "maxUnavailable")
	case "io.k8s.api.policy.v1.PodDisruptionBudgetSpec":
		w.share(m, "minAvailable")
		w.share(m, "maxUnavailable")
		if m["minAvailable"] != nil && m["maxUnavailable"] != nil {
			w.add("leave one of them out", "must not be set together with maxUnavailable", "minAvailable")
		}
	case "io.k8s.api.autoscaling.v1." + autoscaler, "io.k8s.api.autoscaling.v2." + autoscaler:
		w.within(m, "maxReplicas", 1, unbounded)
		low, ok := number(m["minReplicas"])
		if high, ok2 := number(m["maxReplicas"]); ok && ok2 && low > high {
			w.add("", fmt.Sprintf("is %s, more than the maxReplicas %s", show(m["minReplicas"]), show(m["maxReplicas"])), "minReplicas")
		}
	case core + "WeightedPodAffinityTerm", core + "PreferredSchedulingTerm":
		w.within(m, "weight", 1, 100)
	case core + "Probe":
		for _, f := range []string{"initialDelaySeconds", "periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold"} {
			w.within(m, f, 0, unbounded)
		}
	}
}

// servicePorts checks the ports of a service together.
func (w *walk) servicePorts(m map[string]any) {
	ports := listOf(m, "ports")
	for i, p := range ports {
		if p := mapOf(p); len(ports) > 1 && p != nil && (p["name"] == nil || p["name"] == "") {
			w.add("set it: a Service with several ports must name each of them", "is missing", "ports", i, "name")
		}
	}
	w.unique(m, "ports", "name")
}

// container checks a container.
func (w *walk) container(m map[string]any) {
	w.name(m, validation.IsDNS1123Label, label)
	w.unique(m, "ports", "name")
	image, ok := m["image"].(string)
	if m["image"] == nil || ok && image == "" {
		w.add("set it", "is missing or empty", "image")
	}
	switch {
	case image != strings.TrimSpace(image):
		w.add("remove the white space", "begins or ends with white space", "image")
	case image != "" && !strings.Contains(image, "$") && !fleet.IsImageReference(image): // $ begins a variable that Flux or CI replaces
		w.add("write it as registry.example.com/team/app:1.0", "is "+w.show(image)+", which container runtimes do not accept", "image")
	}
}

// resources checks that the requests of a container do not exceed its limits.
func (w *walk) resources(m map[string]any) {
	limits := mapOf(m["limits"])
	for _, part := range []string{"requests", "limits"} {
		for name, v := range w.each(mapOf(m[part])) {
			w.resourceName(part, name)
			amount, ok := quantityOf(v)
			if !ok {
				continue
			}
			if amount.Sign() < 0 {
				w.add("use 0 or more", "is "+show(v)+", which is negative", part, inKey(name))
			}
			if limit, ok := quantityOf(limits[name]); ok && amount.Cmp(limit) > 0 {
				w.add("lower the request, or raise the limit", "is "+show(v)+", more than its limit "+show(limits[name]), part, inKey(name))
			}
		}
	}
}

// resourceName checks the name of a resource of a container: names without a
// domain belong to Kubernetes.
func (w *walk) resourceName(part, name string) {
	own := []string{"cpu", "memory", "ephemeral-storage"}
	switch {
	case slices.Contains(own, name), strings.HasPrefix(name, "hugepages-"):
	case !strings.Contains(name, "/"):
		w.add(didYouMean(name, own), "is not a resource of a container: those are "+strings.Join(own, ", ")+", hugepages-* and names with a domain", part, inKey(name))
	case !isLabelKey(name):
		w.add("", "is not a valid key: it must be "+labelKey, part, inKey(name))
	}
}

func quantityOf(v any) (q resource.Quantity, ok bool) {
	text, ok := v.(string)
	if !ok {
		if _, ok := number(v); !ok {
			return q, false
		}
		text = show(v)
	}
	q, err := resource.ParseQuantity(strings.TrimSpace(text))
	return q, err == nil
}

// pod checks the parts of a pod together.
func (w *walk) pod(m map[string]any) {
	volumes := slices.Clone(w.claims)
	for _, v := range listOf(m, "volumes") {
		if name, ok := mapOf(v)["name"].(string); ok {
			volumes = append(volumes, name)
		}
	}
	seen := map[string]string{}
	for _, kind := range []string{"initContainers", "containers"} {
		for i, c := range listOf(m, kind) {
			c := mapOf(c)
			name, _ := c["name"].(string)
			if where, ok := seen[name]; ok && where != kind && name != "" {
				w.add("rename it", "is "+show(name)+", which is also the name of one of "+where, kind, i, "name")
			}
			seen[name] = kind
			for j, mount := range listOf(c, "volumeMounts") {
				if name, ok := mapOf(mount)["name"].(string); ok && name != "" && !slices.Contains(volumes, name) {
					w.add(didYouMean(name, volumes), "is "+show(name)+", which is not a volume of the pod", kind, i, "volumeMounts", j, "name")
				}
			}
		}
	}
}
