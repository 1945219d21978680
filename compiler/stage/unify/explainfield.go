package unify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Field explains the field at the path, whose keys [fleet.ParseField] reads.
// keys adds the keys that the release's chart allows. A path that cannot exist
// is a fault.
func (x *Explainer) Field(path []string, keys Keys) (*fleet.Explanation, error) {
	if err := x.exists(path, keys); err != nil {
		return nil, err
	}
	l := x.last()
	e := &fleet.Explanation{Cluster: x.id, Path: l.text(path), Faults: []string{}, Layers: []fleet.LayerValue{}, Contributions: []*fleet.Contribution{}}
	e.Unselected = len(path) > 1 && path[0] == "releases" && slices.Contains(x.unselected, path[1])
	e.State, e.Value = l.value(path)
	if v, sels := l.at(path); len(sels) == len(path) && isStruct(v) && e.State == fleet.Set {
		e.Leaves = x.leaves(path)
		if slices.ContainsFunc(e.Leaves, func(l fleet.Leaf) bool { return l.State == fleet.Conflict }) {
			e.State, e.Value = fleet.Conflict, nil
		}
	} else {
		e.Contributions = x.contributions(path)
		for i, layer := range x.layers {
			if at := x.level(i); at != nil {
				state, value := at.value(path)
				e.Layers = append(e.Layers, fleet.LayerValue{Layer: layer, State: state, Value: value})
			}
		}
	}
	for _, d := range x.faultsOf(path) {
		if !slices.Contains(e.Faults, d.Msg) {
			e.Faults = append(e.Faults, d.Msg)
		}
	}
	return e, nil
}

// text returns the path in CUE syntax.
func (l *level) text(path []string) string { return cue.MakePath(l.selectors(path)...).String() }

// selectors returns the CUE selectors of a path, also for fields that do not
// exist.
func (l *level) selectors(path []string) []cue.Selector {
	_, sels := l.at(path)
	for _, key := range path[len(sels):] {
		sels = append(sels, cue.Str(key))
	}
	for i, s := range sels {
		if s.ConstraintType() != 0 {
			sels[i] = cue.Str(s.Unquoted())
		}
	}
	return sels
}

// exists reports a path that does not exist and is not allowed.
func (x *Explainer) exists(path []string, keys Keys) error {
	l := x.last()
	v, sels := l.at(path)
	if len(path) > 0 && len(sels) == len(path) || isValues(path) && len(path) > 3 && x.isMentioned(path) {
		return nil
	}
	if v.IncompleteKind() == cue.ListKind {
		return &diag.Diag{
			Code: diag.CodeNoMatch,
			Path: l.text(path[:len(sels)]), Clusters: []string{x.id},
			Msg:  fmt.Sprintf("no element %s: the list has length %d, and indices begin at 0", path[len(sels)], elements(v)),
			Hint: "run fleetc explain " + x.id + " " + l.text(path[:len(sels)]) + " for the whole list",
		}
	}
	for i := len(sels); i < len(path); i++ {
		among := x.Next(path[:i])
		if isValues(path[:i]) && keys != nil {
			known, open := keys(path[3:i])
			if slices.Contains(known, path[i]) {
				continue
			}
			if among = append(among, known...); open && diag.DidYouMean(path[i], among) == "" {
				return nil
			}
		}
		hint := diag.OneOf(path[i], diag.Distinct(among))
		if in := x.inRelease(path); i == 0 && in != nil {
			hint = "write " + l.text(in)
		}
		switch {
		case hint != "":
		case i == 0:
			hint = "begin the path with a field of layers, such as releases or cluster"
		case i == 2 && path[0] == "releases":
			hint = "write " + l.text(slices.Insert(slices.Clone(path), 2, "values")) + " for a value of the release"
		default:
			hint = "run fleetc explain " + x.id + " " + l.text(path[:i]) + " for the fields that are there"
		}
		return &diag.Diag{
			Code: diag.CodeNoMatch,
			Path: l.text(path[:i+1]), Clusters: []string{x.id},
			Msg: "no such field", Hint: hint,
		}
	}
	return nil
}

