package compiler

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// readCRDs reads the CRDs that clusters have without a release, and adds their kinds to the
// APIs of the clusters. It reads each file once for each place that names it.
func (f *Fleet) readCRDs() error {
	var faults diag.List
	type content struct {
		objs []fleet.Object
		err  error
	}
	type entry struct {
		name string
		pos  diag.Pos
	}
	files := map[entry]content{}
	f.KnownCRDs = map[string][]fleet.Object{}
	for _, c := range f.Clusters {
		for i, name := range c.CRDs {
			e := entry{name, c.Pos}
			if i < len(c.CRDsPos) {
				e.pos = c.CRDsPos[i]
			}
			file, ok := files[e]
			if !ok {
				file.objs, file.err = f.crdsIn(name, e.pos)
				files[e] = file
			}
			faults.Add(diag.In(c.ID, file.err))
			f.KnownCRDs[c.ID] = append(f.KnownCRDs[c.ID], file.objs...)
		}
		c.APIs = append(c.APIs, kindsOf(f.KnownCRDs[c.ID])...)
	}
	return faults.Err()
}

// crdsIn reads a file or directory of CRDs, which a layer names at a place.
func (f *Fleet) crdsIn(name string, pos diag.Pos) ([]fleet.Object, error) {
	objs, _, err := source.ReadManifests(f.Dir, name, &fleet.Release{Name: "crds", SourcePos: pos})
	var faults diag.List
	faults.Add(diag.Changed(err, func(d *diag.Diag) { d.Path = "cluster.crds" }))
	for _, o := range objs {
		if o.GroupVersionKind().GroupKind() != fleet.CRDKind {
			faults.Add(&diag.Diag{
				Code: diag.CodeCRD,
				At:   []diag.Pos{o.Pos, pos}, Path: "cluster.crds", Msg: "this is a " + o.GetKind() + ", not a CustomResourceDefinition",
				Hint: "leave it out, or make it part of a release",
			})
		}
	}
	return objs, faults.Err()
}

// kindsOf returns the kinds that CRDs serve.
func kindsOf(crds []fleet.Object) (out []fleet.API) {
	for _, o := range crds {
		scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
		for _, gvk := range fleet.ServedKinds(o.Unstructured) {
			out = append(out, fleet.API{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespaced: scope == "Namespaced"})
		}
	}
	return out
}
