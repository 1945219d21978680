package diag

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// An explanation is a fault during the translation of its message.
type explanation struct {
	*Diag
	root string
	v    cue.Value
	text string // content of the fault's file, once read
}

// orSlip returns a translation that first looks for a mistake in the syntax of the
// line.
func orSlip(say func(*explanation, []string)) func(*explanation, []string) {
	return func(x *explanation, m []string) {
		if !x.slip(false) {
			say(x, m)
		}
	}
}

// saying returns a translation with fixed text, see [filled].
func saying(msg, hint string) func(*explanation, []string) {
	return func(x *explanation, m []string) {
		x.Msg, x.Hint = filled(msg, m), cmp.Or(x.Hint, filled(hint, m))
	}
}

// filled replaces $1 in a text with a submatch, $K1 with the type that it names, $Q1 with its
// word in quotes, and $C1 with colons in place of its dots.
func filled(text string, m []string) string {
	var parts []string
	for i, part := range m[1:] {
		n := strconv.Itoa(i + 1)
		parts = append(parts, "$K"+n, kindName(part), "$Q"+n, quotedWord(part), "$C"+n, strings.ReplaceAll(part, ".", ": "), "$"+n, part)
	}
	return strings.NewReplacer(parts...).Replace(text)
}

// ExplainCUE translates CUE's messages in faults and adds hints.
func ExplainCUE(root string, l List, v cue.Value) {
	for _, d := range l {
		x := &explanation{Diag: d, root: root, v: v}
		if unparsed.MatchString(d.Msg) {
			x.syntax()
			d.Path = ""
			continue
		}
		if x.colonInText() {
			continue
		}
		for _, p := range phrases() {
			// The message of a failed string interpolation ends with its cause.
			if m := p.cue.FindStringSubmatch(strings.TrimSpace(causeOf(d))); m != nil {
				x.Code = p.code
				p.say(x, m)
				break
			}
		}
		ExplainShadowing(root, d)
	}
}

// firstOfEach drops faults that follow from others: it keeps the first syntax error
// of a file, the first fault of a line, and the first of equal mistakes in several
// lines.
func firstOfEach(l List) List {
	type slip struct {
		file, msg string
		line      int
	}
	seen, unreadable := map[slip]bool{}, map[string]bool{}
	for _, d := range l {
		if e, ok := d.Cause.(errors.Error); ok && len(d.At) > 0 && unparsed.MatchString(message(e)) {
			unreadable[d.At[0].File] = true
		}
	}
	return slices.DeleteFunc(l, func(d *Diag) bool {
		e, ok := d.Cause.(errors.Error)
		if !ok || len(d.At) == 0 {
			return false
		}
		file, msg := d.At[0].File, message(e)
		keys := []slip{{file: file}}
		switch {
		case unparsed.MatchString(msg):
		case unreadable[file]:
			return true
		case strings.HasPrefix(msg, "reference "), strings.HasPrefix(msg, "invalid operation "), strings.Contains(msg, "cannot find package"), strings.HasPrefix(msg, "cannot determine package"):
			keys = []slip{{file: file, line: d.At[0].Line}, {file: file, msg: d.Msg}}
		default:
			return false
		}
		repeated := false
		for _, k := range keys {
			repeated = repeated || seen[k]
			seen[k] = true
		}
		return repeated
	})
}

var literal = regexp.MustCompile(`^("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?[0-9][0-9._eE+-]*|true|false|null)$`)

// otherType explains a value of the wrong type.
func (x *explanation) otherType(m []string) {
	value, want, got, must := m[1], m[2], m[3], m[4]
	switch {
	case literal.MatchString(m[1]) && literal.MatchString(m[2]):
		x.Code, x.Rivals, x.Msg = CodeConflict, true, "set to two different values, "+m[1]+" and "+m[2]
		x.Hint = cmp.Or(x.Hint, shapeOf(x.Path), "keep one of them")
		return
	case literal.MatchString(m[2]), !literal.MatchString(m[1]) && x.isWritten(m[4]):
		value, want, got, must = m[2], m[1], m[4], m[3]
	}
	if must == "struct" && namespaceField.MatchString(x.Path) { // another layer has the text
		value, got, must = "", must, got
		x.Hint = cmp.Or(x.Hint, `write namespace: "NAME"`)
	}
	said := "this"
	if literal.MatchString(value) {
		said = value
	}
	if len(x.At) > 1 && !x.isType(x.At[1]) && !literal.MatchString(want) && !literal.MatchString(value) {
		x.Msg = "this is " + kindName(got) + " on one line and " + kindName(must) + " on another"
	} else {
		x.Msg = said + " is " + kindName(got) + ", and must be " + kindName(must)
		if value == "null" {
			x.Msg = "null is not allowed: the value must be " + kindName(must)
		}
	}
	x.convert(cmp.Or(x.Hint, shapeOf(x.Path), durationOf(x.Path, value)), value, got, must)
}

