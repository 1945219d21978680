package values

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Check returns the faults in the values of a release: keys that the chart does
// not have or does not read, values of a wrong kind or that the chart's schema
// rejects, values of a disabled dependency, and waivers that are not needed.
// Each fault has the source position of the value; its path begins with
// "values".
func (t *Type) Check(v *fleet.Tree, open []fleet.Waiver) diag.List {
	return t.checked(v).waive(open)
}

// checked returns the checker after all checks, with waivers not yet applied.
func (t *Type) checked(v *fleet.Tree) *checker {
	c := &checker{root: t, values: v, text: readsOfTexts(v)}
	c.check(v, t, nil)
	c.release()
	return c
}

// A checker checks the values of one release.
type checker struct {
	root   *Type
	values *fleet.Tree
	named  map[string]bool         // all strings in the values; built on first use
	places map[string][]chartValue // values of the chart by the stems of their last keys; built on first use
	text   textReads               // values that the user's own strings read, as templates
	found  []finding
}

// A finding is a fault and the path that it is about.
type finding struct {
	path   []string
	schema bool // from the validator
	fault  *diag.Diag
}

// isWithin reports whether a path is that of a value, or of a part of it.
func isWithin(path, value []string) bool {
	return len(value) <= len(path) && slices.Equal(value, path[:len(value)])
}

func (c *checker) add(code diag.Code, path []string, at *fleet.Tree, msg, hint string, fixes ...diag.Fix) {
	if name := secretOf(at); name != "" && code == diag.CodeChartType {
		hint, fixes = "write "+fleet.FieldText([]string{"secrets", name, "ref"}), nil
	}
	c.found = append(c.found, finding{path: slices.Clone(path), fault: &diag.Diag{
		Code: code,
		At:   c.at(at, path), Path: pathText(path), Msg: msg, Hint: hint, Fixes: fixes,
	}})
}

// at returns the source position of a value. When the value has none, it returns
// the position of its first key or of the closest map around it.
func (c *checker) at(v *fleet.Tree, path []string) []diag.Pos {
	if v != nil && v.Pos.IsValid() {
		return []diag.Pos{v.Pos}
	}
	if v != nil {
		for _, k := range v.Keys() {
			if p := v.Fields[k].Pos; p.IsValid() {
				return []diag.Pos{p}
			}
		}
	}
	for n := len(path) - 1; n >= 0; n-- {
		if around, depth := c.values.Lookup(path[:n]...); depth == n && around.Pos.IsValid() {
			return []diag.Pos{around.Pos}
		}
	}
	return nil
}

func (c *checker) check(v *fleet.Tree, t *Type, path []string) {
	if t == nil || v == nil {
		return
	}
	if len(path) > 0 && !c.known(v, t, path) {
		return
	}
	switch k := kindOfTree(v); {
	case t.tested && !t.typed && isOff(v):
	case k == Number && t.quoted && !printsAsWritten(v):
		c.add(diag.CodeChartType, path, v, describeValue(v)+", which the chart may not print as written"+defaultText(t), fmt.Sprintf("write %q", fmt.Sprint(v.Scalar)))
	case t.Kinds&k == 0 && k != Null:
		hint, fixes := kindHint(v, t)
		c.add(diag.CodeChartType, path, v, fmt.Sprintf("%s, and the chart expects %s%s", describeValue(v), takes(t), defaultText(t)), hint, fixes...)
	case !c.formed(v, t, path), !c.chosen(v, t.enum, path):
	case k == Map:
		c.fields(v, t, path)
	case k == List:
		for i, e := range v.List {
			below := append(path, fmt.Sprintf("[%d]", i))
			c.check(e, t.Elem, below)
			c.innerSlips(e, t, below)
		}
		if t.Elem == nil {
			c.shaped(v, t.shape, path)
		}
	}
}

