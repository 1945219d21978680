package objects

import "strings"

// installOrder is the order in which Helm 3.22.0 installs its known kinds,
// which users of charts rely on. Other kinds follow alphabetically.
const installOrder = `
PriorityClass Namespace NetworkPolicy ResourceQuota LimitRange
PodSecurityPolicy PodDisruptionBudget ServiceAccount Secret SecretList
ConfigMap StorageClass PersistentVolume PersistentVolumeClaim
CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding
ClusterRoleBindingList Role RoleList RoleBinding RoleBindingList Service
DaemonSet Pod ReplicationController ReplicaSet Deployment
HorizontalPodAutoscaler StatefulSet Job CronJob IngressClass Ingress
APIService
`

// kindRanks returns the index of each kind in installOrder.
func kindRanks() map[string]int {
	kinds := strings.Fields(installOrder)
	ranks := make(map[string]int, len(kinds))
	for i, kind := range kinds {
		ranks[kind] = i
	}
	return ranks
}
