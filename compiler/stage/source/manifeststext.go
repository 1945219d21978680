package source

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// A text is the content of a file with the offsets of its lines.
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

// A place is the position of an object in a text and, for a list, the positions
// of its items.
type place struct {
	line, col int // from 1, in bytes
	items     []place
}

// at returns the position of an offset.
func (t *text) at(offset int) place {
	line := sort.SearchInts(t.lines, offset+1)
	return place{line: line, col: offset - t.lines[line-1] + 1}
}

// column converts a column in characters to bytes.
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
	above int // number of lines before it
}

// split returns the YAML documents of the text that have content, which are
// separated by lines that begin with --- or are "...". Directives and comments
// before --- belong to the following document.
func (t *text) split() []document {
	var docs []document
	begin, started, content := 0, false, false // of the current document
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

// offset returns the offset of line i, counted from 0, or the end of the text.
func (t *text) offset(i int) int {
	if i >= len(t.lines) {
		return len(t.data)
	}
	return t.lines[i]
}