// printsAsWritten reports whether a template prints the number as the user wrote
// it: not 1.10, and none in scientific notation.
func printsAsWritten(v *fleet.Tree) bool {
	text := strings.TrimPrefix(fmt.Sprint(v.Scalar), "-")
	return len(text) <= 6 && strings.Trim(text, "0123456789") == ""
}

// known reports whether the chart reads the value, and reports a fault when it
// does not.
func (c *checker) known(v *fleet.Tree, t *Type, path []string) bool {
	if !t.Unread || c.inText(path) || removesDefault(v) {
		return true
	}
	if len(v.Fields) == 0 && v.Fields != nil {
		return true // an empty map sets nothing
	}
	hint := "remove it"
	if t.Place != "" {
		hint = fmt.Sprintf("remove it; %s has it, and no template of the chart uses it", t.Place)
	}
	c.add(diag.CodeUnreadValue, path, v, "set, but nothing reads it", hint)
	return false
}

// removesDefault reports whether the value is a null that removes a default of a
// layer above. The chart of this layer need not have the key.
func removesDefault(v *fleet.Tree) bool {
	return kindOfTree(v) == Null && v.Shadows != nil && (kindOfTree(v.Shadows) != Null || removesDefault(v.Shadows))
}

func (c *checker) fields(v *fleet.Tree, t *Type, path []string) {
	for _, k := range v.Keys() {
		below := append(slices.Clone(path), k)
		switch f := t.Fields[k]; {
		case f != nil:
			c.check(v.Fields[k], f, below)
		case t.shape.closed() && !t.Open:
			if s, ok := t.shape.at(k); ok {
				c.shaped(v.Fields[k], s, below)
			} else {
				c.notKubernetes(v.Fields[k], t.shape, union(t.shape.keys(), t.Keys), below)
			}
		case t.Open:
			if meant := slips(k, v.Fields[k], t, v.Fields); meant != "" && !c.namedInText(below) {
				c.slip(v.Fields[k], below, meant)
			} else if t.keyedElem() {
				c.check(v.Fields[k], t.Elem, below)
			}
		case c.inText(below), t.named && c.names(k), removesDefault(v.Fields[k]):
		default:
			c.unknown(v.Fields[k], t, below)
		}
	}
}

// unknown reports a key that neither the chart's values, its schema nor its
// templates name.
func (c *checker) unknown(v *fleet.Tree, t *Type, path []string) {
	key := path[len(path)-1]
	r := c.root.chart
	msg := "no such value: neither values.yaml, a schema nor a template of the chart names it"
	hint, fixes := diag.DidYouMean(key, t.Keys), diag.Respell(key, t.Keys)
	if n := r.nodeAt(path[:len(path)-1]); n != nil && v.IsMap() {
		msg = "no such value, and the chart has no dependency with this name"
		for _, e := range n.entries {
			if e.Alias != "" && e.Name == key {
				hint = fmt.Sprintf("write %s: the chart has its dependency %s under that name", e.Alias, key)
				fixes = []diag.Fix{{Kind: diag.FixName, Old: key, New: e.Alias}}
				break
			}
		}
	}
	if hint == "" {
		hint = c.elsewhere(v, path)
	}
	if hint == "" {
		hint = "remove it"
		if n := len(t.Keys); n > 0 && n <= 8 {
			hint = diag.OneOf(key, slices.Sorted(slices.Values(t.Keys)))
		}
	}
	c.add(diag.CodeUnreadValue, path, v, msg, hint, fixes...)
}

// nodeAt returns the chart whose values are at the path; nil when none is.
func (r *release) nodeAt(path []string) *node {
	if r == nil {
		return nil
	}
	n := r.root
	for _, key := range path {
		i := slices.IndexFunc(n.deps, func(d *node) bool { return d.name == key })
		if i < 0 {
			return nil
		}
		n = n.deps[i]
	}
	return n
}

