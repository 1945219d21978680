package diag

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc"
)

// CUEPos converts a CUE position to one with a file relative to root, or absolute
// outside of root. It returns the zero Pos when p is unknown.
func CUEPos(root string, p token.Pos) Pos {
	file := CUEFile(root, p)
	if file == "" {
		return Pos{}
	}
	at := p.Position()
	return Pos{File: file, Line: at.Line, Col: at.Column}
}

// CUEFile returns the file of p in the form of [CUEPos], or "" when p is unknown.
func CUEFile(root string, p token.Pos) string {
	file := p.Filename()
	if !p.IsValid() || file == "" {
		return ""
	}
	// Fast path: most files are below the root and have clean names.
	if n := len(root); len(file) > n && file[n] == filepath.Separator && file[:n] == root {
		if rel := file[n+1:]; filepath.IsLocal(rel) && filepath.Clean(rel) == rel {
			return filepath.ToSlash(rel)
		}
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	return filepath.ToSlash(file)
}

// CUEFaults converts err to sorted faults, at least one when err is not nil. Positions
// are relative to root. The user's lines come first, those of the deepest layer in
// front. Lines of types appear only when no line of the user is known. v is the
// evaluated value, used for hints and positions; it may be the zero value.
func CUEFaults(root string, err error, v cue.Value) List {
	out := RawCUEFaults(root, err, v)
	separateFacts(root, out, v)
	ExplainCUE(root, out, v)
	return firstOfEach(out)
}

// RawCUEFaults is [CUEFaults] with CUE's own messages, for callers that translate them.
func RawCUEFaults(root string, err error, v cue.Value) List {
	var out List
	a := alternatives{map[string]bool{}, map[string][]string{}}
	for _, e := range errors.Errors(err) {
		d := fault(root, e, v)
		a.add(strings.Join(e.Path(), "."), d)
		if d != nil {
			out = append(out, d)
		}
	}
	out = a.withoutOthers(out)
	if slices.ContainsFunc(out, func(d *Diag) bool { return !isConsequence(d) }) {
		out = slices.DeleteFunc(out, isConsequence)
	}
	if out = withoutEchoes(out); len(out) == 0 {
		return All(err)
	}
	return out
}

func fault(root string, e errors.Error, v cue.Value) *Diag {
	msg := message(e)
	if strings.Contains(msg, "errors in empty disjunction") || strings.Contains(msg, "error in empty disjunction") {
		return nil // it only counts errors that follow
	}
	d := &Diag{Code: CodeExpression, At: places(root, e), Path: strings.Join(e.Path(), "."), Msg: msg, Cause: e}
	missing := strings.HasPrefix(msg, "field is required but not present")
	if v.Exists() && (onlyTypes(d.At) || missing && strings.HasPrefix(d.Path, "cluster.")) { // missing in the cluster's file
		if at := field(root, v, d.Path, missing); at.IsValid() {
			d.At = append([]Pos{at}, slices.DeleteFunc(d.At, func(p Pos) bool { return p == at || IsTypeFile(p.File) })...)
		}
	}
	switch {
	case strings.HasSuffix(msg, "field not allowed"):
		notAllowed(root, d, v, e.Path())
	case strings.HasPrefix(msg, "cycle with field"):
		d.Code = CodeCycle
		d.Msg, d.Hint = "refers to itself through "+packageSuffix.ReplaceAllString(strings.TrimPrefix(msg, "cycle with field: "), ""), "set one of them to a value"
	}
	return d
}

// packageSuffix matches the package that CUE writes behind a hidden field.
var packageSuffix = regexp.MustCompile(`\([^()]*\)`)

// isConsequence reports whether the fault only says that a string interpolation
// failed because of another fault.
func isConsequence(d *Diag) bool {
	cause := causeOf(d)
	return d.Msg == "invalid interpolation" || cause != d.Msg && strings.HasPrefix(cause, "cycle with field")
}

// keyFailed matches the message for a field name in parentheses that has a fault.
var keyFailed = regexp.MustCompile(`^key value of dynamic field must be concrete, found _\|_\((?:[^:()]+: )?(.+)\)$`)

// usesInvalid matches the beginnings of messages for a string interpolation, and for a
// comparison with a value, that failed because of another fault.
var usesInvalid = regexp.MustCompile(`^(?:invalid interpolation: |invalid (?:left|right)-hand value to '[^']*' \(type _\|_\): )+`)

// causeOf returns the cause inside the message of a failed string interpolation, of a
// comparison, or of a computed field name.
func causeOf(d *Diag) string {
	return usesInvalid.ReplaceAllString(keyFailed.ReplaceAllString(d.Msg, "$1"), "")
}

// message returns the message of e without its position, with the messages of nested
// errors.
func message(e errors.Error) string {
	format, args := e.Msg()
	msg := fmt.Sprintf(format, args...)
	inner := errors.Unwrap(e)
	if inner == nil {
		return msg
	}
	more := inner.Error()
	if ce, ok := inner.(errors.Error); ok {
		more = message(ce)
	}
	switch {
	case msg == "import failed" || msg == "":
		return more
	case strings.Contains(msg, more):
		return msg
	}
	return msg + ": " + more
}

// places returns the source positions of e: the user's lines, the deepest layer
// first, or else the first line of a type.
func places(root string, e errors.Error) []Pos {
	var user, types []Pos
	for _, p := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		pos := CUEPos(root, p)
		switch {
		case !pos.IsValid() || slices.Contains(user, pos) || slices.Contains(types, pos):
		case IsTypeFile(pos.File):
			types = append(types, pos)
		default:
			user = append(user, pos)
		}
	}
	if len(user) == 0 {
		return types[:min(1, len(types))]
	}
	slices.SortStableFunc(user, func(a, b Pos) int { return b.Depth() - a.Depth() })
	if at := imported(root, e); at.IsValid() && (slices.Contains(user, at) || IsTypeFile(at.File)) {
		user = append([]Pos{at}, slices.DeleteFunc(user, func(p Pos) bool { return p == at })...)
	}
	return user
}

