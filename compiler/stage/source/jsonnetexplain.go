package source

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// goTypes matches the names of the library's types in its messages.
var goTypes = regexp.MustCompile(`\*jsonnet\.value(Null|Boolean|Number|Function|FlatString|StringTree|Array|Object)`)

// explain converts a message of the library to a message for users, with a
// hint.
func (m *machine) explain(msg string, frames []jsonnet.TraceFrame) (clause, hint string) {
	source := ""
	if len(frames) > 0 {
		source = m.run.text(&frames[0].Loc)
	}
	msg = tidy(msg)
	if missing, ok := strings.CutPrefix(msg, "Field does not exist: "); ok {
		return "there is no field " + missing, cmp.Or(diag.DidYouMean(missing, m.fieldsNear(source)), "correct the name, or read a field that may be missing with std.get")
	}
	if kind, ok := strings.CutPrefix(msg, "Value non indexable: "); ok {
		return "a " + goName(kind) + " has no fields or elements", "correct what is before the dot or the bracket: it must be an object, a list or a string"
	}
	if variable, ok := strings.CutPrefix(msg, "Undefined external variable: "); ok {
		return "there is no external variable " + variable, "take it from params or cluster"
	}
	switch msg {
	case noStack:
		return "calls nest more than 500 deep", "look for an endless recursion"
	case noJSON:
		return "a function: it must be a Kubernetes object, or a map or list of them", "call it, or hide it by ::"
	case "Unexpected type null, expected function":
		if called := native.FindStringSubmatch(source); called != nil {
			return "there is no native function " + called[1], diag.OneOf(called[1], nativeNames)
		}
	}
	if m.run.refuses(frames) {
		return msg, "correct the value that the file rejects" // message from the file itself
	}
	clause = lowered(goTypes.ReplaceAllStringFunc(msg, goName))
	if want := jsonnetWrongType.FindStringSubmatch(clause); want != nil {
		return clause, "write a value of type " + want[1] + " in this line, or correct a value that it uses"
	}
	return clause, "correct this line, or a value that it uses"
}

// noStack is the library's message about too many nested calls.
const noStack = "max stack frames exceeded"

// noJSON is the library's message about a function in a result.
const noJSON = "couldn't manifest function as JSON"

// jsonnetWrongType matches the library's message about the type of an operand.
var jsonnetWrongType = regexp.MustCompile(`^unexpected type \w+, expected (\w+)$`)

// refuses reports whether a message is from an error or an assert of a file, which may be
// a vendored one that the file calls.
func (t *run) refuses(frames []jsonnet.TraceFrame) bool {
	const innermost = 2 // the line of the user, and that of the vendored library
	return slices.ContainsFunc(frames[:min(len(frames), innermost)], func(f jsonnet.TraceFrame) bool {
		word := wordPattern.FindString(t.text(&f.Loc))
		return (word == "error" || word == "assert") && strings.HasPrefix(t.text(&f.Loc), word)
	})
}

// native matches a call of std.native.
var native = regexp.MustCompile(`std\.native\(\s*['"]([^'"]*)['"]\s*\)`)

// goName returns the Jsonnet name of one of the library's types.
func goName(goType string) string {
	kind := strings.ToLower(strings.TrimPrefix(goType, "*jsonnet.value"))
	switch kind {
	case "flatstring", "stringtree":
		return "string"
	}
	return kind
}

// text returns the text of a range in a file.
func (t *run) text(at *ast.LocationRange) string {
	f := t.reads[at.FileName]
	if f == nil {
		return ""
	}
	lines := strings.SplitAfterN(f.contents.String(), "\n", at.End.Line+1)
	if at.Begin.Line < 1 || at.End.Line > len(lines) || at.Begin.Column < 1 {
		return ""
	}
	lines = slices.Clone(lines[at.Begin.Line-1 : at.End.Line])
	last := len(lines) - 1
	lines[last] = lines[last][:min(max(at.End.Column-1, 0), len(lines[last]))]
	lines[0] = lines[0][min(at.Begin.Column-1, len(lines[0])):]
	return strings.Join(lines, "")
}

// chain matches a chain of fields.
var chain = regexp.MustCompile(`^[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)+$`)

// fieldsNear returns candidates for the last field of a chain: the fields of an
// argument or of the standard library or, for other chains, all fields in the
// files that were read.
func (m *machine) fieldsNear(source string) []string {
	if steps := strings.Split(source, "."); chain.MatchString(source) {
		if steps[0] == "std" {
			return m.stdFields()
		}
		if fields, ok := m.run.fieldsOf(steps[:len(steps)-1]); ok {
			return fields
		}
	}
	var all []string
	for name := range m.run.reads {
		// Ignores files that are not code or not evaluated.
		if node, err := m.parse(name); err == nil {
			all = fieldsIn(node, all)
		}
	}
	m.meter.code = true
	if node, _, err := m.vm.ImportAST(embedded, library); err == nil {
		all = fieldsIn(node, all)
	}
	return all
}

// fieldsOf returns the fields of a value in an argument.
func (t *run) fieldsOf(steps []string) ([]string, bool) {
	v, ok := t.args[steps[0]]
	if !ok {
		return nil, false
	}
	for _, s := range steps[1:] {
		m, _ := v.(map[string]any)
		v = m[s]
	}
	m, ok := v.(map[string]any)
	return slices.Collect(maps.Keys(m)), ok
}

// stdFields returns the functions of the standard library.
func (m *machine) stdFields() []string {
	var fields []string
	text, err := jsonnet.MakeVM().EvaluateAnonymousSnippet("", "std.objectFieldsAll(std)")
	if err != nil || json.Unmarshal([]byte(text), &fields) != nil {
		return nil
	}
	return fields
}

// fieldsIn appends the names of all fields in a syntax tree.
func fieldsIn(node ast.Node, to []string) []string {
	if o, ok := node.(*ast.DesugaredObject); ok {
		for _, f := range o.Fields {
			if s, ok := f.Name.(*ast.LiteralString); ok {
				to = append(to, s.Value)
			}
		}
	}
	for _, child := range toolutils.Children(node) {
		to = fieldsIn(child, to)
	}
	return to
}

// wordPattern matches identifiers.
var wordPattern = regexp.MustCompile(`[a-zA-Z_]\w*`)
