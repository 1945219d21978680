package kube

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A table lists the kinds of each minor version of Kubernetes.
type table struct {
	kinds       map[schema.GroupKind][]row
	groups      map[string]bool
	first, last int // range of minor versions in the table
}

// A row is one version of a kind.
type row struct {
	version    string
	namespaced bool
	minors     []span // ascending
}

// A span is a range of minor versions, both ends included.
type span struct{ from, to int }

// in reports whether a minor version serves the row's version of the kind.
func (r row) in(minor int) bool { return covers(r.minors, minor) }

func covers(minors []span, minor int) bool {
	return slices.ContainsFunc(minors, func(s span) bool { return s.from <= minor && minor <= s.to })
}

// parse parses the table that kubegen writes.
func parse(text string) (*table, error) {
	t := &table{kinds: map[schema.GroupKind][]row{}, groups: map[string]bool{}}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " ")
		if len(f) != 4 || f[2] != "Namespaced" && f[2] != "Cluster" {
			return nil, fmt.Errorf("kinds.txt:%d: want apiVersion, kind, scope and minors", i+1)
		}
		gv, err := schema.ParseGroupVersion(f[0])
		if err != nil {
			return nil, fmt.Errorf("kinds.txt:%d: %w", i+1, err)
		}
		minors, err := spans(f[3])
		if err != nil {
			return nil, fmt.Errorf("kinds.txt:%d: %w", i+1, err)
		}
		gk := schema.GroupKind{Group: gv.Group, Kind: f[1]}
		t.kinds[gk] = append(t.kinds[gk], row{gv.Version, f[2] == "Namespaced", minors})
		t.groups[gv.Group] = true
		if from := minors[0].from; t.first == 0 || from < t.first {
			t.first = from
		}
		t.last = max(t.last, minors[len(minors)-1].to)
	}
	return t, nil
}

// spans parses minor versions such as 1.29-1.31,1.33.
func spans(text string) ([]span, error) {
	var out []span
	for part := range strings.SplitSeq(text, ",") {
		low, high, ok := strings.Cut(part, "-")
		if !ok {
			high = low
		}
		from, ok := minorOf(low)
		to, ok2 := minorOf(high)
		if !ok || !ok2 || from > to || len(out) > 0 && from <= out[len(out)-1].to+1 {
			return nil, fmt.Errorf("%q is not a run of minor versions", part)
		}
		out = append(out, span{from, to})
	}
	return out, nil
}

// minorOf returns the minor version of 1.36 or 1.36.2.
func minorOf(version string) (minor int, ok bool) {
	rest, ok := strings.CutPrefix(version, "1.")
	if !ok {
		return 0, false
	}
	text, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil
}

// when describes spans of minor versions: until 1.31, from 1.34, from 1.33
// until 1.36.
func (t *table) when(minors []span) string {
	var parts []string
	for _, s := range minors {
		switch {
		case s.from == s.to:
			parts = append(parts, fmt.Sprintf("in 1.%d", s.from))
		case s.from == t.first && s.to == t.last:
			parts = append(parts, "in every version")
		case s.from == t.first:
			parts = append(parts, fmt.Sprintf("until 1.%d", s.to))
		case s.to == t.last:
			parts = append(parts, fmt.Sprintf("from 1.%d", s.from))
		default:
			parts = append(parts, fmt.Sprintf("from 1.%d until 1.%d", s.from, s.to))
		}
	}
	return strings.Join(parts, " and ")
}

// CheckVersion returns a fault when a version is neither empty nor known.
func CheckVersion(version string) error {
	if _, known := Minor(version); known || version == "" {
		return nil
	}
	all := Versions()
	return &diag.Diag{
		Code: diag.CodeKubernetesVersion,
		Msg:  fmt.Sprintf("%q is not a known version of Kubernetes", version),
		Hint: fmt.Sprintf("use one from %s to %s", all[0], all[len(all)-1]),
	}
}

// Capabilities returns the API versions that a cluster of a version of Kubernetes serves,
// as charts ask for them: group/version and group/version/Kind, sorted. It has no alpha
// versions, and since 1.24 no new beta versions: a cluster serves these only when they
// are switched on.
// https://kubernetes.io/docs/reference/using-api/#api-groups-and-versioning
func Capabilities(version string) []string {
	v, known := Minor(version)
	if !known {
		return nil // a fault already
	}
	// The list of kinds does not have those that the API server never stores.
	out := []string{"authentication.k8s.io/v1", "authentication.k8s.io/v1/TokenReview", "authorization.k8s.io/v1", "authorization.k8s.io/v1/SubjectAccessReview"}
	for _, k := range v.Kinds() {
		if onByDefault(k) {
			out = append(out, k.GroupVersion().String(), k.GroupVersion().String()+"/"+k.Kind)
		}
	}
	return diag.Distinct(out)
}

// onByDefault reports whether a kind is served by default.
func onByDefault(k Kind) bool {
	switch {
	case strings.Contains(k.Version, "alpha"):
		return false
	case strings.Contains(k.Version, "beta"):
		return k.Group == "flowcontrol.apiserver.k8s.io"
	}
	return true
}
