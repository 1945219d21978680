// Package kube knows what Kubernetes itself serves, minor version by minor
// version: its kinds, and the schema of each.
//
// Both are embedded, and written by go generate from what k8s.io/kubernetes
// carries in its source: its discovery documents, its OpenAPI documents, and
// the enums of its generated Go code. The package checks no object, knows no
// custom resource, and asks no cluster and no network. Nothing is read before
// it is asked for, and each version's schemas are decoded once.
package kube

import (
	_ "embed" // for the two files below
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The versions are where gen starts to look: it goes down to the newest patch
// that the module proxy serves.
//
//go:generate go run ./gen . v1.29.15 v1.30.14 v1.31.14 v1.32.13 v1.33.13 v1.34.12 v1.35.8 v1.36.5 v1.37.2

//go:embed kinds.txt
var kindsText string

//go:embed schemas.txt.zst
var schemasPacked []byte

// kubernetes is the table of Kubernetes' own kinds, read when first asked for.
var kubernetes = sync.OnceValue(func() *table { return must(parse(kindsText)) })

// versions are the versions of the table, in order.
var versions = sync.OnceValue(func() []*Version {
	t := kubernetes()
	var out []*Version
	for minor := t.first; minor <= t.last; minor++ {
		v := &Version{minor: minor, table: t}
		v.schemas = sync.OnceValue(func() schemas { return must(decode(schemasPacked, minor)) })
		out = append(out, v)
	}
	return out
})

// must returns v. What is embedded is read by the package's tests, so an error
// is one of the build.
func must[T any](v T, err error) T {
	if err != nil {
		panic("kube: " + err.Error())
	}
	return v
}

// A Version is one minor version of Kubernetes. It is safe for concurrent use.
type Version struct {
	minor   int
	table   *table
	schemas func() schemas
}

// Versions returns all minor versions that the package knows, oldest first.
// The slice is the caller's.
func Versions() []*Version { return slices.Clone(versions()) }

// Minor returns the minor version of Kubernetes that a version (1.36, 1.36.2)
// is of. Known is false when the package does not know it, or when the text is
// no version.
func Minor(version string) (v *Version, known bool) {
	minor, ok := minorOf(version)
	all := versions()
	i := minor - all[0].minor
	if !ok || i < 0 || i >= len(all) {
		return nil, false
	}
	return all[i], true
}

// String returns the version as 1.36.
func (v *Version) String() string { return "1." + strconv.Itoa(v.minor) }

// Number returns the minor version: 36 of 1.36.
func (v *Version) Number() int { return v.minor }

// A Kind is a kind that a version serves.
type Kind struct {
	schema.GroupVersionKind
	Namespaced bool // whether its objects live in namespaces
}

// Kind returns a kind that the version serves; served is false when it does
// not.
func (v *Version) Kind(gvk schema.GroupVersionKind) (k Kind, served bool) {
	for _, r := range v.table.kinds[gvk.GroupKind()] {
		if r.version == gvk.Version && r.in(v.minor) {
			return Kind{gvk, r.namespaced}, true
		}
	}
	return Kind{}, false
}

// Kinds returns all kinds that the version serves, also the alpha ones that a
// cluster has switched off, ordered by group, kind and version. The slice is
// the caller's.
func (v *Version) Kinds() []Kind {
	var out []Kind
	for gk, rows := range v.table.kinds {
		for _, r := range rows {
			if r.in(v.minor) {
				out = append(out, Kind{gk.WithVersion(r.version), r.namespaced})
			}
		}
	}
	slices.SortFunc(out, func(a, b Kind) int {
		return slices.Compare([]string{a.Group, a.Kind, a.Version}, []string{b.Group, b.Kind, b.Version})
	})
	return out
}

// ServedIn returns the API versions of a kind's group in which the version
// serves it, in no order that means anything; nil when it does not.
func (v *Version) ServedIn(gk schema.GroupKind) []string {
	var out []string
	for _, r := range v.table.kinds[gk] {
		if r.in(v.minor) {
			out = append(out, r.version)
		}
	}
	return out
}

// Schema returns the schema of a kind that the version serves, nil when it
// does not. All callers share it: it must not be modified.
func (v *Version) Schema(gvk schema.GroupVersionKind) *Schema { return v.schemas().kinds[gvk] }

// Definition returns a schema by the name that Kubernetes' OpenAPI documents
// give it (io.k8s.api.core.v1.PodSpec), nil when the version has none. All
// callers share it: it must not be modified.
func (v *Version) Definition(name string) *Schema { return v.schemas().named[name] }

// HasGroup reports whether any version has an API group.
func HasGroup(group string) bool { return kubernetes().groups[group] }

// HasKind reports whether any version has a kind, in any API version.
func HasKind(gk schema.GroupKind) bool { return len(kubernetes().kinds[gk]) > 0 }

// GroupKinds returns the kinds of all versions, in no order that means
// anything.
func GroupKinds() []schema.GroupKind { return slices.Collect(maps.Keys(kubernetes().kinds)) }

// WhenKind says which versions serve a kind, as far as the package knows:
// until 1.31, from 1.34, from 1.33 until 1.36; "" when none does.
func WhenKind(gvk schema.GroupVersionKind) string {
	t := kubernetes()
	for _, r := range t.kinds[gvk.GroupKind()] {
		if r.version == gvk.Version {
			return t.when(r.minors)
		}
	}
	return ""
}

// WhenField says which versions have a field of a definition, in the words of
// WhenKind; "" when none does. It decodes the schemas of all versions.
func WhenField(definition, field string) string {
	var minors []span
	for _, v := range versions() {
		if d := v.Definition(definition); d == nil || d.Fields[field] == nil {
			continue
		}
		if n := len(minors); n > 0 && minors[n-1].to == v.minor-1 {
			minors[n-1].to = v.minor
			continue
		}
		minors = append(minors, span{v.minor, v.minor})
	}
	return kubernetes().when(minors)
}
