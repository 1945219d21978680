package values

import (
	"slices"
	"strings"
	"text/template/parse"
)

// This file models the conditions of functions on their arguments: texts, maps,
// lists, and values of certain kinds.

// An argumentForm is the condition of a function on one of its arguments.
type argumentForm struct {
	form form
	last bool // on the last argument, else on that with the index
	at   int
}

// argumentForms are the functions that fail when an argument has another form.
var argumentForms = byName(map[argumentForm]string{
	{form: stringForm, last: true}: "lower upper title untitle trim trimSuffix trimPrefix trimAll trunc abbrev nospace snakecase camelcase kebabcase " +
		"repeat replace indent nindent b64enc b64dec sha1sum sha256sum split splitList fromYaml fromJson fromYamlArray fromJsonArray " +
		"contains hasPrefix hasSuffix semverCompare regexMatch regexFind",
	{form: mapForm}:             "keys get set unset hasKey pick omit merge mergeOverwrite",
	{form: mapForm, last: true}: "dig",
	{form: listForm}:            "first last rest initial append push prepend without uniq compact reverse concat",
	{form: listForm, at: 1}:     "has",
	{form: stringForm}:          "tpl",
})

// checkForms records the condition of the function on its arguments.
func (a arguments) checkForms(name string) {
	take := argumentForms[name]
	v := a.at(take.at)
	if take.last {
		v = a.last(0)
	}
	a.takes(take.form, v)
	if take.last && take.form == stringForm {
		a.asksOf(a.list, nil)
	}
}

// takes records the condition of a function on its arguments.
func (a arguments) takes(f form, vs ...*value) {
	for _, v := range vs {
		for _, p := range v.placesOrNil() {
			p.needs |= f
		}
	}
}

// printBare records that a template prints the value without conversion, so that
// a map or a list has Go's syntax. That is right for a list: when the chart's
// default for one of the values is a list, the others can be lists, too.
func (r *interpreter) printBare(v *value) {
	if slices.ContainsFunc(v.placesOrNil(), (*place).isListByDefault) {
		return
	}
	for _, p := range v.placesOrNil() {
		p.bare = true
	}
}

// betweenQuotes reports whether the output of the action is all that stands
// between two quotes of the text.
func (s *source) betweenQuotes(n parse.Node) bool {
	if s == nil || int(n.Position()) > len(s.data) {
		return false
	}
	open := strings.LastIndex(s.data[:n.Position()], "{{")
	end := actionEnd(s.data, max(0, open))
	if open < 1 || end >= len(s.data) {
		return false
	}
	quote := s.data[open-1]
	return (quote == '"' || quote == '\'') && s.data[end] == quote
}

// testsFor records that a template tests whether the values are of the kinds.
func (r *interpreter) testsFor(k Kind, vs ...*value) {
	for _, v := range vs {
		for _, p := range v.placesOrNil() {
			p.testedFor |= k
			r.tested(p)
		}
	}
}

// kindOfValue models kindOf: it returns the name of the kind of a value. The
// kinds that the template tests for are those of the texts that it compares the
// name with.
func kindOfValue(a arguments) *value {
	v := a.last(0)
	a.useAll(Tested)
	if len(v.placesOrNil()) == 0 {
		return anything()
	}
	o, _ := a.object(a.site, "kind "+v.key())
	if o.summary {
		a.testsFor(Any, v)
		return anything()
	}
	o.kindOf = v
	return o.self
}

// asksOf records that a template compares the names with the words. For a name
// of a kind, it tests for the kinds that the words name.
func (r *interpreter) asksOf(names, words []*value) {
	for _, name := range names {
		if name == nil {
			continue
		}
		for _, o := range name.objects {
			if o.kindOf != nil {
				r.testsFor(kindsNamed(words...), o.kindOf)
			}
		}
	}
}

// kindsNamed returns the kinds that the words name, or all kinds when they name
// no known one.
func kindsNamed(words ...*value) Kind {
	k := Kind(0)
	for _, w := range words {
		names, _ := w.literal()
		for _, name := range names {
			switch {
			case strings.Contains(name, "map"):
				k |= Map
			case strings.Contains(name, "slice"), strings.Contains(name, "list"), strings.HasPrefix(name, "[]"):
				k |= List
			case name == "invalid":
				k |= Null
			case name == "string":
				k |= String
			case name == "bool":
				k |= Bool
			case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "float"):
				k |= Number
			}
		}
	}
	if k == 0 {
		return Any
	}
	return k
}

// isListByDefault reports whether the chart's own value at the place is a list.
func (p *place) isListByDefault() bool {
	return slices.ContainsFunc(p.defaults(), func(d any) bool { return kindOf(d) == List })
}
