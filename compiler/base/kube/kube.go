// Package kube lists the built-in kinds of each minor version of Kubernetes and
// their schemas.
//
// Both are embedded. go generate writes them from the source of
// k8s.io/kubernetes: its discovery documents, its OpenAPI documents and the
// enums of its generated Go code. The data is decoded at its first use, the schemas
// of each version separately.
//
// [HealthRules.Judge] judges whether a live object is healthy. It knows the statuses of
// Kubernetes' own kinds and the conventions of custom kinds; the rules of a fleet come
// before both. An [Explainer] says why an object is not ready, with a chain that ends at
// the pod, container or event that is the cause. The same input gives the same verdict,
// and malformed input never panics.
//
// The package does not validate objects, and uses no cluster, clock or network: the caller
// passes the waiting time to [HealthWaiting.Step], and an ObjectReader for other objects.
package kube

import (
	_ "embed" // for the two files below
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kubegen starts at these versions and uses the newest patch that the module proxy
// serves.
//
//go:generate go run ../../../testdata/kubegen . v1.29.15 v1.30.14 v1.31.14 v1.32.13 v1.33.13 v1.34.12 v1.35.8 v1.36.5 v1.37.2
//go:generate go run ../../../testdata/kubegen . sigs.k8s.io/gateway-api@v1.6.3 github.com/prometheus-operator/prometheus-operator@v0.85.0 github.com/cert-manager/cert-manager@v1.21.2 github.com/kedacore/keda/v2@v2.21.0 k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1

//go:embed kinds.txt
var kindsText string

//go:embed schemas.txt.zst
var schemasPacked []byte

// kubernetes is the table of built-in kinds, parsed at its first use.
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

// must returns v. An error is a bug of the build, since tests decode the
// embedded files.
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

// Versions returns all minor versions in the table, oldest first. The caller
// owns the slice.
func Versions() []*Version { return slices.Clone(versions()) }

// Minor returns the minor version of a version such as 1.36 or 1.36.2. known is
// false if the table lacks it, or if the text is not a version.
func Minor(version string) (v *Version, known bool) {
	minor, ok := minorOf(version)
	all := versions()
	i := minor - all[0].minor
	if !ok || i < 0 || i >= len(all) {
		return nil, false
	}
	return all[i], true
}

// String returns the version, such as 1.36.
func (v *Version) String() string { return "1." + strconv.Itoa(v.minor) }

// Number returns the minor version, such as 36 for 1.36.
func (v *Version) Number() int { return v.minor }

// A Kind is a kind that a version serves.
type Kind struct {
	schema.GroupVersionKind
	Namespaced bool // whether its objects have a namespace
}

// Kind returns a kind of the version; served is false if the version does not
// serve it.
func (v *Version) Kind(gvk schema.GroupVersionKind) (k Kind, served bool) {
	for _, r := range v.table.kinds[gvk.GroupKind()] {
		if r.version == gvk.Version && r.in(v.minor) {
			return Kind{gvk, r.namespaced}, true
		}
	}
	return Kind{}, false
}

// Kinds returns all kinds of the version, sorted by group, kind and version. It
// includes alpha versions, which are disabled by default in clusters. The
// caller owns the slice.
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

// ServedIn returns the API versions of a group in which the version serves a
// kind, in any order, or nil.
func (v *Version) ServedIn(gk schema.GroupKind) []string {
	var out []string
	for _, r := range v.table.kinds[gk] {
		if r.in(v.minor) {
			out = append(out, r.version)
		}
	}
	return out
}

// Schema returns the schema of a kind of the version, or nil. It is shared and
// must not be modified.
func (v *Version) Schema(gvk schema.GroupVersionKind) *Schema { return v.schemas().kinds[gvk] }

// Definition returns a schema by its name in the OpenAPI documents
// (io.k8s.api.core.v1.PodSpec), or nil. It is shared and must not be modified.
func (v *Version) Definition(name string) *Schema { return v.schemas().named[name] }

// HasGroup reports whether any version has an API group.
func HasGroup(group string) bool { return kubernetes().groups[group] }

// HasKind reports whether any version has a kind, in any API version.
func HasKind(gk schema.GroupKind) bool { return len(kubernetes().kinds[gk]) > 0 }

// GroupKinds returns the kinds of all versions, in any order.
func GroupKinds() []schema.GroupKind { return slices.Collect(maps.Keys(kubernetes().kinds)) }

// WhenKind describes the versions that serve a kind, within the table: until
// 1.31, from 1.34, from 1.33 until 1.36; empty for none.
func WhenKind(gvk schema.GroupVersionKind) string {
	t := kubernetes()
	for _, r := range t.kinds[gvk.GroupKind()] {
		if r.version == gvk.Version {
			return t.when(r.minors)
		}
	}
	return ""
}

// WhenField describes the versions in which a definition has a field, like
// WhenKind. It decodes the schemas of all versions.
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
