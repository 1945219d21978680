// Package cuediag turns the errors and positions of CUE into faults. It is
// shared by the stages that evaluate CUE, and evaluates nothing itself.
package cuediag

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/lib"
	"github.com/fleetc/fleetc/schema"
)

// Pos returns p with its file relative to root, or absolute when the file is
// outside of root; the zero Pos when p is not known.
func Pos(root string, p token.Pos) diag.Pos {
	file := File(root, p)
	if file == "" {
		return diag.Pos{}
	}
	at := p.Position()
	return diag.Pos{File: file, Line: at.Line, Col: at.Column}
}

// File returns the file of p as [Pos] has it; "" when p is not known.
func File(root string, p token.Pos) string {
	file := p.Filename()
	if !p.IsValid() || file == "" {
		return ""
	}
	// Most files are below the root and have clean names, as the root has.
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

// Faults returns the faults that err holds, sorted; at least one when err is
// not nil. Positions are relative to root. The user's own lines come first,
// those of the deepest layer in front; types are named only when no line of
// the user's is known. v is the value that was evaluated, for hints and
// places; it may be the zero value.
func Faults(root string, err error, v cue.Value) diag.List {
	out := Raw(root, err, v)
	separateFacts(root, out, v)
	Explain(root, out, v)
	return firstOfEach(out)
}

// Raw is [Faults] in CUE's own words, for those who put them in others.
func Raw(root string, err error, v cue.Value) diag.List {
	var out diag.List
	for _, e := range errors.Errors(err) {
		if d := fault(root, e, v); d != nil {
			out = append(out, d)
		}
	}
	if slices.ContainsFunc(out, func(d *diag.Diag) bool { return !isConsequence(d) }) {
		out = slices.DeleteFunc(out, isConsequence)
	}
	if out = withoutEchoes(out); len(out) == 0 {
		return diag.All(err)
	}
	return out
}

func fault(root string, e errors.Error, v cue.Value) *diag.Diag {
	msg := message(e)
	if isSummary(msg) {
		return nil
	}
	d := &diag.Diag{At: places(root, e), Path: strings.Join(e.Path(), "."), Msg: msg, Cause: e}
	missing := strings.HasPrefix(msg, "field is required but not present")
	if onlyTypes(d.At) && v.Exists() {
		if at := field(root, v, d.Path, missing); at.IsValid() {
			d.At = []diag.Pos{at}
		}
	}
	switch {
	case strings.HasSuffix(msg, "field not allowed"):
		notAllowed(root, d, v, e.Path())
	case strings.HasPrefix(msg, "cycle with field"):
		d.Msg, d.Hint = "refers to itself, by "+strings.TrimPrefix(msg, "cycle with field: "), "set one of them to a value"
	}
	return d
}

// isConsequence reports whether the fault only says that a text cannot be made
// of what another fault is about.
func isConsequence(d *diag.Diag) bool {
	cause := causeOf(d)
	return d.Msg == "invalid interpolation" || cause != d.Msg && strings.HasPrefix(cause, "cycle with field")
}

// causeOf returns what the message of a fault says beside that a text cannot be
// made.
func causeOf(d *diag.Diag) string {
	cause := d.Msg
	for strings.HasPrefix(cause, "invalid interpolation: ") {
		cause = strings.TrimPrefix(cause, "invalid interpolation: ")
	}
	return cause
}

// message returns what e says without its position, and what the errors inside
// of it add.
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

// isSummary reports whether CUE only counts errors with msg: the errors
// themselves follow.
func isSummary(msg string) bool {
	return strings.Contains(msg, "errors in empty disjunction") || strings.Contains(msg, "error in empty disjunction")
}

// places returns where e comes from: the user's lines, the deepest layer
// first; the first line of a type when there is no other.
func places(root string, e errors.Error) []diag.Pos {
	var user, types []diag.Pos
	for _, p := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		pos := Pos(root, p)
		switch {
		case !pos.IsValid() || slices.Contains(user, pos) || slices.Contains(types, pos):
		case IsType(pos.File):
			types = append(types, pos)
		default:
			user = append(user, pos)
		}
	}
	if len(user) == 0 {
		return types[:min(1, len(types))]
	}
	slices.SortStableFunc(user, func(a, b diag.Pos) int {
		return strings.Count(b.File, "/") - strings.Count(a.File, "/")
	})
	return user
}

// IsType reports whether the file holds what fleetc provides or generates,
// types and libraries, and not what a user writes. In fleetc's own repository
// the schema and the libraries are not below cue.mod.
func IsType(file string) bool {
	if strings.HasPrefix(file, "cue.mod/") || strings.HasPrefix(file, "environments/charts/") {
		return true
	}
	if name, ok := strings.CutPrefix(file, "schema/"); ok {
		return has(schema.Files, name)
	}
	name, ok := strings.CutPrefix(file, "lib/")
	return ok && has(lib.Files, name)
}

