package secret

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// otherKeys are the fields of SOPS's metadata with keys of other kinds than age.
var otherKeys = []string{"kms", "gcp_kms", "hckms", "azure_kv", "hc_vault", "pgp", "key_groups"}

// checkReadable returns a fault for a Secret that SOPS encrypted for age recipients of which
// the cluster has none, so that nothing in the cluster can decrypt it. A cluster
// without recipients, and a Secret with keys of another kind, are not checked.
func checkReadable(c *fleet.Cluster, o fleet.Object) error {
	if len(c.Recipients) == 0 || !fleet.IsEncrypted(o.Unstructured) {
		return nil
	}
	metadata, _, _ := unstructured.NestedMap(o.Object, "sops")
	for _, key := range otherKeys {
		if list, _ := metadata[key].([]any); len(list) > 0 {
			return nil
		}
	}
	var recipients []string
	keys, _ := metadata["age"].([]any)
	for _, key := range keys {
		key, _ := key.(map[string]any)
		recipient, _ := key["recipient"].(string)
		recipients = append(recipients, recipient)
	}
	if len(recipients) == 0 || slices.ContainsFunc(recipients, func(r string) bool { return slices.Contains(c.Recipients, r) }) {
		return nil
	}
	return &diag.Diag{
		At: o.Places(), Path: o.Title(),
		Msg:  "the cluster cannot decrypt it: it is encrypted for " + diag.Visible(strings.Join(recipients, ", "), diag.MaxText) + ", which cluster.sops.age does not name (" + o.Origin() + ")",
		Hint: "encrypt it for a key of the cluster: " + strings.Join(c.Recipients, ", "),
	}
}
