package unify

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

func isChart(chart cue.Value) bool {
	set := present(chart, "path", "repo", "name", "version", "git", "digest")
	forms := [][]string{{"path"}, {"repo", "name", "version", "digest"}, {"git", "digest"}, {"version", "git", "digest"}}
	return slices.ContainsFunc(forms, func(want []string) bool { return slices.Equal(set, want) })
}

// pinPos returns the position of the first concrete field that pins a chart.
func (e *evaluation) pinPos(chart cue.Value) diag.Pos {
	for _, field := range []string{"digest", "path"} {
		for _, c := range diag.Conjuncts(lookup(chart, field)) {
			if p := diag.CUEPos(e.root, labelPos(c)); c.IsConcrete() && p.IsValid() {
				return p
			}
		}
	}
	return e.fieldPos(chart)
}
