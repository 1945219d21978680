package values

import (
	"bytes"
	"slices"
	"sort"
	"strings"
)

// This file finds the place in a YAML document that an action prints to, from
// the text around the action: the keys above it with less indentation. When that
// is ambiguous, the place is unknown.

// anItem is the path step for an element of a list.
const anItem = "[]"

// An apiKind is the API version and kind of a document. The API version is empty
// when it is computed.
type apiKind struct {
	apiVersion, kind string
	replaceable      bool // the kind is a default, which the user's values can replace
}

// A layout is the text of a template file as lines of YAML.
type layout struct {
	data   string
	text   []byte // with actions replaced by blots
	lines  []textLine
	starts []int // offsets of the lines
	blocks []*block
	from   []int       // offset from which blocks[i] is the innermost block
	looked int         // number of lines and enclosing blocks examined
	known  []*document // documents by line, for the lines examined so far
}

// A block is the text between an action that opens a block and its end, or one
// of its branches.
type block struct {
	outer  *block
	depth  int
	opener int // offset of the action that opens the block, equal for all its branches
	define bool
}

// A textLine is a line of the text, parsed as a key of a map if possible.
type textLine struct {
	block  *block
	indent int    // columns before the text; for an element of a list, before its dash
	column int    // column of the key
	item   bool   // the line begins an element of a list
	dash   bool   // the line is only the dash of an element
	key    string // empty when the line has no known key
	value  string // text after the key, without actions
	filled bool   // there are actions after the key
	blank  bool   // the line is empty, a comment or only actions
	ends   bool   // the line ends a document
}

const blot = '\x00'

// newLayout parses the text of a file.
func newLayout(data string) *layout {
	l := &layout{data: data, text: []byte(data)}
	now := &block{opener: -1}
	l.blocks, l.from = []*block{now}, []int{0}
	for at := 0; ; {
		open := strings.Index(data[at:], "{{")
		if open < 0 {
			break
		}
		open += at
		at = actionEnd(data, open)
		now = now.after(data[open:at], open)
		l.blocks, l.from = append(l.blocks, now), append(l.from, at)
		for i := open; i < at; i++ {
			l.text[i] = blot
		}
	}
	start := 0
	for line := range bytes.Lines(l.text) {
		l.starts = append(l.starts, start)
		l.lines = append(l.lines, l.line(bytes.TrimRight(line, "\r\n"), start))
		start += len(line)
	}
	l.known = make([]*document, len(l.lines))
	return l
}

// actionEnd returns the offset after the action that begins at the offset.
func actionEnd(data string, open int) int {
	i := open + 2
	if rest := strings.TrimLeft(strings.TrimPrefix(data[i:], "-"), " \t\r\n"); strings.HasPrefix(rest, "/*") {
		if end := strings.Index(data[i:], "*/"); end >= 0 {
			i += end + 2
		}
	}
	var quote byte
	for ; i < len(data); i++ {
		switch c := data[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'':
			quote = c
		case strings.HasPrefix(data[i:], "}}"):
			return i + 2
		}
	}
	return len(data)
}

// after returns the block after the action at the offset.
func (b *block) after(action string, at int) *block {
	word, _, _ := strings.Cut(strings.TrimLeft(strings.TrimPrefix(action[2:], "-"), " \t\r\n")+" ", " ")
	word = strings.TrimRight(word, "-}\t\r\n")
	switch word {
	case "if", "with", "range", "define", "block":
		return &block{outer: b, depth: b.depth + 1, opener: at, define: word == "define" || word == "block"}
	case "else":
		if b.outer != nil {
			return &block{outer: b.outer, depth: b.depth, opener: b.opener, define: b.define}
		}
	case "end":
		if b.outer != nil {
			return b.outer
		}
	}
	return b
}

// up returns the enclosing block at the depth, or b itself.
func (b *block) up(depth int) *block {
	for b.depth > depth {
		b = b.outer
	}
	return b
}

// around reports whether the block equals or encloses the other one.
func (b *block) around(other *block) bool { return b == other.up(b.depth) }

