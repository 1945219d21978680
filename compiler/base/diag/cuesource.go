package diag

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// maxSource limits how much of a file is read to explain a fault.
const maxSource = 1 << 20

// place returns the first position of the fault.
func (x *explanation) place() Pos {
	if len(x.At) == 0 {
		return Pos{}
	}
	return x.At[0]
}

// source returns the text of the fault's file, or "" when it cannot be read.
func (x *explanation) source() string { return x.sourceOf(x.place()) }

func (x *explanation) sourceOf(p Pos) string {
	if x.text != "" {
		return x.text
	}
	name := filepath.FromSlash(p.File)
	if x.root == "" || name == "" {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(x.root, name)
	}
	return readSource(name)
}

// unsaved are the texts that replace files on disk, by absolute name.
var unsaved atomic.Pointer[map[string]string]

// SetUnsavedFiles sets the texts of files that replace those on disk when a fault is explained,
// by absolute name. It is for a process that compiles unsaved files of an editor, and holds
// for the whole process.
func SetUnsavedFiles(texts map[string]string) { unsaved.Store(&texts) }

// readSource returns the text of a file, or "" when it cannot be read.
func readSource(name string) string {
	if texts := unsaved.Load(); texts != nil {
		if text, ok := (*texts)[name]; ok {
			if len(text) > maxSource {
				return ""
			}
			return text
		}
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return ""
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(data)
}

// line returns the line of the fault and the column in it, 0 when unknown.
func (x *explanation) line() (line string, col int) { return x.lineAt(x.place()) }

func (x *explanation) lineAt(p Pos) (line string, col int) {
	lines := strings.Split(x.sourceOf(p), "\n")
	if n := p.Line; n >= 1 && n <= len(lines) {
		return strings.TrimSuffix(lines[n-1], "\r"), min(p.Col, len(lines[n-1])+1)
	}
	return "", 0
}

// putFirst moves the position at which a literal is written to the front: the line of the
// invalid value, and not that of its rule or of a reference to it.
func (x *explanation) putFirst(literal string) {
	i := slices.IndexFunc(x.At, func(p Pos) bool {
		line, col := x.lineAt(p)
		return col > 0 && strings.HasPrefix(line[min(col-1, len(line)):], literal)
	})
	if i > 0 {
		x.At = slices.Concat(x.At[i:i+1], x.At[:i], x.At[i+1:])
	}
}

// isWritten reports whether the user's line contains a value of the type: a list, a map, or
// anything else.
func (x *explanation) isWritten(kind string) bool {
	line, col := x.line()
	if col < 1 || col > len(line) {
		return false
	}
	written := "other"
	switch rest := line[col-1:]; {
	case rest[0] == '[':
		written = "list"
	case rest[0] == '{' || nestedField.MatchString(rest):
		written = "struct"
	}
	return written == kind || written == "other" && kind != "list" && kind != "struct"
}

// onlyTrue explains false in a field of the schema that only takes true, and reports whether
// it did. The place in the schema is not a place of the fault.
func (x *explanation) onlyTrue(a, b string) bool {
	line, col := x.line()
	if len(x.At) != 1 || min(a, b) != "false" || max(a, b) != "true" || col < 1 || col > len(line) || !strings.HasPrefix(line[col-1:], "false") {
		return false
	}
	field := x.Path[strings.LastIndexByte(x.Path, '.')+1:]
	x.Code, x.Msg = CodeConstraint, "false is not allowed here: the field must be true or left out"
	x.Hint = "write " + field + ": true, or remove the field"
	return true
}

// nestedField matches the field of a map that is written without braces, as in a: b: c.
var nestedField = regexp.MustCompile(`^("[^"]*"|[A-Za-z_]\w*)[?!]?:`)

// ExplainIndentation changes the message and the hint of a fault if its line is in a block
// with indentation but no braces, as in YAML. It reports whether it did.
func ExplainIndentation(root string, d *Diag) bool {
	x := &explanation{Diag: d, root: root}
	if !indentedOnly(x.source(), x.place().Line) {
		return false
	}
	d.Code = CodeSyntax
	d.Msg, d.Hint = d.Msg+": CUE nests fields with braces, not with indentation", "write { after the colon of the parent field, and } below its fields"
	return true
}

// indentedOnly reports whether a line, counted from 1, is in a block that has
// indentation but no brace, as in YAML.
func indentedOnly(source string, line int) bool {
	lines := strings.Split(source, "\n")
	n := line - 1
	if n < 2 || n >= len(lines) {
		return false
	}
	own := indentation(lines[n])
	for i := n - 1; i >= 0; i-- {
		switch in := indentation(lines[i]); {
		case strings.TrimSpace(lines[i]) == "":
			return false
		case in < own:
			return strings.HasSuffix(strings.TrimSpace(lines[i]), ":")
		case in > own:
			return false
		}
	}
	return false
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

var moduleClause = regexp.MustCompile(`(?m)^module:\s*"([^"@]+)`)

// module returns the module path of the fleet.
func (x *explanation) module() string {
	data, err := os.ReadFile(filepath.Join(x.root, "cue.mod", "module.cue"))
	if m := moduleClause.FindSubmatch(data); err == nil && m != nil {
		return string(m[1])
	}
	return "MODULE"
}