func has(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

// withoutEchoes sorts the faults, folds the alternatives that a value fails
// into one, and drops those that only repeat another.
func withoutEchoes(l diag.List) diag.List {
	sorted, ok := l.Err().(diag.List)
	if !ok {
		return nil
	}
	sorted = foldAlternatives(sorted)
	var out diag.List
	for _, d := range sorted {
		if !slices.ContainsFunc(sorted, func(e *diag.Diag) bool { return echoes(d, e) }) &&
			!slices.ContainsFunc(out, func(e *diag.Diag) bool { return e.Path == d.Path && e.Msg == d.Msg }) {
			out = append(out, d)
		}
	}
	return out
}

// conflict matches what CUE says of each alternative of a disjunction that a
// value is not. Its operands are literals without the word between them.
var conflict = regexp.MustCompile(`^conflicting values (.+?) and (.+?)(?: \(mismatched types [^()]* and [^()]*\))?$`)

// foldAlternatives joins the conflicts of one value with the alternatives of a
// disjunction.
func foldAlternatives(l diag.List) diag.List {
	type key struct{ path, value string }
	allowed := map[key][]string{}
	operands := func(d *diag.Diag) (a, b key) {
		m := conflict.FindStringSubmatch(d.Msg)
		if m == nil {
			return a, b
		}
		return key{d.Path, m[1]}, key{d.Path, m[2]}
	}
	for _, d := range l {
		if a, b := operands(d); a.value != "" {
			allowed[a] = append(allowed[a], b.value)
			allowed[b] = append(allowed[b], a.value)
		}
	}
	done := map[key]*diag.Diag{}
	var out diag.List
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
			folded.Msg = a.value + " is none of " + strings.Join(allowed[a], ", ")
			done[a] = &folded
			out = append(out, &folded)
		}
	}
	return out
}

// ValuesPath returns the path of the value that the default at the given path
// becomes; any other path as it is.
func ValuesPath(path string) string { return defaultsOf.ReplaceAllString(path, "$1.values") }

// defaultsOf matches the path of the defaults of a layer.
var defaultsOf = regexp.MustCompile(`^(releases\.(?:"[^"]*"|[^.]*))\.defaults\.(?:"[^"]*"|[^.]*)`)

// echoes reports whether d follows from e: it fails because what it refers to
// does.
func echoes(d, e *diag.Diag) bool {
	// A default that its own type refuses is filled into values all the same.
	if len(d.At) > 0 && len(e.At) > 0 && d.At[0] == e.At[0] && d.Path != e.Path && ValuesPath(e.Path) == d.Path {
		return true
	}
	cause := causeOf(d)
	if field, ok := strings.CutPrefix(cause, "required field missing: "); ok {
		return strings.HasPrefix(e.Msg, "field is required but not present") && (e.Path == field || strings.HasSuffix(e.Path, "."+field))
	}
	return cause != d.Msg && (e.Msg == cause || len(d.At) > 0 && len(e.At) > 0 && d.At[0] == e.At[0] && !strings.HasPrefix(e.Msg, "invalid interpolation"))
}

// notAllowed completes the fault of a field that a closed struct does not
// have. Where the schema closes it, CUE may name only what is inside of it.
func notAllowed(root string, d *diag.Diag, v cue.Value, path []string) {
	const schemaDepth = 3 // releases.<name>.<field>
	d.Msg = "field not allowed"
	parent := v
	// The layers' own definitions are no part of the schema.
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
				d.At = []diag.Pos{at}
			}
			d.Hint = diag.OneOf(sel[0].String(), siblings(root, parent, sel[0], own))
			return
		}
		parent = child
	}
}

// onlyTypes reports whether no place is one of the user's.
func onlyTypes(at []diag.Pos) bool {
	return !slices.ContainsFunc(at, func(p diag.Pos) bool { return !IsType(p.File) })
}

// field returns where the user writes the field at the path, or the struct
// around it when the field itself is missing.
func field(root string, v cue.Value, path string, missing bool) diag.Pos {
	p := cue.ParsePath(path)
	if sel := p.Selectors(); missing && p.Err() == nil && len(sel) > 0 && !v.LookupPath(p).Exists() {
		p = cue.MakePath(sel[:len(sel)-1]...)
	}
	for _, c := range Conjuncts(v.LookupPath(p)) {
		if s := c.Source(); s != nil {
			if pos := Pos(root, s.Pos()); pos.IsValid() && !IsType(pos.File) {
				return pos
			}
		}
	}
	return diag.Pos{}
}

// Conjuncts returns the values that v is the unification of; v itself when it
// is not one.
func Conjuncts(v cue.Value) []cue.Value {
	op, args := v.Expr()
	if op != cue.AndOp {
		return []cue.Value{v}
	}
	var out []cue.Value
	for _, a := range args {
		out = append(out, Conjuncts(a)...)
	}
	return out
}

// siblings returns the names of the fields that parent may have beside the one
// given. They are those of its types, or that are optional: parent itself is
// in error, and other fields of it may be misspelt as well. With all, they are
// whatever is there.
func siblings(root string, parent cue.Value, but cue.Selector, all bool) []string {
	var names []string
	for _, c := range Conjuncts(parent) {
		it, err := c.Fields(cue.Optional(true))
		if err != nil {
			continue
		}
		for it.Next() {
			sel := it.Selector()
			if sel.LabelType() == cue.StringLabel && sel != but && (all || sel.ConstraintType() != 0 || isTyped(root, it.Value())) {
				names = append(names, sel.Unquoted())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isTyped reports whether a type has something to say about the field of v.
func isTyped(root string, v cue.Value) bool {
	return slices.ContainsFunc(Conjuncts(v), func(c cue.Value) bool {
		s := c.Source()
		return s != nil && IsType(Pos(root, s.Pos()).File)
	})
}
