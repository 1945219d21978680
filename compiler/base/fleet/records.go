package fleet

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SystemNamespace is the namespace in which fleetc stores its records in a cluster.
const SystemNamespace = "fleetc-system"

// The names of records, or their beginnings.
const (
	InventoryRecord = "inventory" // Secrets with the inventories of fleets
	BundleRecord    = "bundle"    // Secrets with bundles of the history, and hooks
	RolloutRecord   = "rollout"   // ConfigMaps with approvals and pauses
	LeaseRecord     = "apply"     // the Lease of the apply that runs
)

// ChunkName matches the names of Secrets that have a part of a record.
var ChunkName = regexp.MustCompile(`^(` + InventoryRecord + `|` + BundleRecord + `)-[0-9a-f]{32}$`)

// IsRecord reports whether fleetc stores its own records in an object.
func IsRecord(gk schema.GroupKind, namespace, name string) bool {
	if namespace != SystemNamespace {
		return false
	}
	switch gk.String() {
	case "Secret":
		return name == InventoryRecord || strings.HasPrefix(name, InventoryRecord+".") || ChunkName.MatchString(name)
	case "ConfigMap":
		return strings.HasPrefix(name, RolloutRecord+".")
	case "Lease.coordination.k8s.io":
		return name == LeaseRecord
	}
	return false
}
