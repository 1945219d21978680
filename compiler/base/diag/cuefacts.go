package diag

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// clusterFields are the fields of a cluster that other fields refer to.
var clusterFields = []string{"cluster", "environment"}

// separateFacts moves positions in these fields behind the other positions of a
// fault about another field. The referring line is the one to look at.
func separateFacts(root string, l List, v cue.Value) {
	var spans []span // computed on first use
	for _, d := range l {
		first, _, _ := strings.Cut(d.Path, ".")
		if len(d.At) < 2 || !v.Exists() || slices.Contains(clusterFields, first) {
			continue
		}
		if spans == nil {
			spans = spansOf(root, v)
		}
		var at, facts []Pos
		for _, p := range d.At {
			if slices.ContainsFunc(spans, func(s span) bool { return s.contains(p) }) {
				facts = append(facts, p)
			} else {
				at = append(at, p)
			}
		}
		if len(at) > 0 {
			d.At, d.Facts = at, append(d.Facts, facts...)
		}
	}
}

// A span is the source range of a field and its value.
type span struct{ from, to Pos }

func (s span) contains(p Pos) bool {
	return p.File == s.from.File && s.from.Compare(p) <= 0 && p.Compare(s.to) <= 0
}

// spansOf returns the source ranges of the cluster's fields in the user's files.
func spansOf(root string, v cue.Value) []span {
	out := []span{}
	for _, name := range clusterFields {
		for _, c := range Conjuncts(v.LookupPath(cue.MakePath(cue.Str(name)))) {
			source := c.Source()
			if source == nil {
				continue
			}
			s := span{CUEPos(root, source.Pos()), CUEPos(root, source.End())}
			if s.from.IsValid() && !IsTypeFile(s.from.File) {
				out = append(out, s)
			}
		}
	}
	return out
}
