package deliver

import (
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckPlace returns a fault for each cluster whose Flux or Argo CD settings
// do not match the destination of the export: a path in a git repository, or a
// registry.
func CheckPlace(layout fleet.Layout, clusters []*fleet.Cluster, registry bool, path string) error {
	var faults diag.List
	for _, c := range clusters {
		flux, argo := c.GitOps.Flux, c.GitOps.ArgoCD
		prefix, prefixPos, kind := flux.Prefix, flux.PrefixPos, flux.Source.Kind
		if layout == fleet.ArgoLayout {
			prefix, prefixPos, kind = argo.Prefix, argo.PrefixPos, "GitRepository"
		}
		var d *diag.Diag
		switch {
		case layout == fleet.PlainLayout:
		case registry && layout == fleet.ArgoLayout:
			d = &diag.Diag{Code: diag.CodeLayout, Msg: "the layout argocd requires a git repository", Hint: "export with --git, or with the layout flux"}
		case registry && kind != "OCIRepository":
			d = &diag.Diag{
				Code: diag.CodeLayout, At: []diag.Pos{flux.Source.KindPos}, Path: "gitops.flux.source.kind",
				Msg:  "it is " + kind + ", but the export goes to a registry",
				Hint: `set it to "OCIRepository"`,
			}
		case registry:
		case kind != "GitRepository":
			d = &diag.Diag{
				Code: diag.CodeLayout, At: []diag.Pos{flux.Source.KindPos}, Path: "gitops.flux.source.kind",
				Msg:  "it is " + kind + ", but the export goes to git",
				Hint: `set it to "GitRepository", or export with --oci`,
			}
		case prefix != path:
			d = &diag.Diag{
				Code: diag.CodeLayout, At: []diag.Pos{prefixPos},
				Path: fmt.Sprintf("gitops.%s.prefix", layout), Msg: fmt.Sprintf("this is %q, but the export goes to %q in the repository", prefix, path),
				Hint: "set the prefix or --path, so that they are equal",
			}
		}
		if d != nil {
			// Without a position, the faults of clusters that do not set the field are one fault.
			d.At = slices.DeleteFunc(d.At, func(p diag.Pos) bool { return !p.IsValid() })
			d.Clusters = []string{c.ID}
			faults.Add(d)
		}
	}
	return faults.Err()
}
