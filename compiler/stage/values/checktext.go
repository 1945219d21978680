package values

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file finds the values that strings in the user's values read. Charts pass
// such strings to tpl.

// valueRead matches a path of values in a string that the chart passes to tpl.
var valueRead = regexp.MustCompile(`\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// textReads holds the values that strings read. Paths are relative to the chart
// or to a dependency.
type textReads struct {
	tree *Read    // reads of the strings as templates of the chart; nil for none
	open []string // paths that strings read in another way, such as .a.b
}

// readsOfTexts returns the reads of the strings in the values.
func readsOfTexts(v *fleet.Tree) textReads {
	texts := map[string]bool{}
	if v != nil {
		v.EachScalar(func(_ []string, scalar *fleet.Tree) {
			if s, ok := scalar.Scalar.(string); ok && strings.Contains(s, "{{") && strings.Contains(s, ".Values") {
				texts[s] = true
			}
		})
	}
	if len(texts) == 0 {
		return textReads{}
	}
	sorted := slices.Sorted(maps.Keys(texts))
	out := textReads{tree: readTexts(sorted)}
	for _, s := range sorted {
		for _, m := range valueRead.FindAllStringSubmatch(s, -1) {
			if !out.tree.covers(strings.Split(m[1][1:], "."), true) {
				out.open = append(out.open, m[1])
			}
		}
	}
	return out
}

// readTexts returns the reads of the texts as templates of a chart that has
// nothing else.
func readTexts(texts []string) *Read {
	r := newInterpreter()
	r.addChart(&chart.Chart{Metadata: &chart.Metadata{Name: "text"}})
	root := r.roots[0]
	for _, data := range texts {
		if t := r.parse("text", data, false); t != nil {
			r.entries = append(r.entries, entry{data, t, root})
		} else {
			r.scan(data, root.self)
		}
	}
	r.run()
	return r.tree()
}

// covers reports whether the value at the path, a value below it, or, with whole,
// a value above it as a whole is read.
func (r *Read) covers(path []string, whole bool) bool {
	for i, key := range path {
		if whole && r.Mode&Printed != 0 || whole && i > 0 && len(r.Keys) == 0 && r.Any == nil {
			return true
		}
		next := cmp.Or(r.Keys[key], r.Any)
		if next == nil {
			return false
		}
		r = next
	}
	return true
}

// inText reports whether a string in the values reads the path, a value above it
// as a whole, or a value below it.
func (c *checker) inText(path []string) bool { return c.readInText(path, true) }

// namedInText reports whether a string in the values reads the path or a value
// below it.
func (c *checker) namedInText(path []string) bool { return c.readInText(path, false) }

func (c *checker) readInText(path []string, whole bool) bool {
	if c.text.tree == nil {
		return false
	}
	for from := range path {
		if from > 0 && c.root.chart.nodeAt(path[:from]) == nil {
			break
		}
		if c.text.tree.covers(path[from:], whole) {
			return true
		}
		full := "." + strings.Join(path[from:], ".")
		if slices.ContainsFunc(c.text.open, func(read string) bool {
			return full == read || whole && strings.HasPrefix(full, read+".") || strings.HasPrefix(read, full+".")
		}) {
			return true
		}
	}
	return false
}
