package manifests

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// A text is a file, with where its lines begin.
type text struct {
	name  string
	data  []byte
	lines []int // offsets
}

func newText(name string, data []byte) *text {
	t := &text{name: name, data: bytes.TrimPrefix(data, []byte("\ufeff")), lines: []int{0}}
	for at := 0; ; {
		end := bytes.IndexByte(t.data[at:], '\n')
		if end < 0 {
			return t
		}
		at += end + 1
		t.lines = append(t.lines, at)
	}
}

// A place is where an object is in a text, and where its items are if it is a
// list.
type place struct {
	line, col int // from 1, in bytes
	items     []place
}

// at returns the place of an offset.
func (t *text) at(offset int) place {
	line := sort.SearchInts(t.lines, offset+1)
	return place{line: line, col: offset - t.lines[line-1] + 1}
}

// column returns the column in bytes of one in characters.
func (t *text) column(line, col int) int {
	if line < 1 || line > len(t.lines) {
		return col
	}
	rest, bytes := t.data[t.lines[line-1]:], 0
	for range col - 1 {
		_, size := utf8.DecodeRune(rest[bytes:])
		if size == 0 {
			break
		}
		bytes += size
	}
	return bytes + 1
}

// A document is one YAML document of a text.
type document struct {
	data  []byte
	above int // lines of the text in front of it
}

// split returns the YAML documents of the text that have content: what is
// between lines that begin with --- or are "...". Directives and comments in
// front of --- belong to the document behind it.
func (t *text) split() []document {
	var docs []document
	begin, started, content := 0, false, false // of the present document
	cut := func(end int) {
		if content {
			docs = append(docs, document{data: t.data[t.offset(begin):t.offset(end)], above: begin})
		}
		begin, started, content = end, false, false
	}
	for i := range t.lines {
		line := t.data[t.offset(i):t.offset(i+1)]
		if isMarker(line, "...") {
			cut(i + 1)
			continue
		}
		if isMarker(line, "---") {
			if started {
				cut(i)
			}
			started, line = true, line[len("---"):]
		}
		switch trimmed := bytes.TrimSpace(line); {
		case len(trimmed) == 0 || trimmed[0] == '#':
		case !started && line[0] == '%':
		default:
			started, content = true, true
		}
	}
	cut(len(t.lines))
	return docs
}

// isMarker reports whether a line is a marker between documents.
func isMarker(line []byte, marker string) bool {
	return bytes.HasPrefix(line, []byte(marker)) && (len(line) == len(marker) || bytes.IndexByte([]byte(" \t\r\n"), line[len(marker)]) >= 0)
}

// offset returns where line i begins, from 0; the end of the text behind the
// last.
func (t *text) offset(i int) int {
	if i >= len(t.lines) {
		return len(t.data)
	}
	return t.lines[i]
}
