package values

import (
	"cmp"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A KeyState says how fully a value is typed.
type KeyState string

// The states of keys.
const (
	Typed  KeyState = "typed"  // a wrong value is a fault
	Open   KeyState = "open"   // any value passes, for the key itself or for unknown keys below it
	Unread KeyState = "unread" // setting it is a fault: nothing reads it
)

// A Key describes one of the values of a chart and the source of its type.
type Key struct {
	Path    string   `json:"path"`              // a.b, a[].b in a list, a.*.b below any key; * for the root
	Type    string   `json:"type"`              // the accepted kinds
	Default string   `json:"default,omitempty"` // the default in values.yaml, as JSON; empty for none
	Doc     string   `json:"comment,omitempty"` // documentation from the chart
	From    string   `json:"from,omitempty"`    // source of the type: schema, Kubernetes, template, default or Chart.yaml; empty for none
	State   KeyState `json:"state"`             // how a wrong value is handled
	Why     string   `json:"why,omitempty"`     // the reason for an open value, as a clause; empty in other states
}

// A Coverage counts the values of a chart by state.
type Coverage struct {
	Typed   int      `json:"typed"`
	Open    []string `json:"open"` // their paths, in the order of Keys
	Unread  int      `json:"unread"`
	Missing []string `json:"missing"` // documents that the schemas refer to and that are missing
}

// Coverage counts the values of the chart.
func (t *Type) Coverage() Coverage {
	c := Coverage{Open: []string{}, Missing: append([]string{}, t.Missing()...)}
	for _, k := range t.List() {
		switch k.State {
		case Typed:
			c.Typed++
		case Unread:
			c.Unread++
		default:
			c.Open = append(c.Open, k.Path)
		}
	}
	return c
}

// List returns the values of the chart that have no keys below them, and the
// maps that accept unknown keys, in the chart's order.
func (t *Type) List() []Key {
	l := &lister{global: map[*Type]bool{}}
	l.list(t, "", 0)
	return l.keys
}

// A lister lists the values of a chart.
type lister struct {
	keys   []Key
	global map[*Type]bool // global maps already listed: dependencies share them
}

func (l *lister) list(t *Type, path string, depth int) {
	if depth > maxLevels || len(l.keys) > maxTypes || l.global[t] {
		return
	}
	if t.root {
		l.global[t] = true
	}
	k := Key{Path: cmp.Or(path, "*"), Type: t.kinds(), Doc: t.Doc, From: t.from(), State: Typed}
	if t.Default != nil && len(t.Keys) == 0 {
		k.Default = diag.AsJSON(t.Default)
	}
	switch {
	case t.Unread:
		k.State = Unread
	case t.isOpen():
		k.State, k.Why = Open, t.Why
	}
	if len(t.Keys) == 0 && (t.Elem == nil || len(t.Elem.Keys) == 0) || k.State == Open {
		if path != "" || k.State == Open {
			l.keys = append(l.keys, k)
		}
	}
	if t.Unread {
		return
	}
	for _, key := range t.Keys {
		if f := t.Fields[key]; t.root && key == chartutil.GlobalKey && len(f.Keys) == 0 && f.Known&^Metadata == 0 {
			continue // every chart has global, and this chart does not read it
		}
		l.list(t.Fields[key], joined(path, key), depth+1)
	}
	if t.Elem != nil && len(t.Elem.Keys) > 0 {
		if t.Kinds&List != 0 {
			l.list(t.Elem, path+"[]", depth+1)
		} else {
			l.list(t.Elem, joined(path, "*"), depth+1)
		}
	}
}

// joined returns the path of a key.
func joined(path, key string) string {
	if key != "*" {
		key = strings.TrimPrefix(pathText([]string{key}), "values.")
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// isOpen reports whether any value passes, for the value itself or for an
// unknown key or an element of it.
func (t *Type) isOpen() bool {
	if t.accepted() == Any && t.shape == nil && t.enum == nil {
		return t.limits.none() && len(t.Keys) == 0
	}
	return t.accepted()&Map != 0 && t.Open && t.Elem == nil && t.shape == nil
}

// accepted returns the kinds that meet the conditions of the value's sinks.
func (t *Type) accepted() Kind { return t.Kinds & (t.form.accepted() | Null) }

// from returns the name of the source that determines the type of a value.
func (t *Type) from() string {
	switch {
	case t.typed:
		return "schema"
	case t.shape != nil:
		return "Kubernetes"
	case t.seen&^Null != 0 && t.Known&Defaults != 0:
		return "default"
	case t.Known&Metadata != 0:
		return "Chart.yaml"
	case t.Known&Schema != 0:
		return "schema"
	case t.Known&Templates != 0:
		return "template"
	}
	return ""
}

// Missing returns the sorted names of the documents that the schemas of the
// chart and of its dependencies refer to, and that neither the chart nor its
// pinned documents contain. Their constraints are not checked.
func (t *Type) Missing() []string {
	if t.chart == nil {
		return nil
	}
	var out []string
	var collect func(n *node)
	collect = func(n *node) {
		if n.schema != nil {
			out = append(out, n.schema.missing...)
		}
		for _, d := range n.deps {
			collect(d)
		}
	}
	collect(t.chart.root)
	return diag.Distinct(out)
}
