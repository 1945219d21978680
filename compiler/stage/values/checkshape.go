package values

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A shapeCheck checks a value whose sink is in a Kubernetes object.
type shapeCheck struct {
	unknown func(v *fleet.Tree, in *shape, path []string) // called for each key that the shape does not have
	wrong   func(v *fleet.Tree, in *shape, path []string) // called for each value that does not meet the conditions of the shape
	other   func(v *fleet.Tree, in *shape, path []string) // called for each text outside the enumeration of the shape
}

// value checks the value and all values below it. For a value of another kind
// than the shape, it checks only the conditions: templates convert it, as with
// text that is a template.
func (c *shapeCheck) value(v *fleet.Tree, s *shape, path []string) {
	if s == nil || v == nil {
		return
	}
	if !(s.form | exactForm).meets(v) && c.wrong != nil {
		c.wrong(v, s, path)
		return
	}
	if text, ok := v.Scalar.(string); ok && !takesText(s.enum, text) && c.other != nil {
		c.other(v, s, path)
		return
	}
	if s.list {
		for i, e := range v.List {
			c.value(e, s.elem, append(path[:len(path):len(path)], fmt.Sprintf("[%d]", i)))
		}
		return
	}
	if !s.free && !s.closed() {
		return
	}
	for _, k := range v.Keys() {
		below := append(path[:len(path):len(path)], k)
		if f, ok := s.at(k); ok {
			c.value(v.Fields[k], f, below)
		} else {
			c.unknown(v.Fields[k], s, below)
		}
	}
}

// shaped checks a value whose sink is in a Kubernetes object and that has no
// type from the chart itself.
func (c *checker) shaped(v *fleet.Tree, s *shape, path []string) {
	other := func(v *fleet.Tree, in *shape, path []string) { c.chosen(v, in.enum, path) }
	(&shapeCheck{wrong: c.misplaced, other: other, unknown: func(v *fleet.Tree, in *shape, below []string) {
		c.notKubernetes(v, in, in.keys(), below)
	}}).value(v, s, path)
}

// keys returns the possible names of a key, as far as they can be listed.
func (s *shape) keys() []string {
	if s.names {
		return resources()
	}
	return slices.Sorted(maps.Keys(s.fields))
}

// notKubernetes reports a key that Kubernetes does not have at the sink. names
// are the known keys. When other versions of the sink can have more keys, it
// reports only those that are nearly known ones.
func (c *checker) notKubernetes(v *fleet.Tree, in *shape, names []string, path []string) {
	if c.inText(path) {
		return
	}
	key := path[len(path)-1]
	hint := diag.DidYouMean(key, names)
	if hint == "" && in.grows {
		return
	}
	switch {
	case hint != "":
	case len(names) <= 8:
		hint = diag.OneOf(key, names)
	default:
		hint = "remove it"
	}
	c.add(diag.CodeUnreadValue, path, v, "no such value: the chart passes it on, and Kubernetes has no such field there", hint, diag.Respell(key, names)...)
}
