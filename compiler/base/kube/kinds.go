package kube

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