// pathText returns the path as messages name it.
func pathText(path []string) string {
	var b strings.Builder
	b.WriteString("values")
	for _, p := range path {
		switch {
		case isIndex(p):
			b.WriteString(p)
		case p == "" || strings.ContainsAny(p, ". \t\n\""):
			fmt.Fprintf(&b, ".%q", p)
		default:
			b.WriteString("." + p)
		}
	}
	return b.String()
}

func kindOfTree(v *fleet.Tree) Kind {
	switch {
	case v.Fields != nil:
		return Map
	case v.List != nil:
		return List
	}
	return kindOf(v.Scalar)
}

// describeValue returns the value and its kind for a message.
func describeValue(v *fleet.Tree) string {
	what, k := fmt.Sprint(v.Scalar), kindOfTree(v)
	switch k {
	case Map, List:
		what = "this"
	case String:
		what = strconv.Quote(what)
		if r := []rune(what); len(r) > 40 {
			what = string(r[:36]) + `..."`
		}
	}
	return what + " is " + withArticle(k.Names()[0])
}

// takes returns the kinds that a type accepts, for a message.
func takes(t *Type) string {
	names := (t.Kinds &^ Null).Names()
	for i, n := range names {
		names[i] = withArticle(n)
	}
	if len(names) == 0 {
		return "only null"
	}
	return joinOr(names)
}

// joinOr joins one or more names: a, b or c.
func joinOr(names []string) string {
	n := len(names)
	if n == 1 {
		return names[0]
	}
	return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
}

// withArticle returns the name of a kind with its article.
func withArticle(kind string) string {
	switch {
	case kind == "null":
		return kind
	case strings.ContainsRune("aeiou", rune(kind[0])):
		return "an " + kind
	}
	return "a " + kind
}

// defaultText returns the chart's default in parentheses, for a message; empty
// when it is too long or not a scalar.
func defaultText(t *Type) string {
	switch t.Default.(type) {
	case bool, float64, string:
		if s := diag.AsJSON(t.Default); len(s) <= 40 {
			return " (its default is " + s + ")"
		}
	}
	return ""
}

// kindHint returns the hint for a value of a wrong kind, and the fix for it.
func kindHint(v *fleet.Tree, t *Type) (string, []diag.Fix) {
	write := func(value string) []diag.Fix { return []diag.Fix{{Kind: diag.FixValue, New: value}} }
	s, ok := v.Scalar.(string)
	switch {
	case kindOfTree(v) == Bool && t.seen&Number != 0 && t.Default != nil:
		return "write a number, such as " + diag.AsJSON(t.Default), nil
	case ok && t.Kinds&Bool != 0 && (s == "true" || s == "false"), ok && t.Kinds&Number != 0 && numeric.MatchString(s):
		return "write " + s + " without quotes", write(s)
	case t.Kinds&List != 0 && kindOfTree(v) == Map:
		return "put it into a list: [{...}]", nil
	case t.Kinds&String != 0 && t.Kinds&(List|Map) == 0 && kindOfTree(v)&(Number|Bool) != 0:
		text := fmt.Sprintf("%q", fmt.Sprint(v.Scalar))
		return "write " + text, write(text)
	}
	return "set it to " + takes(t), nil
}

// secretOf returns the name of the secret that a map is, as in password: secrets.db without
// ref; empty for other values.
func secretOf(v *fleet.Tree) string {
	if v == nil || v.Fields["ref"] == nil {
		return ""
	}
	text, _ := v.Fields["ref"].Scalar.(string)
	if names := fleet.References(text); len(names) == 1 {
		return names[0]
	}
	return ""
}

var numeric = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// names reports whether a string in the user's or in the chart's values equals
// the key.
func (c *checker) names(key string) bool {
	if c.named == nil {
		c.named = map[string]bool{}
		add := func(leaf any) bool {
			if text, ok := leaf.(string); ok {
				c.named[text] = true
			}
			return false // visit all
		}
		fleet.AnyLeaf(c.values.Value(), add)
		fleet.AnyLeaf(c.root.chart.root.values, add)
	}
	return c.named[key]
}