// beside reports whether the block is in another branch of a block that encloses
// the other one.
func (b *block) beside(other *block) bool {
	depth := min(b.depth, other.depth)
	b, other = b.up(depth), other.up(depth)
	for b.outer != other.outer {
		b, other = b.outer, other.outer
	}
	return b != other && b.opener == other.opener
}

// defined returns the enclosing define; nil when there is none.
func (b *block) defined() *block {
	for ; b != nil && !b.define; b = b.outer {
	}
	return b
}

func (l *layout) blockAt(offset int) *block {
	return l.blocks[sort.SearchInts(l.from, max(offset, 0)+1)-1]
}

func (l *layout) line(text []byte, start int) textLine {
	trimmed := bytes.TrimLeft(text, " ")
	out := textLine{indent: len(text) - len(trimmed)}
	visible := bytes.TrimLeft(trimmed, " \t"+string(blot))
	out.block = l.blockAt(start + len(text) - len(visible))
	if len(visible) == 0 || visible[0] == '#' {
		out.blank = true
		return out
	}
	if bytes.HasPrefix(visible, []byte("---")) && out.indent == 0 {
		out.ends = true
		return out
	}
	out.column = out.indent
	out.dash = bytes.Equal(bytes.TrimRight(visible, " "), []byte("-"))
	out.item = out.dash || bytes.HasPrefix(visible, []byte("- "))
	dash, key, value, ok := keyLine(visible)
	if !ok {
		return out
	}
	out.column += dash
	out.key, out.value = string(key), string(value)
	out.filled = bytes.IndexByte(visible, blot) >= 0
	return out
}

// before returns the line of the offset and the text before the offset in it.
func (l *layout) before(offset int) (line int, text []byte) {
	line = sort.SearchInts(l.starts, offset+1) - 1
	if line < 0 {
		return 0, nil
	}
	return line, l.text[l.starts[line]:offset]
}

// A spot is the place in a YAML document that an action prints to.
type spot struct {
	path  []string // keys, and anItem for the elements of lists
	whole bool     // the path begins at the root of a document
	root  bool     // the path, maybe empty, begins at the root of a document or of the output of a definition
	list  bool     // only a list fits: a map would be next to the last key, not below it
}

// place returns the place that an action at the offset prints to. With own, the
// output starts on a new line with that indentation; without, it continues the
// line of the action. ok is false when the place is unknown.
func (l *layout) place(offset int, own bool, indent int) (s spot, ok bool) {
	line, text := l.before(offset)
	c := climber{layout: l, here: l.blockAt(offset - 1), target: indent}
	cut := l.line(text, l.starts[line])
	switch {
	case own && !cut.blank:
		return c.up(line-1, &cut)
	case own:
	case cut.blank && bytes.IndexByte(text, blot) >= 0:
		return spot{}, false
	case cut.blank:
		c.target = indent + len(text)
	case cut.key == "" || cut.value != "" || cut.filled || indent > 0:
		return spot{}, false
	default:
		c.target = cut.column + 1 // the output is the value of the key
		return c.up(line-1, &cut)
	}
	return c.up(line-1, nil)
}

// A climber walks up the lines from an action to the root of its document.
type climber struct {
	*layout
	here     *block
	path     []string // innermost first
	certain  []string // the part of path below a line that may not be rendered
	target   int      // the column of the last step
	sequence bool     // the last step is an element of a list
	begun    bool     // a line was examined
	deeper   bool     // a branch before the first examined line has an element of a deeper list
	list     bool
}

