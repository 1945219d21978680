package cuediag

import (
	"path"
	"regexp"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
)

// Misread returns faults with those explained that come from lines which are CUE,
// and which their author wrote as YAML has them: CUE reads image: nginx:1.25 as a
// field nginx of image, and takes the field below values: for a part of it.
func Misread(root string, l diag.List) diag.List {
	files := map[string]string{} // what is in them
	var out diag.List
	for _, d := range l {
		out = append(out, misread(root, d, files))
	}
	return out
}

func misread(root string, d *diag.Diag, files map[string]string) *diag.Diag {
	if len(d.At) == 0 || path.Ext(d.At[0].File) != ".cue" {
		return d
	}
	of := *d
	x := &explanation{Diag: &of, root: root}
	text, ok := files[d.At[0].File]
	if !ok {
		text = x.source()
		files[d.At[0].File] = text
	}
	x.text = text
	if x.colonInText() || x.valueBelow() {
		return &of
	}
	return d
}

// colonText matches a value without quotes that has a colon in it: no space follows
// that, as one does between a field and its value.
var colonText = regexp.MustCompile(`:\s+([A-Za-z][\w.-]*(?:/[\w.-]+)*:[\w.-]+)\s*(?:[,}\]].*)?$`)

// colonInText is a text such as nginx:1.25 without quotes.
func (x *explanation) colonInText() bool {
	line, col := x.line()
	m := colonText.FindStringSubmatchIndex(masked(line))
	if m == nil || col > m[3]+1 {
		return false
	}
	text := line[m[2]:m[3]]
	x.move(x.place().Line, m[2]+1)
	name, _, _ := strings.Cut(text, ":")
	x.Path = strings.TrimSuffix(x.Path, "."+name)
	x.Msg, x.Hint = "text stands in quotes", `write "`+diag.Visible(text, diag.MaxText)+`"`
	return true
}

// fieldLine matches a line that begins with a field.
var fieldLine = regexp.MustCompile(`^\s*("[^"]*"|[\w#$]+)[?!]?:`)

// valueBelow is a field that is set to nothing, as YAML allows: CUE takes the field
// in the line below for its value.
func (x *explanation) valueBelow() bool {
	line, _ := x.line()
	above, n := x.lineAbove()
	text := strings.TrimRight(masked(above), " \t")
	field := fieldLine.FindStringSubmatch(line)
	if field == nil || !strings.HasSuffix(text, ":") || indentation(line) > indentation(above) {
		return false
	}
	x.Path, _, _ = strings.Cut(x.Path, "."+field[1])
	x.move(n, indentation(above)+1)
	x.noValueAbove(above, text)
	return true
}

// mapField matches a line that ends with a field which must be a map.
var mapField = regexp.MustCompile(`(^|[\s:{])(values|defaults|defaults:\s*("[^"]*"|[\w-]+)):$`)

// noValueAbove says that a line ends with a field that has no value.
func (x *explanation) noValueAbove(above, text string) {
	name := above[strings.LastIndexAny(text[:len(text)-1], " \t:{,")+1 : len(text)-1]
	x.Msg, x.Hint = name+" has no value", "write "+name+`: "...", or `+name+": {}"
	if mapField.MatchString(text) {
		x.Hint = "write " + name + ": {...}, or remove the line"
	}
}