// isType reports whether the user's line refers to a type at the position, such as
// schema.#Releases.
func (x *explanation) isType(p Pos) bool {
	line, col := x.lineAt(p)
	return col > 0 && typeReference.MatchString(line[min(col-1, len(line)):])
}

var typeReference = regexp.MustCompile(`^(?:\w+\.)?#\w`)

// durations matches the paths of fields that have durations.
var durations = regexp.MustCompile(`(?i)(?:interval|timeout|\.after)$`)

// durationOf returns the hint for a whole number where a field of the schema has a duration,
// or "".
func durationOf(path, value string) string {
	if strings.Contains(path, ".values.") || strings.Contains(path, ".defaults.") || !durations.MatchString(path) || strings.Trim(value, "0123456789") != "" {
		return ""
	}
	return `write a duration, as in "` + value + `s"`
}

// namespaceField matches the path of a release's namespace.
var namespaceField = regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.namespace$`)

// convert sets the hint if there is none, and the fix, to a literal as a value of the
// required type.
func (x *explanation) convert(hint, value, got, must string) {
	if x.Hint = hint; hint != "" {
		return
	}
	text, fix := converted(value, got, must)
	if x.Hint = cmp.Or(text, "set it to "+kindName(must)); fix != "" {
		x.Fixes = []Fix{{Kind: FixValue, New: fix}}
	}
}

// converted returns a literal as a value of the required type, with its hint, or "" when it
// cannot be converted.
func converted(value, got, must string) (hint, fix string) {
	if !literal.MatchString(value) {
		return "", ""
	}
	text := strings.Trim(value, `"'`)
	switch {
	case got == "bytes" && must == "string":
		fix = `"` + text + `"`
		return `single quotes are for bytes: write ` + fix, fix
	case must == "string" && got != "null":
		fix = `"` + text + `"`
		return "write " + fix, fix
	case got == "string" && (must == "bool" && (text == "true" || text == "false") || isNumber(must) && literal.MatchString(text) && text[0] != '"'):
		return "write " + text, text
	case must == "list":
		fix = "[" + value + "]"
		return "write " + fix, fix
	case must == "bool":
		return "write true or false", ""
	}
	return "", ""
}

func isNumber(kind string) bool { return kind == "int" || kind == "number" || kind == "float" }

// twoValues explains a field with two conflicting values.
func (x *explanation) twoValues(m []string) {
	a, b := m[1], m[2]
	if !literal.MatchString(a) || !literal.MatchString(b) {
		if literal.MatchString(b) {
			a, b = b, a
		}
		x.Msg, x.Hint = a+" conflicts with "+b, cmp.Or(x.Hint, "change one of them")
		return
	}
	if x.onlyTrue(a, b) {
		return
	}
	x.Rivals, x.Msg = true, "set to two different values, "+a+" and "+b
	hint := "keep one of the two lines"
	if strings.HasPrefix(x.Path, "releases.") && strings.Contains(x.Path, ".values.") {
		x.Fixes = []Fix{{Kind: FixDefault}}
		hint = "keep one of them; write a value that lower layers may change in defaults: LAYER, not in values"
	}
	x.Hint = cmp.Or(x.Hint, hint)
}

// noneOf explains a value that matches no alternative, which may be types.
func (x *explanation) noneOf(m []string) {
	x.putFirst(m[1])
	choices := strings.Split(m[2], ", ")
	got, kinds := kindOf(m[1]), kindsOf(choices)
	switch {
	case got == "" || len(kinds) == 0:
	case len(kinds) == 1 && literal.MatchString(m[1]):
		x.Code, x.Msg = CodeWrongType, m[1]+" is not "+kindName(kinds[0])
		x.convert(x.Hint, m[1], got, kinds[0])
		return
	default:
		said, must := "this", kindName(strings.Join(kinds, "|"))
		if literal.MatchString(m[1]) {
			said = m[1]
		}
		x.Code, x.Msg = CodeWrongType, said+" is "+kindName(got)+", and must be "+must
		x.Hint = cmp.Or(x.Hint, shapeOf(x.Path), "write "+must)
		return
	}
	hint := ""
	if strings.HasPrefix(m[1], `"`) {
		hint = OneOf(m[1], choices)
		if near := Nearest(m[1], choices); near != "" && x.Hint == "" {
			x.Fixes = []Fix{{Kind: FixValue, New: near}}
		}
	}
	x.Hint = cmp.Or(x.Hint, hint, "use one of them")
}

