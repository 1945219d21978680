// Package gitops makes of a bundle what Flux and Argo CD apply: the objects as
// these take them, and objects of their own that say in which order, how to wait
// and what to prune. Both come from one model, the steps of a bundle.
//
// It is a function of its arguments: it writes no files and asks no cluster. It
// does not render, check or apply objects either, but for what an export must
// not have: the values of Secrets, see [Secrets].
package gitops

import (
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// A Layouter lays bundles out as files.
type Layouter struct {
	Fleet  string                               // path of its module
	Names  func([]fleet.Object) []string        // returns the files of objects, below a directory that is theirs
	Encode func(map[string]any) ([]byte, error) // returns the text of an object
}

// Lay returns the bundle as it is written for a layout: with the digest and the
// pins of b, and with objects of its own. What the layout cannot say, or has not
// been told, is a fault.
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

// undone returns a fault for each action of a cluster that nobody would do.
func undone(b *fleet.Bundle) error {
	var faults diag.List
	for _, a := range b.Cluster.AllActions() {
		if !a.ApplyOnly {
			faults.Add(&diag.Diag{
				At: []diag.Pos{a.Pos}, Path: "action " + a.ID(), Msg: "neither Flux nor Argo CD does what is to be done around a stage or a release",
				Hint: "if it is for fleetc apply alone, say so: applyOnly: true",
			})
		}
	}
	return faults.Err()
}

// add adds an object of the bundle to those that are written.
func (l Layouter) add(to *fleet.Bundle, dir string, o fleet.Object) error {
	text, err := l.Encode(o.Object)
	if err != nil {
		return err
	}
	to.Objects, to.YAML, to.Dirs = append(to.Objects, o), append(to.YAML, fleet.Text{text}), append(to.Dirs, dir)
	return nil
}

// own adds a file with an object for Flux or Argo CD.
func (l Layouter) own(to *fleet.Bundle, name string, object map[string]any) error {
	return l.file(to, name, fleet.Mark(l.Fleet, to.Cluster, fleet.Object{Unstructured: &unstructured.Unstructured{Object: object}}).Object)
}

// file adds a file that has no object of the bundle.
func (l Layouter) file(to *fleet.Bundle, name string, content map[string]any) error {
	text, err := l.Encode(content)
	if err != nil {
		return err
	}
	to.Files = append(to.Files, fleet.File{Name: name, Data: text})
	return nil
}

// empty returns a bundle to add to, for the cluster of b.
func empty(b *fleet.Bundle, layout fleet.Layout) *fleet.Bundle {
	return &fleet.Bundle{Cluster: b.Cluster, Digest: b.Digest, Charts: b.Charts, Layout: layout}
}

// applied returns the objects of a bundle that are applied as such: those of
// releases that Helm does not deliver.
func applied(b *fleet.Bundle) []fleet.Object {
	var out []fleet.Object
	for _, o := range b.Objects {
		if o.Release.Delivery != fleet.ByHelm {
			out = append(out, o)
		}
	}
	return out
}

// isKept reports whether an object stays in the cluster when it is no longer
// part of the bundle, as apply has it: what hangs on it would be lost, or it says
// so itself.
func isKept(o fleet.Object) bool {
	return fleet.IsProtected(o.GroupVersionKind().GroupKind()) || fleet.KeptBy(o.Unstructured) != ""
}

// pinOf returns the chart that a release of a bundle was rendered from.
func pinOf(b *fleet.Bundle, release string) fleet.ChartRef {
	for _, p := range b.Charts {
		if p.Release == release {
			return p.Chart
		}
	}
	return fleet.ChartRef{}
}

// placeOf returns the directory of a cluster below what an export is written to.
func placeOf(prefix string, c *fleet.Cluster, below ...string) string {
	return path.Join(append([]string{prefix, c.ID}, below...)...)
}

// object returns an object with a specification.
func object(apiVersion, kind, namespace, name string, spec map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u.Object
}
