package crd

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fleetc/fleetc/compiler/fleet"
)

const (
	crdVersion = "apiextensions.k8s.io/v1"
	crdKind    = "CustomResourceDefinition"
	approval   = "api-approved.kubernetes.io"
)

// A minor is a minor version of Kubernetes 1.
type minor uint

// newest is the compatibility version of the library that this is built with.
func newest() minor { return minor(environment.DefaultCompatibilityVersion().Minor()) }

// compatibility returns the version whose rules an API server lets new CRDs
// use: the one before its own, so that it can be rolled back. A version that
// is not known, or newer than the library, counts as the library's.
func compatibility(kubeVersion string) minor {
	rest, ok := strings.CutPrefix(kubeVersion, "1.")
	text, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(text, 10, 16)
	if !ok || err != nil || n == 0 {
		return newest()
	}
	return min(minor(n-1), newest())
}

// version returns the minor version as Kubernetes' code takes it.
func (m minor) version() *version.Version { return version.MajorMinor(1, uint(m)) }

// A definition is what is read of a CRD without checking it.
type definition struct {
	object fleet.Object
	kind   schema.GroupKind
	digest [sha256.Size]byte // of what text returns
	limits []problem         // why it cannot even be read
	broken bool              // nothing can be checked against it
}

// kindOf returns the version and kind of an object that says what it is.
func kindOf(o fleet.Object) (gvk schema.GroupVersionKind, ok bool) {
	apiVersion, _ := o.Object["apiVersion"].(string)
	kind, _ := o.Object["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	return gv.WithKind(kind), err == nil && kind != "" && gv.Version != ""
}

// read reads an object when it is a CRD. One that does not say which kind it
// describes, in which versions, is passed over: that is for others to say.
func read(o fleet.Object) (d *definition, ok bool) {
	if o.Unstructured == nil || o.Object["apiVersion"] != crdVersion || o.Object["kind"] != crdKind {
		return nil, false
	}
	d = &definition{object: o}
	for _, f := range []struct {
		to   *string
		path []string
	}{
		{&d.kind.Group, []string{"spec", "group"}},
		{&d.kind.Kind, []string{"spec", "names", "kind"}},
		{new(string), []string{"spec", "names", "plural"}},
	} {
		if *f.to, _, _ = unstructured.NestedString(o.Object, f.path...); *f.to == "" {
			return nil, false
		}
	}
	if scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope"); scope != "Namespaced" && scope != "Cluster" {
		return nil, false
	}
	if len(d.versions()) == 0 {
		return nil, false
	}
	text, much := d.text()
	if much != "" {
		d.limits = []problem{{text: ": " + much}}
	}
	d.digest = sha256.Sum256(text)
	return d, true
}

// versions returns the versions of the CRD; nil when one has no name.
func (d *definition) versions() []map[string]any {
	field, _, _ := unstructured.NestedFieldNoCopy(d.object.Object, "spec", "versions")
	list, _ := field.([]any)
	var out []map[string]any
	for _, e := range list {
		v, _ := e.(map[string]any)
		if name, _ := v["name"].(string); name == "" {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// version returns one version of the CRD.
func (d *definition) version(name string) (v map[string]any, ok bool) {
	all := d.versions()
	i := slices.IndexFunc(all, func(v map[string]any) bool { return v["name"] == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// serves reports whether the CRD serves a version.
func (d *definition) serves(name string) bool {
	v, ok := d.version(name)
	return ok && v["served"] == true
}
