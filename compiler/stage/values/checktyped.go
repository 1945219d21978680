package values

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckTyped is [Type.Check] for releases that require types. It also reports
// each open value that the user sets, and each document that the chart's schema
// refers to and that is missing. Waivers accept these faults, too.
func (t *Type) CheckTyped(v *fleet.Tree, open []fleet.Waiver) diag.List {
	c := t.checked(v)
	for _, name := range t.Missing() {
		c.add(diag.CodeUnknownType, nil, v, fmt.Sprintf("types are required, but the chart's schema refers to %s, which is missing", name),
			`run fleetc chart add again, which pins it, or give a reason: open: "*": "..."`)
	}
	c.untyped(v, t, nil)
	return c.waive(open)
}

// untyped reports the outermost values that are open.
func (c *checker) untyped(v *fleet.Tree, t *Type, path []string) {
	switch {
	case v == nil || t == nil || c.faulty(path):
		return
	case len(path) > 0 && t.isOpen() && len(t.Keys) == 0:
		if v.Scalar != nil || len(v.Fields) > 0 || len(v.List) > 0 {
			c.openValue(v, t, path)
		}
		return
	case v.List != nil:
		for i, e := range v.List {
			c.untyped(e, t.Elem, append(path, fmt.Sprintf("[%d]", i)))
		}
	}
	for _, k := range v.Keys() {
		below := append(slices.Clone(path), k)
		switch f := t.Fields[k]; {
		case f != nil:
			c.untyped(v.Fields[k], f, below)
		case t.keyedElem():
			c.untyped(v.Fields[k], t.Elem, below)
		case t.isOpen() && !c.faulty(below):
			c.openValue(v.Fields[k], t, below)
		}
	}
}

func (c *checker) openValue(v *fleet.Tree, t *Type, path []string) {
	msg := "types are required, but any value is accepted here"
	if t.Why != "" {
		msg += ": " + t.Why
	}
	// A waiver names no elements of lists.
	waived, _, _ := strings.Cut(strings.TrimPrefix(pathText(path), "values."), "[")
	c.add(diag.CodeUnknownType, path, v, msg, fmt.Sprintf("give a reason: open: %q: \"...\"", waived))
}

// faulty reports whether there is a fault at the path or above it.
func (c *checker) faulty(path []string) bool {
	return slices.ContainsFunc(c.found, func(f finding) bool {
		return len(f.path) > 0 && isWithin(path, f.path)
	})
}
