package diag

import (
	"path"
	"regexp"
	"strings"
)

// MisreadCUE replaces faults caused by YAML syntax that is also valid CUE with another
// meaning. For example, CUE reads image: nginx:1.25 as a field nginx of image, and a
// field below values: as a part of it.
func MisreadCUE(root string, l List) List {
	texts := map[string]string{} // contents by file name
	var out List
	for _, d := range l {
		if len(d.At) > 0 && path.Ext(d.At[0].File) == ".cue" {
			explained := *d
			x := &explanation{Diag: &explained, root: root, text: texts[d.At[0].File]}
			if x.text == "" {
				x.text = x.source()
				texts[d.At[0].File] = x.text
			}
			if x.colonInText() || x.valueBelow() || x.bytes() {
				d = &explained
			}
		}
		out = append(out, d)
	}
	return out
}

// colonText matches an unquoted value with a colon that no space follows.
var colonText = regexp.MustCompile(`:\s+([A-Za-z][\w.-]*(?:/[\w.-]+)*:[\w.-]+)\s*(?:[,}\]].*)?$`)

// colonInText explains an unquoted text such as nginx:1.25.
func (x *explanation) colonInText() bool {
	line, col := x.line()
	m := colonText.FindStringSubmatchIndex(withoutStrings(line))
	if m == nil || col > m[3]+1 {
		return false
	}
	text := line[m[2]:m[3]]
	x.move(x.place().Line, m[2]+1)
	name, _, _ := strings.Cut(text, ":")
	x.Path = strings.TrimSuffix(x.Path, "."+name)
	x.Code = CodeSyntax
	x.Msg, x.Hint = "a string must be in quotes", `write "`+Visible(text, MaxText)+`"`
	x.fixSource(text, `"`+text+`"`)
	return true
}

// fieldLine matches a line that starts with a field.
var fieldLine = regexp.MustCompile(`^\s*("[^"]*"|[\w#$]+)[?!]?:`)

// valueBelow explains a field without a value, as YAML allows. CUE takes the next
// field for its value.
func (x *explanation) valueBelow() bool {
	line, _ := x.line()
	above, n := x.lineAbove()
	text := strings.TrimRight(withoutStrings(above), " \t")
	field := fieldLine.FindStringSubmatch(line)
	if field == nil || !strings.HasSuffix(text, ":") || indentation(line) > indentation(above) {
		return false
	}
	x.Path, _, _ = strings.Cut(x.Path, "."+field[1])
	x.move(n, indentation(above)+1)
	x.noValueAbove(above, text)
	return true
}

// mapField matches a line that ends with a field of type map.
var mapField = regexp.MustCompile(`(^|[\s:{])(values|defaults|defaults:\s*("[^"]*"|[\w-]+)):$`)

// noValueAbove reports that a line ends with a field without a value.
func (x *explanation) noValueAbove(above, text string) {
	name := above[strings.LastIndexAny(text[:len(text)-1], " \t:{,")+1 : len(text)-1]
	x.Code = CodeSyntax
	x.Msg, x.Hint = name+" has no value", "write "+name+`: "...", or `+name+": {}"
	if mapField.MatchString(text) {
		x.Hint = "write " + name + ": {...}, or remove the line"
	}
}

// singleQuoted matches a value in single quotes at the start of a text.
var singleQuoted = regexp.MustCompile(`^'[^'\n]*'`)

// bytes explains a value in single quotes, which charts would see encoded as base64.
func (x *explanation) bytes() bool {
	line, col := x.line()
	if col < 1 || col > len(line) {
		return false
	}
	literal := singleQuoted.FindString(line[col-1:])
	if literal != "" {
		ExplainBytes(x.Diag, literal)
	}
	return literal != ""
}

// ExplainBytes makes a fault that of a value in single quotes.
func ExplainBytes(d *Diag, literal string) {
	text := strings.Trim(literal, "'")
	d.Code, d.Msg = CodeWrongType, "'"+Visible(text, MaxText)+"' is bytes, and must be a string"
	d.Hint = `single quotes are for bytes: write "` + Visible(text, MaxText) + `"`
	d.Fixes = []Fix{{Kind: FixSource, Old: literal, New: `"` + text + `"`}}
}