// inRelease returns the path of a field or value of a release, for a path that begins with the
// name of the release or a similar one; nil if there is none.
func (x *Explainer) inRelease(path []string) []string {
	name, releases := path[0], x.Next([]string{"releases"})
	if !slices.Contains(releases, name) {
		name = diag.Nearest(name, releases)
		if name == "" || diag.Nearest(path[0], x.Next(nil)) != "" {
			return nil
		}
	}
	out := []string{"releases", name}
	if len(path) > 1 && !slices.Contains(x.Next(out), path[1]) {
		out = append(out, "values")
	}
	return append(out, path[1:]...)
}

// isMentioned reports whether a layer sets or deletes a value.
func (x *Explainer) isMentioned(path []string) bool {
	l := x.last()
	if l.valuesOf(path[1]).At(path[3:]...) != nil {
		return true
	}
	return slices.ContainsFunc(l.layers, func(layer fleet.Layer) bool {
		said := defaultPath(path, layer.Name)
		_, sels := l.at(said)
		return len(sels) == len(said)
	})
}

// defaultPath returns the path of a layer's default for the value at the path.
func defaultPath(path []string, layer string) []string {
	return slices.Concat(path[:2], []string{"defaults", layer}, path[3:])
}

// Next returns the keys that exist or are allowed below a path.
func (x *Explainer) Next(path []string) []string {
	l := x.last()
	v, sels := l.at(path)
	var out []string
	if len(sels) == len(path) {
		for _, c := range append(diag.Conjuncts(v), v) { // a conflicting value has no fields as a whole
			if it, err := c.Fields(cue.Optional(true), cue.Definitions(true)); err == nil {
				for it.Next() {
					out = append(out, name(it.Selector()))
				}
			}
		}
		if v.IncompleteKind() == cue.ListKind {
			for i := range elements(v) {
				out = append(out, strconv.Itoa(i))
			}
		}
	}
	if isValues(path) {
		if t := l.valuesOf(path[1]).At(path[3:]...); t != nil {
			out = append(out, t.Keys()...)
		}
	}
	return diag.Distinct(out)
}

// name returns the name of a field as identifiers refer to it.
func name(s cue.Selector) string {
	if s.LabelType() == cue.StringLabel {
		return s.Unquoted()
	}
	return strings.TrimRight(s.String(), "?!")
}

// leaves returns the values below a path with their effective lines.
func (x *Explainer) leaves(path []string) []fleet.Leaf {
	l := x.last()
	v, _ := l.at(path)
	t := l.reader().tree(v)
	if isValues(path) {
		t = l.valuesOf(path[1]).At(path[3:]...)
	}
	out := []fleet.Leaf{}
	var walk func(t *fleet.Tree, at []string)
	walk = func(t *fleet.Tree, at []string) {
		if t == nil {
			return
		}
		if len(t.Fields) > 0 {
			for _, k := range t.Keys() {
				walk(t.Fields[k], append(slices.Clone(at), k))
			}
			return
		}
		if len(at) == len(path) {
			return // an empty map
		}
		leaf := fleet.Leaf{Path: l.text(at)}
		leaf.State, leaf.Value = l.value(at)
		for _, c := range x.lines(at) {
			if c.Role == fleet.Effective || c.Role == fleet.Conflicts {
				leaf.Effective = c.Contribution
				break
			}
		}
		out = append(out, leaf)
	}
	walk(t, path)
	return out
}

// faultsOf returns the faults of a field and of the fields below it.
func (x *Explainer) faultsOf(path []string) diag.List {
	l := x.last()
	if !x.faultsComplete {
		unbound := x.faults
		for _, err := range []error{l.checkAllLayers(l.bare), l.checkReleases(l.bare), l.check(l.bare)} {
			for _, d := range diag.All(err) {
				if !slices.ContainsFunc(unbound, func(u *diag.Diag) bool { return u.Path == d.Path }) {
					x.faults = append(x.faults, d)
				}
			}
		}
		x.faultsComplete = true
	}
	field := strings.Join(diag.Each(l.selectors(path), cue.Selector.String), ".") // the format of paths in faults
	var out diag.List
	for _, d := range x.faults {
		value := diag.ValuesPath(d.Path) // the path of the value that a default sets
		of := *d
		switch {
		case d.Path == field, value == field:
		case strings.HasPrefix(d.Path, field+"."), strings.HasPrefix(value, field+"."):
			of.Msg = d.Path + ": " + d.Msg
		default:
			continue
		}
		out = append(out, &of)
	}
	return out
}
