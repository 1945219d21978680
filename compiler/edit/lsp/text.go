package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// offset returns the byte offset of a position in a text. A position behind the end of its
// line or of the text is the end.
func offset(text string, p position) int {
	at := 0
	for range p.Line {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
	}
	line, _, _ := strings.Cut(text[at:], "\n")
	line = strings.TrimSuffix(line, "\r")
	units := 0
	for i, r := range line {
		if units >= p.Character {
			return at + i
		}
		units += utf16.RuneLen(r)
	}
	return at + len(line)
}

// apply applies a change to a text.
func (c contentChange) apply(text string) string {
	if c.Range == nil {
		return c.Text
	}
	from, to := offset(text, c.Range.Start), offset(text, c.Range.End)
	if to < from {
		from, to = to, from
	}
	return text[:from] + c.Text + text[to:]
}

// units returns the number of UTF-16 code units of a text.
func units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// rangeOf returns the range of the token at a line and a column in bytes, both from 1 and 0
// when unknown. Without a column it is the line. A line behind the text is its end.
func rangeOf(text string, line, col int) textRange {
	if line < 1 {
		return textRange{}
	}
	if text == "" { // of a file that cannot be read
		return textRange{position{line - 1, 0}, position{line - 1, 0}}
	}
	lines := strings.SplitAfterN(text, "\n", line+1)
	if len(lines) < line {
		end := positionOf(text, len(text))
		return textRange{end, end}
	}
	of := strings.TrimRight(lines[line-1], "\r\n")
	from, to := len(of)-len(strings.TrimLeft(of, " \t")), len(of)
	if col > 0 {
		from = min(col-1, len(of))
		to = from + tokenLength(of[from:])
	}
	return textRange{position{line - 1, units(of[:from])}, position{line - 1, units(of[:to])}}
}

// tokenLength returns the length of the first token of a line.
func tokenLength(line string) int {
	if strings.HasPrefix(line, `"`) {
		for i := 1; i < len(line); i++ {
			switch line[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(line)
	}
	if n := strings.IndexAny(line, " \t,:{}[]()&|?!\""); n > 0 {
		return n
	}
	_, n := utf8.DecodeRuneInString(line)
	if !strings.ContainsAny(line, " \t,:{}[]()&|?!\"") {
		n = len(line)
	}
	return n
}

// fileOf returns the path of a file that a URI names, with links of its directory resolved;
// empty when the URI is not that of a file.
func fileOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	name := u.Path
	if len(name) > 2 && name[0] == '/' && name[2] == ':' { // a drive of Windows
		name = name[1:]
	}
	name = filepath.Clean(filepath.FromSlash(name))
	if !filepath.IsAbs(name) {
		return ""
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(dir, filepath.Base(name))
	}
	return name
}

// uriOf returns the URI of a file.
func uriOf(file string) string {
	name := filepath.ToSlash(file)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}
