package cluster

// codeDefault returns the default that Kubernetes sets in code, where the schema
// does not state it: for fields in atomic lists and maps, and a few fields that
// users often remove from a release. It returns nil for all others.
func codeDefault(schema, field string, in map[string]any) any {
	const core, apps, admission = "io.k8s.api.core.v1.", "io.k8s.api.apps.v1.", "io.k8s.api.admissionregistration.v1."
	switch schema + "." + field {
	case core + "ObjectFieldSelector.apiVersion", core + "PersistentVolumeClaim.apiVersion":
		return "v1"
	case core + "PersistentVolumeClaim.kind": // in a StatefulSet
		return "PersistentVolumeClaim"
	case core + "PersistentVolumeClaim.status":
		return map[string]any{"phase": "Pending"}
	case core + "PersistentVolumeClaimSpec.volumeMode":
		return "Filesystem"
	case core + "ResourceFieldSelector.divisor":
		return "0"
	case core + "ServiceAccountTokenProjection.expirationSeconds":
		return int64(3600)
	case apps + "DeploymentStrategy.rollingUpdate": // Helm's patch removes it
		if in["type"] == "RollingUpdate" {
			return map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}
		}
	case apps + "DeploymentSpec.replicas", apps + "StatefulSetSpec.replicas":
		return int64(1)
	case "io.k8s.api.networking.v1.NetworkPolicyPort.protocol":
		return "TCP"
	case "io.k8s.api.rbac.v1.RoleRef.apiGroup":
		return rbac
	case "io.k8s.api.rbac.v1.Subject.apiGroup":
		if kind := in["kind"]; kind == "User" || kind == "Group" {
			return rbac
		}
	case admission + "RuleWithOperations.scope", admission + "NamedRuleWithOperations.scope":
		return "*"
	case admission + "MatchResources.matchPolicy":
		return "Equivalent"
	case admission + "MatchResources.namespaceSelector", admission + "MatchResources.objectSelector":
		return map[string]any{}
	}
	return nil
}

const rbac = "rbac.authorization.k8s.io"
