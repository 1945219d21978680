package values

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

const (
	maxDocLines = 8   // documentation of one value
	maxDocLine  = 100 // in runes
)

// comments holds the comments of a values.yaml with its lines.
type comments struct {
	place  string
	lines  []string
	params map[string]string // descriptions of @param lines, by path
}

var param = regexp.MustCompile(`^\s*#+\s*@(?:param|extra)\s+(\S+)\s*(?:\[[^\]]*\])?\s*(.*)$`)

// read reads the lines of the file.
func (t *comments) read(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	t.lines = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	t.params = map[string]string{}
	for _, l := range t.lines {
		if m := param.FindStringSubmatch(l); m != nil && m[2] != "" {
			t.params[m[1]] = m[2]
		}
	}
}

// doc returns the documentation of the key at the path: the description of its
// @param line, else the comment right above the key, else the comment after the
// value.
func (t *comments) doc(p pair, path string) string {
	if d := t.params[path]; d != "" {
		return tidy(d)
	}
	if d := describe(t.above(p.key)); d != "" {
		return d
	}
	for _, c := range []string{p.value.LineComment, p.key.LineComment} {
		if c != "" {
			return describe([]string{c})
		}
	}
	return ""
}

// above returns the lines of the comment right above the key and in its column.
// Comments with more indentation belong to the value before, and are mostly
// commented-out values.
func (t *comments) above(key *yaml.Node) []string {
	from := key.Line - 1
	for from > 0 && from <= len(t.lines) {
		l := t.lines[from-1]
		if trimmed := strings.TrimLeft(l, " \t"); !strings.HasPrefix(trimmed, "#") || len(l)-len(trimmed) != key.Column-1 {
			break
		}
		from--
	}
	if from < 0 || key.Line-1 > len(t.lines) || from > key.Line-1 {
		return nil
	}
	return t.lines[from : key.Line-1]
}

var (
	// marker matches helm-docs' mark of a description; the old style includes a
	// path.
	marker = regexp.MustCompile(`^(?:[\w.\[\]"/-]+ )?-- ?(.*)$`)
	// typeHint matches the type that helm-docs allows before a description.
	typeHint = regexp.MustCompile(`^\([\w/ ,|\[\]-]+\) *`)
	ruler    = regexp.MustCompile(`^[-=#*_~+ ]{3,}$`)
	// code matches the first line of commented-out YAML.
	code = regexp.MustCompile(`^(- |[{}\[\]]|["']?[\w./-]+["']?:(\s*$|\s+[^\s]+\s*$|\s*[|>\[{&"']))`)
)

// describe returns the description in the lines of a comment: the part after a
// marker, else the first paragraph of prose.
func describe(comment []string) string {
	var paragraphs [][]string
	marked := false
	var last []string
	end := func() {
		if len(last) > 0 {
			paragraphs = append(paragraphs, last)
		}
		last = nil
	}
	for _, l := range comment {
		l = strings.TrimLeft(strings.TrimSpace(l), "#")
		l = strings.TrimPrefix(l, " ")
		trimmed := strings.TrimSpace(l)
		if m := marker.FindStringSubmatch(trimmed); m != nil && !ruler.MatchString(trimmed) {
			paragraphs, last, marked = nil, []string{typeHint.ReplaceAllString(m[1], "")}, true
			continue
		}
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, "@"), strings.HasPrefix(trimmed, "+doc"), ruler.MatchString(trimmed):
			end()
		default:
			last = append(last, l)
		}
	}
	end()
	for _, p := range paragraphs {
		if first := strings.TrimSpace(p[0]); marked || !code.MatchString(first) {
			return tidy(strings.Join(p, "\n"))
		}
	}
	return ""
}

// tidy returns the text in a form that is safe in a comment of a generated file:
// a few short lines without control characters.
func tidy(s string) string {
	if len(s) > 10*maxDocLines*maxDocLine {
		s = s[:10*maxDocLines*maxDocLine]
	}
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		l = strings.TrimRight(strings.Map(printable, l), " ")
		if l != "" || len(lines) > 0 {
			lines = append(lines, wrap(l)...)
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) > maxDocLines {
		lines = lines[:maxDocLines]
		lines[maxDocLines-1] += " ..."
	}
	return strings.Join(lines, "\n")
}

func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r == unicode.ReplacementChar, !unicode.IsPrint(r):
		return -1
	}
	return r
}

// wrap breaks a long line between words, and a too long word anywhere.
func wrap(l string) []string {
	var out []string
	for runes := []rune(l); ; {
		if len(runes) <= maxDocLine {
			return append(out, string(runes))
		}
		cut := maxDocLine
		for cut > maxDocLine/2 && runes[cut] != ' ' {
			cut--
		}
		if runes[cut] != ' ' {
			cut = maxDocLine
		}
		out = append(out, strings.TrimRight(string(runes[:cut]), " "))
		runes = []rune(strings.TrimLeft(string(runes[cut:]), " "))
	}
}
