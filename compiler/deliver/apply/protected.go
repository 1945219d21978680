package apply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// AllKinds selects all protected kinds.
const AllKinds = "all"

// ParseProtected parses protected kinds on the command line: KIND, KIND.GROUP or
// all.
func ParseProtected(names []string) ([]schema.GroupKind, error) {
	var out []schema.GroupKind
	var faults diag.List
	for _, name := range names {
		found := slices.DeleteFunc(fleet.ProtectedKinds(), func(gk schema.GroupKind) bool {
			return name != AllKinds && name != "true" && name != gk.Kind && name != gk.String()
		})
		if len(found) == 0 && name != "false" {
			faults.Add(&diag.Diag{
				Code: diag.CodeFlagValue,
				Msg:  fmt.Sprintf("--prune-protected: %s is not a protected kind", quote(name)), Hint: diag.OneOf(name, ProtectedNames()),
			})
		}
		for _, gk := range found {
			if !slices.Contains(out, gk) {
				out = append(out, gk)
			}
		}
	}
	return out, faults.Err()
}

// ProtectedNames returns the kinds that [ParseProtected] accepts.
func ProtectedNames() []string {
	return diag.Each(fleet.ProtectedKinds(), func(gk schema.GroupKind) string { return gk.Kind })
}