// kindOf returns the CUE type of a literal, a struct or a list as CUE prints it; "" for
// another expression.
func kindOf(value string) string {
	switch {
	case strings.HasPrefix(value, "{"):
		return "struct"
	case strings.HasPrefix(value, "["):
		return "list"
	case !literal.MatchString(value):
		return ""
	case strings.HasPrefix(value, `"`):
		return "string"
	case value == "true" || value == "false":
		return "bool"
	case value == "null":
		return value
	}
	return "number"
}

// kindsOf returns the types among the alternatives of a disjunction.
func kindsOf(choices []string) (kinds []string) {
	for _, choice := range choices {
		kind := choice
		if strings.HasPrefix(choice, "{") || strings.HasPrefix(choice, "[") {
			kind = kindOf(choice)
		}
		if slices.Contains([]string{"bool", "string", "int", "float", "number", "struct", "list"}, kind) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// outOfBound explains a value that violates a comparison.
func (x *explanation) outOfBound(m []string) {
	value, bound := m[1], m[2]
	x.putFirst(value)
	if value == `""` && bound == `!=""` {
		x.Msg, x.Hint = "is empty", cmp.Or(x.Hint, "set it to a non-empty string")
		return
	}
	must, hint := "be "+bound, "change the value, or the rule"
	if not, ok := strings.CutPrefix(bound, "!~"); ok {
		x.Code, must = CodeTextForm, "not match "+not
	}
	if pattern, ok := strings.CutPrefix(bound, "=~"); ok {
		x.Code, must = CodeTextForm, "match "+pattern
		if f, ok := forms[unquoted(pattern)]; ok {
			must, hint = "be "+f.text, f.hint()
		}
	}
	x.Msg, x.Hint = "invalid value "+value+": it must "+must, cmp.Or(x.Hint, hint)
}

// noValue explains a field with a type or constraint, but no value.
func (x *explanation) noValue(m []string) {
	x.Msg = "has no value"
	if pattern, ok := strings.CutPrefix(m[1], "=~"); ok {
		if _, err := regexp.Compile(unquoted(pattern)); err != nil {
			x.brokenRegexp([]string{"", strings.TrimPrefix(err.Error(), "error parsing regexp: ")})
			return
		}
	}
	if x.stackParameter() {
		return
	}
	last := x.Path[strings.LastIndex(x.Path, ".")+1:]
	if name := x.parameter(); name != "" {
		x.Hint = cmp.Or(x.Hint, "set "+name+", from which it is computed, or set "+last)
	}
	if m[1] == "_" {
		x.Hint = cmp.Or(x.Hint, "set "+last+" to a value")
		return
	}
	x.Msg += ": it must be " + valueOf(m[1])
	if strings.Contains(x.Path, ".values.") {
		x.Hint = cmp.Or(x.Hint, "set "+last+", or declare it as "+last+"? if it is optional")
		return
	}
	x.Hint = cmp.Or(x.Hint, "set "+last+" to a value")
}

// letCycle explains names of let clauses that refer to each other.
func (x *explanation) letCycle([]string) {
	x.Path = strings.TrimSuffix(strings.TrimSuffix(x.Path, "let[]"), ".")
	x.Msg, x.Hint = "a let clause refers to itself", "set one of the let clauses in the cycle to a value"
}

// brokenRegexp explains a regular expression that cannot be parsed.
func (x *explanation) brokenRegexp(m []string) {
	x.Msg, x.Hint = "invalid regular expression: "+m[1], `correct it: write \ before a special character to match it literally`
}

// valueOf describes the values that a CUE expression allows.
func valueOf(expr string) string {
	if slices.Contains([]string{"string", "int", "float", "number", "bool", "bytes"}, expr) {
		return kindName(expr)
	}
	if strings.HasPrefix(expr, "[") {
		return "a list"
	}
	if strings.HasPrefix(expr, "{") {
		return "a map"
	}
	if pattern, ok := strings.CutPrefix(expr, "=~"); ok {
		if f, ok := forms[unquoted(pattern)]; ok {
			return f.text
		}
		return "a string that matches " + pattern
	}
	return expr
}
