package deliver

import (
	"fmt"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckPlace returns a fault for each cluster whose Flux or Argo CD settings
// do not match the destination of the export: a path in a git repository, or a
// registry.
func CheckPlace(layout fleet.Layout, clusters []*fleet.Cluster, registry bool, path string) error {
	var faults diag.List
	for _, c := range clusters {
		prefix, kind := c.GitOps.Flux.Prefix, c.GitOps.Flux.Source.Kind
		if layout == fleet.ArgoLayout {
			prefix, kind = c.GitOps.ArgoCD.Prefix, "GitRepository"
		}
		var d *diag.Diag
		switch {
		case layout == fleet.PlainLayout:
		case registry && layout == fleet.ArgoLayout:
			d = &diag.Diag{Code: diag.CodeLayout, Msg: "the layout argocd needs a git repository", Hint: "export with --git, or with the layout flux"}
		case registry && kind != "OCIRepository":
			d = &diag.Diag{Code: diag.CodeLayout, Path: "gitops.flux.source.kind", Msg: "it is " + kind + ", but the export goes to a registry", Hint: `set it to "OCIRepository"`}
		case registry:
		case kind != "GitRepository":
			d = &diag.Diag{Code: diag.CodeLayout, Path: "gitops.flux.source.kind", Msg: "it is " + kind + ", but the export goes to git", Hint: `set it to "GitRepository", or export with --oci`}
		case prefix != path:
			d = &diag.Diag{
				Code: diag.CodeLayout,
				Path: fmt.Sprintf("gitops.%s.prefix", layout), Msg: fmt.Sprintf("this is %q, but the export goes to %q in the repository", prefix, path),
				Hint: "set the prefix or --path, so that they are equal",
			}
		}
		if d != nil {
			d.Clusters = []string{c.ID}
			faults.Add(d)
		}
	}
	return faults.Err()
}
