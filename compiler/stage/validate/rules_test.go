package validate

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

// Every definition with rules exists in Kubernetes: with a typo in the name,
// the rules would have no effect.
func TestRulesHaveDefinitions(t *testing.T) {
	const networking, autoscaling = "io.k8s.api.networking.v1.", "io.k8s.api.autoscaling."
	for _, v := range kube.Versions() {
		for definition, fields := range map[string]string{
			meta + "ObjectMeta":                            "labels annotations",
			meta + "LabelSelector":                         "matchLabels",
			meta + "LabelSelectorRequirement":              "key operator values",
			meta + "MicroTime":                             "",
			core + "NodeSelectorRequirement":               "key operator values",
			core + "Event":                                 "metadata",
			core + "ISCSIVolumeSource":                     "lun",
			core + "ISCSIPersistentVolumeSource":           "lun",
			core + "LimitRangeSpec":                        "limits",
			core + "PreferredSchedulingTerm":               "weight preference",
			core + "WeightedPodAffinityTerm":               "weight",
			core + "TypedLocalObjectReference":             "kind",
			core + "HTTPHeader":                            "value",
			core + "Sysctl":                                "value",
			core + "SleepAction":                           "seconds",
			core + "ReplicationControllerSpec":             "replicas selector template",
			core + "PodSpec":                               "nodeSelector volumes containers initContainers restartPolicy",
			core + "Container":                             "name image ports volumeMounts",
			core + "EphemeralContainer":                    "name image ports volumeMounts",
			core + "EnvVar":                                "name value valueFrom",
			core + "ResourceRequirements":                  "requests limits",
			core + "Secret":                                "data stringData type",
			core + "ConfigMap":                             "data binaryData",
			core + "ContainerPort":                         "containerPort hostPort name",
			core + "ServicePort":                           "port nodePort targetPort name",
			core + "ServiceSpec":                           "selector ports",
			core + "HTTPGetAction":                         "port",
			core + "TCPSocketAction":                       "port",
			core + "GRPCAction":                            "port",
			core + "EndpointPort":                          "port",
			core + "Probe":                                 "initialDelaySeconds periodSeconds timeoutSeconds successThreshold failureThreshold",
			apps + "DeploymentSpec":                        "replicas selector template",
			apps + "StatefulSetSpec":                       "replicas selector template volumeClaimTemplates",
			apps + "DaemonSetSpec":                         "selector template",
			apps + "ReplicaSetSpec":                        "replicas selector template",
			apps + "RollingUpdateDeployment":               "maxSurge maxUnavailable",
			apps + "RollingUpdateDaemonSet":                "maxSurge maxUnavailable",
			apps + "RollingUpdateStatefulSetStrategy":      "maxUnavailable",
			batch + "JobSpec":                              "selector manualSelector template parallelism completions backoffLimit activeDeadlineSeconds",
			batch + "CronJobSpec":                          "schedule timeZone startingDeadlineSeconds successfulJobsHistoryLimit failedJobsHistoryLimit",
			batch + "PodFailurePolicy":                     "rules",
			storage + "CSIDriver":                          "spec",
			storage + "CSINode":                            "spec",
			storage + "CSINodeSpec":                        "drivers",
			storage + "TokenRequest":                       "audience",
			extensions + "CustomResourceDefinitionSpec":    "scope",
			extensions + "CustomResourceDefinitionVersion": "served storage",
			networking + "ServiceBackendPort":              "number name",
			networking + "NetworkPolicyPort":               "port endPort",
			networking + "IPBlock":                         "cidr",
			networking + "HTTPIngressPath":                 "path pathType",
			"io.k8s.api.policy.v1.PodDisruptionBudgetSpec": "minAvailable maxUnavailable",
			autoscaling + "v1.HorizontalPodAutoscalerSpec": "minReplicas maxReplicas",
			autoscaling + "v2.HorizontalPodAutoscalerSpec": "minReplicas maxReplicas",
		} {
			d := v.Definition(definition)
			if d == nil {
				t.Errorf("%s: no definition of %s", v, definition)
				continue
			}
			for f := range strings.FieldsSeq(fields) {
				if d.Fields[f] == nil {
					t.Errorf("%s: %s has no field %s", v, definition, f)
				}
			}
		}
	}
}

// Every field of takesZero is required by the documents of some version: others
// could be removed from it.
func TestTakesZero(t *testing.T) {
	for definition, field := range map[string]string{
		core + "HTTPHeader": "value", core + "Sysctl": "value", core + "Event": "metadata", core + "LimitRangeSpec": "limits",
		core + "ISCSIVolumeSource": "lun", core + "ISCSIPersistentVolumeSource": "lun", core + "PreferredSchedulingTerm": "preference",
		core + "SleepAction": "seconds", core + "TypedLocalObjectReference": "kind", batch + "PodFailurePolicy": "rules",
		storage + "CSIDriver": "spec", storage + "CSINode": "spec", storage + "CSINodeSpec": "drivers", storage + "TokenRequest": "audience",
		extensions + "CustomResourceDefinitionVersion": "served",
	} {
		if !takesZero(definition, field) {
			t.Errorf("%s %s is not taken as zero", definition, field)
		}
		if !slices.ContainsFunc(kube.Versions(), func(v *kube.Version) bool {
			d := v.Definition(definition)
			return d != nil && slices.Contains(d.Required, field)
		}) {
			t.Errorf("%s does not require %s", definition, field)
		}
	}
	if takesZero(core+"Container", "name") {
		t.Error("a container needs no name")
	}
}

// Rules accept values of any type: wrong types are reported elsewhere.
func TestRulesTakeAnything(t *testing.T) {
	v, _ := kube.Minor("1.36")
	for _, k := range v.Kinds() {
		seen := map[string]bool{}
		var visit func(s *kube.Schema)
		visit = func(s *kube.Schema) {
			if s == nil || seen[s.Name] && s.Name != "" {
				return
			}
			seen[s.Name] = true
			for _, odd := range []any{nil, "", "x", int64(-1), 1e300, true, []any{}, []any{nil, "a"}, map[string]any{}, map[string]any{"": nil}} {
				m := map[string]any{}
				for f := range s.Fields {
					m[f] = odd
				}
				messages(func(w *walk) { w.rules(s.Name, m) })
			}
			for _, f := range s.Fields {
				visit(f)
			}
			visit(s.Elem)
		}
		visit(v.Schema(k.GroupVersionKind))
	}
}

// Images are references that container runtimes accept, or have variables that others
// replace.
func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for image, want := range map[string]string{
		"nginx": "", "nginx:1.27": "", "r.example:5000/a/b:1" + digest: "", "ghcr.io/example/app:${TAG}": "", "$(IMAGE)": "",
		"":          "image is missing or empty",
		" nginx":    "image begins or ends with white space",
		"nginx:":    `image is "nginx:", which container runtimes do not accept`,
		":1.27":     `image is ":1.27", which container runtimes do not accept`,
		"Nginx:1":   `image is "Nginx:1", which container runtimes do not accept`,
		"nginx:a b": `image is "nginx:a b", which container runtimes do not accept`,
		"a/b:1:2":   `image is "a/b:1:2", which container runtimes do not accept`,
	} {
		got := messages(func(w *walk) { w.container(map[string]any{"name": "a", "image": image}) })
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: got %s, want %s", image, got, want)
		}
	}
}
