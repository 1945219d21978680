package secret

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// checkReadable returns a fault for a Secret that SOPS encrypted for age recipients of which
// the cluster has none, so that nothing in the cluster can decrypt it. A cluster
// without recipients, and a Secret with keys of another kind, are not checked.
func checkReadable(c *fleet.Cluster, o fleet.Object) error {
	if len(c.Recipients) == 0 || !fleet.IsEncrypted(o.Unstructured) {
		return nil
	}
	recipients, others, err := sopsKeysOf(o.Object)
	if err != nil {
		return &diag.Diag{
			Code: diag.CodeSOPSFile, At: o.Places(), Path: o.Title(),
			Msg:   "the SOPS metadata is not valid (" + o.Origin() + ")",
			Hint:  "restore the Secret from version control, or encrypt it again",
			Cause: err,
		}
	}
	if len(recipients) == 0 || len(others) > 0 || slices.ContainsFunc(recipients, func(r string) bool { return slices.Contains(c.Recipients, r) }) {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeSOPSRules,
		At:   o.Places(), Path: o.Title(),
		Msg:  "the cluster cannot decrypt it: it is encrypted for " + diag.Visible(strings.Join(recipients, ", "), diag.MaxText) + ", which cluster.sops.age does not name (" + o.Origin() + ")",
		Hint: "encrypt it for a key of the cluster: " + strings.Join(c.Recipients, ", "),
	}
}