// imported returns where an imported package is wrong; no position when the error is
// another.
func imported(root string, e errors.Error) Pos {
	inner, ok := errors.Unwrap(e).(errors.Error)
	if format, _ := e.Msg(); !ok || format != "import failed" {
		return Pos{}
	}
	return CUEPos(root, inner.Position())
}

// IsTypeFile reports whether the file belongs to fleetc's types and libraries or is
// generated, as opposed to written by the user. In fleetc's own repository the
// schema and libraries are outside cue.mod.
func IsTypeFile(file string) bool {
	if strings.HasPrefix(file, "cue.mod/") || strings.HasPrefix(file, "environments/charts/") {
		return true
	}
	if name, ok := strings.CutPrefix(file, "schema/"); ok {
		return has(fleetc.Schema, name)
	}
	name, ok := strings.CutPrefix(file, "lib/")
	return ok && has(fleetc.Library, name)
}

func has(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

// withoutEchoes sorts the faults, drops faults that follow from others, and merges failed
// alternatives of one value.
func withoutEchoes(l List) List {
	sorted, ok := l.Err().(List)
	if !ok {
		return nil
	}
	var causes, out List
	for _, d := range sorted {
		if !slices.ContainsFunc(sorted, func(e *Diag) bool { return echoes(d, e) }) {
			causes = append(causes, d)
		}
	}
	for _, d := range foldAlternatives(causes) {
		if !slices.ContainsFunc(out, func(e *Diag) bool { return e.Path == d.Path && e.Msg == d.Msg }) {
			out = append(out, d)
		}
	}
	return out
}

// conflict matches CUE's message for a failed alternative of a disjunction. The
// operands are literals that do not contain " and ".
var conflict = regexp.MustCompile(`^conflicting values (.+?) and (.+?)(?: \(mismatched types [^()]* and [^()]*\))?$`)

// foldAlternatives merges the conflicts of one value with the alternatives of a
// disjunction.
func foldAlternatives(l List) List {
	type key struct{ path, value string }
	allowed := map[key][]string{}
	operands := func(d *Diag) (a, b key) {
		m := conflict.FindStringSubmatch(d.Msg)
		if m == nil {
			return a, b
		}
		return key{d.Path, m[1]}, key{d.Path, m[2]}
	}
	for _, d := range l {
		a, b := operands(d)
		if a.value != "" && !slices.Contains(allowed[a], b.value) {
			allowed[a] = append(allowed[a], b.value)
			allowed[b] = append(allowed[b], a.value)
		}
	}
	done := map[key]*Diag{}
	var out List
	for _, d := range l {
		a, b := operands(d)
		if len(allowed[b]) > len(allowed[a]) {
			a = b
		}
		switch {
		case len(allowed[a]) < 2:
			out = append(out, d)
		case done[a] != nil:
			for _, p := range d.At {
				if !slices.Contains(done[a].At, p) {
					done[a].At = append(done[a].At, p)
				}
			}
		default:
			folded := *d
			folded.At = slices.Clone(d.At)
			folded.Msg = a.value + " is not one of " + strings.Join(allowed[a], ", ")
			done[a] = &folded
			out = append(out, &folded)
		}
	}
	return out
}

// ValuesPath converts the path of a default to the path of its value. It returns
// other paths unchanged.
func ValuesPath(path string) string { return defaultsOf.ReplaceAllString(path, "$1.values") }

// defaultsOf matches the path of the defaults of a layer.
var defaultsOf = regexp.MustCompile(`^(releases\.(?:"[^"]*"|[^.]*))\.defaults\.(?:"[^"]*"|[^.]*)`)

// echoes reports whether d follows from e, because it refers to the field of e.
func echoes(d, e *Diag) bool {
	// An invalid default also makes the value invalid that it fills.
	if len(d.At) > 0 && len(e.At) > 0 && d.At[0] == e.At[0] && d.Path != e.Path && ValuesPath(e.Path) == d.Path {
		return true
	}
	if d == e {
		return false
	}
	cause := causeOf(d)
	if field, ok := strings.CutPrefix(cause, "required field missing: "); ok {
		return strings.HasPrefix(e.Msg, "field is required but not present") && (e.Path == field || strings.HasSuffix(e.Path, "."+field))
	}
	return cause != d.Msg && (e.Msg == cause || len(d.At) > 0 && len(e.At) > 0 && d.At[0] == e.At[0] && !usesInvalid.MatchString(e.Msg))
}

// notAllowed completes the fault of a field that a closed struct does not have. If
// the schema closes a parent, CUE may report only a field below it.
func notAllowed(root string, d *Diag, v cue.Value, path []string) {
	const schemaDepth = 3 // releases.<name>.<field>
	d.Code, d.Msg = CodeUnknownField, usesInvalid.FindString(d.Msg)+"field not allowed"
	parent := v
	// The layers' own definitions do not belong to the schema.
	own := len(path) > 0 && strings.HasPrefix(path[0], "#")
	for i, s := range path {
		sel := cue.ParsePath(s).Selectors()
		if !parent.Exists() || len(sel) != 1 {
			return
		}
		child := parent.LookupPath(cue.MakePath(sel[0]))
		last := i == len(path)-1
		if last || !own && i < schemaDepth && !isTyped(root, child) {
			d.Path = strings.Join(path[:i+1], ".")
			if at := field(root, v, d.Path, false); at.IsValid() && !last {
				d.At = []Pos{at}
			}
			among := siblings(root, parent, sel[0], own)
			d.Hint, d.Fixes = OneOf(sel[0].String(), among), Respell(strings.Trim(sel[0].String(), `"`), among)
			if i == 1 && path[0] == "cluster" && slices.Contains(siblings(root, v, cue.Str(""), own), sel[0].String()) {
				d.Hint, d.Fixes = "write "+sel[0].String()+" next to cluster, not inside it", nil
			}
			if hint := wrongTypeHint(v, path[0]); hint != "" {
				d.Hint, d.Fixes = hint, nil
			}
			return
		}
		parent = child
	}
}

// onlyTypes reports whether no position is in a file of the user.
func onlyTypes(at []Pos) bool {
	return !slices.ContainsFunc(at, func(p Pos) bool { return !IsTypeFile(p.File) })
}

// field returns the position where the user writes the field, or the closest struct around it
// if the field is missing or comes from a type. A field with ? or ! is the last choice.
func field(root string, v cue.Value, path string, missing bool) Pos {
	if strings.HasPrefix(path, "_") {
		v, path = hidden(v, path)
	}
	p := parsePath(path)
	sel := p.Selectors()
	if missing && p.Err() == nil && len(sel) > 0 && !v.LookupPath(p).Exists() {
		sel = sel[:len(sel)-1]
	}
	for n := len(sel); n == len(sel) || n > 1; n-- {
		var optional Pos
		for _, c := range Conjuncts(v.LookupPath(cue.MakePath(sel[:n]...))) {
			s := c.Source()
			switch f, ok := s.(*ast.Field); {
			case s == nil || !CUEPos(root, s.Pos()).IsValid() || IsTypeFile(CUEFile(root, s.Pos())):
			case !ok || f.Constraint == token.ILLEGAL:
				return CUEPos(root, s.Pos())
			case !optional.IsValid():
				optional = CUEPos(root, s.Pos())
			}
		}
		if optional.IsValid() {
			return optional
		}
	}
	return Pos{}
}

// parsePath parses the path of an error of CUE, which has elements of lists as in a.0.b.
func parsePath(path string) cue.Path {
	return cue.ParsePath(element.ReplaceAllString(path, "[$1]"))
}

var element = regexp.MustCompile(`\.(\d+)\b`)

// hidden returns the hidden field at the top of v with which a path begins, and the rest of
// the path.
func hidden(v cue.Value, path string) (cue.Value, string) {
	name, rest, _ := strings.Cut(path, ".")
	it, err := v.Fields(cue.Hidden(true))
	for err == nil && it.Next() {
		if it.Selector().String() == name {
			return it.Value(), rest
		}
	}
	return cue.Value{}, ""
}

// Conjuncts returns the operands of the unification v, or v itself.
func Conjuncts(v cue.Value) []cue.Value {
	op, args := v.Expr()
	if op != cue.AndOp {
		return []cue.Value{v}
	}
	return slices.Concat(Each(args, Conjuncts)...)
}
