package diag

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// selected matches the expression before a selector.
var selected = regexp.MustCompile(`((?:[\w#$]+|\."[^"]*"|\.[\w#$]+|\["[^"]*"\])+)\.$`)

// around returns what the user's line has before and after a name in a selector: cluster and
// .account for facts in cluster.facts.account. In an interpolation, CUE reports the string first.
func (x *explanation) around(name string) (of, below string) {
	text := x.place()
	x.putFirst(name)
	if p := x.place(); p != text && p.File == text.File && p.Line == text.Line {
		x.At = slices.DeleteFunc(x.At, func(p Pos) bool { return p == text })
	}
	line, col := x.line()
	if col < 1 || col > len(line)+1 {
		return "", ""
	}
	if s := selected.FindStringSubmatch(line[:col-1]); s != nil {
		of = s[1]
	}
	if rest, ok := strings.CutPrefix(line[col-1:], name); ok {
		below = selectors.FindString(rest)
	}
	return of, below
}

// selectors matches the selectors after an expression.
var selectors = regexp.MustCompile(`^(?:\.[\w#$]+)+`)

// undefined explains a reference to a missing field.
func (x *explanation) undefined(m []string) {
	name := strings.Trim(m[1], `"`)
	of, _ := x.around(name)
	if of == "" {
		x.Msg, x.Hint = "no field is called "+name, cmp.Or(x.Hint, "correct the name, or set the field")
		return
	}
	x.Msg = of + " has no field " + name
	if strings.HasPrefix(of, "cluster.facts") || of == "cluster" {
		x.Hint = cmp.Or(x.Hint, DidYouMean(name, x.fieldsAt(of)), "set cluster: facts: "+name+", and refer to cluster.facts."+name)
		return
	}
	among := append(x.fieldsAt(of), x.definitionsOf(of)...)
	if near := Nearest(name, among); near != "" && x.Hint == "" {
		x.fixSource(m[1], selectorText(near))
	}
	x.Hint = cmp.Or(x.Hint, DidYouMean(name, among), "set "+name+", or correct its name")
}

// parameter returns the first definition beside the fault's field that must be set and is not,
// such as #registries of a policy; "" if there is none.
func (x *explanation) parameter() string {
	sel := parsePath(x.Path).Selectors()
	if len(sel) == 0 || !x.v.Exists() {
		return ""
	}
	it, err := x.v.LookupPath(cue.MakePath(sel[:len(sel)-1]...)).Fields(cue.Optional(true), cue.Definitions(true))
	for err == nil && it.Next() {
		if s := it.Selector(); s.IsDefinition() && s.ConstraintType() == cue.RequiredConstraint {
			return strings.TrimSuffix(s.String(), "!")
		}
	}
	return ""
}

// notInserted explains a string with a reference to a value that no layer sets.
func (x *explanation) notInserted(m []string) {
	if !x.stackParameter() {
		saying("a value inserted into the string is not set: it must be $K1", "set it, or give it a default")(x, m)
	}
}

// notSet explains a reference to a field that no layer sets.
func (x *explanation) notSet(m []string) {
	name := m[1]
	of, below := x.around(name)
	if of != "" {
		name = of + "." + name
	}
	x.Msg, x.Hint = name+below+" is not set", cmp.Or(x.Hint, "set it in the cluster, or in a layer above")
}

// namedLikeImport explains a field with the name of a package that its file imports.
func (x *explanation) namedLikeImport(m []string) {
	field := x.place()
	field.Line, _ = strconv.Atoi(m[2])
	field.Col, _ = strconv.Atoi(m[3])
	x.At = slices.Insert(x.At, 0, field)
	x.Msg, x.Hint = "the file imports a package with the name of the field "+m[1], "rename the field, or name the package: import "+m[1]+`Package "PATH"`
	if m[1] == "policy" {
		x.Hint = "did you mean policies?"
		x.fixSource("policy", "policies")
	}
}