// up climbs from the line. The line first, if any, is taken before it.
func (c *climber) up(from int, first *textLine) (s spot, ok bool) {
	within := c.here.defined()
	if first != nil && !c.take(first) {
		return spot{}, false
	}
	for i := from; i >= 0; i-- {
		line := &c.lines[i]
		c.looked += 1 + line.block.depth
		if within != nil && !within.around(line.block) || within == nil && line.block.defined() != nil {
			if within != nil {
				break // outside the definition
			}
			continue
		}
		if line.ends {
			break
		}
		if c.target == 0 && !c.sequence {
			break // the root
		}
		if line.blank {
			continue
		}
		if !line.block.around(c.here) {
			if c.above(line) && !line.block.beside(c.here) {
				// A branch that may not be rendered. Only the path below it is certain.
				if len(c.path) == 0 || line.key == "" || line.value != "" {
					return spot{}, false
				}
				if c.certain == nil {
					c.certain = slices.Clone(c.path)
				}
				if !c.take(line) {
					return spot{}, false
				}
				continue
			}
			c.deeper = c.deeper || !c.begun && line.item && line.indent > c.target
			continue
		}
		if !c.take(line) {
			return spot{}, false
		}
	}
	if c.certain != nil {
		slices.Reverse(c.certain)
		return spot{path: c.certain, list: c.list}, true
	}
	slices.Reverse(c.path)
	whole := c.target == 0 && !c.sequence
	return spot{c.path, whole, c.target == 0 && (whole || within != nil), c.list}, len(c.path) > 0
}

// above reports whether the line can be the parent of the last step.
func (c *climber) above(line *textLine) bool {
	if c.sequence {
		return line.indent < c.target || line.indent == c.target && !line.item
	}
	return line.column < c.target || line.item && line.indent < c.target
}

// take adds the line to the path if it is the parent of the last step. It
// reports false when that is ambiguous.
func (c *climber) take(line *textLine) bool {
	beside := !c.begun && !c.deeper && line.column == c.target && line.key != "" && line.value == "" && !line.filled
	c.begun = true
	c.list = c.list || beside
	if !beside && !c.above(line) {
		return true
	}
	if line.item && !c.sequence && !beside && (line.column >= c.target || line.dash) {
		// The line begins the element that contains the last step.
		c.path, c.target, c.sequence = append(c.path, anItem), line.indent, true
		return true
	}
	if line.key == "" || line.value != "" && !strings.HasPrefix(line.value, "&") && !strings.HasPrefix(line.value, "#") {
		return false
	}
	c.path, c.target, c.sequence = append(c.path, line.key), line.column, false
	if line.item {
		c.path, c.target, c.sequence = append(c.path, anItem), line.indent, true
	}
	return true
}

// kinds returns the kinds of the document around the offset; none when one of
// them is computed.
func (l *layout) kinds(offset int) []apiKind {
	line, _ := l.before(offset)
	within := l.blockAt(offset - 1).defined()
	from := line
	inside := func(i int) bool {
		l.looked++
		return !l.lines[i].ends && (within == nil || within.around(l.lines[i].block))
	}
	for from > 0 && inside(from-1) {
		if from--; l.known[from] != nil && l.known[from].within == within {
			break
		}
	}
	if known := l.known[from]; known != nil && known.within == within {
		return known.kinds
	}
	to := from
	for to+1 < len(l.lines) && inside(to+1) {
		to++
	}
	d := &document{within: within, kinds: l.kindsIn(from, to+1)}
	// Later calls are mostly for lines below.
	l.known[from], l.known[line] = d, d
	return d.kinds
}

// A document caches the kinds of a YAML document.
type document struct {
	within *block
	kinds  []apiKind
}

// kindsIn returns the kinds in the lines of a document.
func (l *layout) kindsIn(from, to int) []apiKind {
	var kinds []apiKind
	version := ""
	versions := map[string]bool{}
	for i, line := range l.lines[from:to] {
		if line.indent > 0 || line.item || line.key != "kind" && line.key != "apiVersion" {
			continue
		}
		value := strings.Trim(line.value, `"'`)
		switch {
		case line.key == "apiVersion":
			version = value
			versions[value] = true
		case value == "" || strings.ContainsRune(value, blot):
			computed := computedKinds(l.data[l.starts[from+i]:])
			if len(computed) == 0 {
				return nil
			}
			kinds = append(kinds, computed...)
		default:
			kinds = append(kinds, apiKind{kind: value})
		}
	}
	if len(versions) == 1 && !strings.ContainsRune(version, blot) {
		for i := range kinds {
			kinds[i].apiVersion = version
		}
	}
	return kinds
}
