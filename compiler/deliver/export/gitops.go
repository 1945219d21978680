package export

import (
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Layouter lays out bundles as files.
type Layouter struct {
	Fleet  string                               // module path
	Names  func([]fleet.Object) []string        // returns the files of objects, relative to their directory
	Encode func(map[string]any) ([]byte, error) // returns the YAML of an object
}

// Lay returns the bundle in the given layout, with the digest and pins of b and the
// objects of the GitOps tool. Features that the layout does not support, and missing
// settings, are faults.
func (l Layouter) Lay(b *fleet.Bundle, layout fleet.Layout) (*fleet.Bundle, error) {
	if layout == fleet.PlainLayout {
		return b, nil
	}
	lay := l.flux
	if layout == fleet.ArgoLayout {
		lay = l.argo
	}
	out, err := lay(b)
	var faults diag.List
	faults.Add(undone(b))
	faults.Add(err)
	return out, faults.Err()
}

// undone returns a fault for each action without applyOnly, because no layout supports
// actions.
func undone(b *fleet.Bundle) error {
	var faults diag.List
	for _, a := range b.Cluster.AllActions() {
		if !a.ApplyOnly {
			faults.Add(&diag.Diag{
				Code: diag.CodeGitOpsUnsupported,
				At:   []diag.Pos{a.Pos}, Path: "action " + a.ID(), Msg: "actions are not supported with --layout flux or argocd",
				Hint: "if only fleetc apply needs the action, set applyOnly: true",
			})
		}
	}
	return faults.Err()
}

// add writes an object of the bundle below dir.
func (l Layouter) add(to *fleet.Bundle, dir string, o fleet.Object) error {
	text, err := l.Encode(o.Object)
	if err != nil {
		return err
	}
	to.Objects, to.YAML, to.Dirs = append(to.Objects, o), append(to.YAML, fleet.Text{text}), append(to.Dirs, dir)
	return nil
}

// own writes a file with an object of Flux or Argo CD.
func (l Layouter) own(to *fleet.Bundle, name string, object map[string]any) error {
	return l.file(to, name, fleet.Mark(l.Fleet, to.Cluster, fleet.Object{Unstructured: &unstructured.Unstructured{Object: object}}).Object)
}

// file writes a file that has no object of the bundle.
func (l Layouter) file(to *fleet.Bundle, name string, content map[string]any) error {
	text, err := l.Encode(content)
	if err != nil {
		return err
	}
	to.Files = append(to.Files, fleet.File{Name: name, Data: text})
	return nil
}

// emptyBundle returns an empty bundle for the cluster of b.
func emptyBundle(b *fleet.Bundle, layout fleet.Layout) *fleet.Bundle {
	return &fleet.Bundle{Cluster: b.Cluster, Digest: b.Digest, Charts: b.Charts, Layout: layout}
}

// applied returns the objects that are applied directly, without those of releases
// that Helm delivers.
func applied(b *fleet.Bundle) []fleet.Object {
	return diag.Filter(b.Objects, func(o fleet.Object) bool { return o.Release.Delivery != fleet.ByHelm })
}

// isKept reports whether pruning must keep an object, by the rules of apply:
// deleting it would lose data, or it is annotated to stay.
func isKept(o fleet.Object) bool {
	return fleet.IsProtected(o.GroupVersionKind().GroupKind()) || fleet.KeepAnnotation(o.Unstructured) != ""
}

// pinOf returns the chart that a release was rendered from.
func pinOf(b *fleet.Bundle, release string) fleet.ChartRef {
	for _, p := range b.Charts {
		if p.Release == release {
			return p.Chart
		}
	}
	return fleet.ChartRef{}
}

// placeOf returns the path of a cluster's directory below the export's prefix.
func placeOf(prefix string, c *fleet.Cluster, below ...string) string {
	return path.Join(append([]string{prefix, c.ID}, below...)...)
}

// object returns an object with the given spec.
func object(apiVersion, kind, namespace, name string, spec map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u.Object
}
