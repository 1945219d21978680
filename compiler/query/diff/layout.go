package diff

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Style says how much is written, and how. The zero value is ready for use.
type Style struct {
	Colour  bool // on a terminal
	Content bool // also what is in objects that are created or deleted
	All     bool // also every version label and checksum that changes, which are one line otherwise, and what is ignored
	Lines   int  // of one field; 0 for 40
	Limit   int  // bytes of Markdown; 0 for 60,000, which fits in a comment of most forges
}

const (
	defaultLines = 40
	defaultLimit = 60_000
)

func (s Style) lines() int {
	if s.Lines <= 0 {
		return defaultLines
	}
	return s.Lines
}

func (s Style) limit() int {
	if s.Limit <= 0 {
		return defaultLimit
	}
	return s.Limit
}

// skip reports whether there is nothing to write of a change: content that
// differs among clusters, of an object whose creation or deletion another
// group has.
func (s Style) skip(c Change) bool {
	return c.Action != Update && !s.Content && c.Partial && len(c.Fields) > 0
}

// A shownGroup is a group as a text has it.
type shownGroup struct {
	Group
	folded  foldedFields
	ignored bool // whether its changes are left out, unless all is shown
}

// title says in which clusters the group is; name writes the ID of one.
func (g shownGroup) title(of int, name func(string) string) string {
	title := groupTitle(g.Group, of, name)
	if g.ignored {
		title = "ignored by diff.ignore: " + title
	}
	return title
}

// shown returns the groups without changes of which nothing is written, and
// without those that have no others. The rest has the version labels and checksums
// of groups that change nothing else.
func (s Style) shown(r Result) (out []shownGroup, rest foldedFields) {
	rest = newFoldedFields()
	for _, g := range r.Groups {
		var changes []Change
		for _, c := range g.Changes {
			if !s.skip(c) {
				changes = append(changes, c)
			}
		}
		if len(changes) > 0 {
			changes, folded := s.fold(changes)
			if len(changes) == 0 {
				rest.merge(g, folded)
				continue
			}
			out = append(out, shownGroup{Group{g.Clusters, changes}, folded, false})
		}
	}
	if s.All {
		for _, g := range r.Ignored {
			out = append(out, shownGroup{g, newFoldedFields(), true})
		}
	}
	return out, rest
}

// title returns the line that names the object of a change.
func title(c Change) string {
	var about []string
	if c.Release != "" {
		about = append(about, "release "+clippedLine(c.Release, 0))
	}
	if c.FromRelease != "" {
		about = append(about, "before in "+clippedLine(c.FromRelease, 0))
	}
	if c.Live.Why != "" {
		about = append(about, clippedLine(c.Live.Why, 0))
	}
	if c.Live.Predicted {
		about = append(about, "predicted")
	}
	s := clippedLine(c.ID, 0)
	if len(about) > 0 {
		s += " (" + strings.Join(about, ", ") + ")"
	}
	return s
}

func mark(a Action) byte {
	switch a {
	case Create:
		return '+'
	case Delete:
		return '-'
	case Unknown:
		return '!'
	}
	return '~'
}

// body returns the lines below the title of a change. With apart, the values
// before and after are always in lines of their own.
func (s Style) body(c Change, apart bool) []line {
	var out []line
	for _, f := range c.Fields {
		if c.Action != Update && f.Path == "" && !s.Content {
			continue
		}
		out = append(out, s.field(f, apart)...)
	}
	return out
}

func (s Style) field(f FieldChange, apart bool) []line {
	path := clippedPath(f.Path)
	if f.Manager != "" {
		path += " (" + clippedLine(f.Manager, 0) + " has it)"
	}
	if f.Ignored.Rule != "" {
		path += " (" + clippedLine(f.Ignored.Rule, 0) + ")"
	}
	switch {
	case f.Reordered:
		return reordered(path, f, apart)
	case !f.HasWas:
		return s.whole('+', path, f.Is, f.Secret)
	case !f.HasIs:
		return s.whole('-', path, f.Was, f.Secret)
	}
	was, is, texts := f.Was, f.Is, false
	from := 0
	if a, ok := was.(string); ok {
		if b, ok := is.(string); ok {
			texts = strings.Contains(a, "\n") || strings.Contains(b, "\n")
			from = firstDifference(a, b)
		}
	}
	if texts {
		lines := unified(was.(string), is.(string))
		return append([]line{{'~', path + ":"}}, s.cut(lines)...)
	}
	a, fits := one(was, from, f.Secret)
	b, too := one(is, from, f.Secret)
	if fits && too {
		return beside(path, a, b, apart)
	}
	return append(s.whole('-', path, was, f.Secret), s.whole('+', path, is, f.Secret)...)
}

// one is inline for a value that may be that of a Secret: what stands for it
// is not quoted, unlike a text that only looks the same.
func one(v any, from int, secret bool) (string, bool) {
	if s, ok := v.(string); ok && secret && strings.HasPrefix(s, "<secret") {
		return visible(s), true
	}
	return inline(v, from)
}

func beside(path, was, is string, apart bool) []line {
	if !apart && utf8.RuneCountInString(was)+utf8.RuneCountInString(is) <= maxBeside {
		return []line{{'~', path + ": " + was + " -> " + is}}
	}
	return []line{{'-', path + ": " + was}, {'+', path + ": " + is}}
}

func reordered(path string, f FieldChange, apart bool) []line {
	was, is := joined(f.Was), joined(f.Is)
	from := firstDifference(was, is)
	return beside(path+" in another order", clippedLine(was, from), clippedLine(is, from), apart)
}

func joined(v any) string {
	l, _ := v.([]any)
	texts := make([]string, len(l))
	for i, e := range l {
		texts[i] = fmt.Sprint(e)
	}
	return strings.Join(texts, ", ")
}

// whole returns the lines of a value that is on one side only.
func (s Style) whole(mark byte, path string, v any, secret bool) []line {
	if text, ok := one(v, 0, secret); ok {
		return []line{{mark, path + ": " + text}}
	}
	b := block{max: s.lines()}
	if path == "" {
		b.add("", v, 0)
	} else {
		b.max++
		b.child(path+":", v, 0)
	}
	out := make([]line, 0, len(b.lines)+1)
	for _, l := range b.lines {
		out = append(out, line{mark, l})
	}
	if b.more > 0 {
		out = append(out, more(b.more))
	}
	return out
}

// cut returns as many lines as are shown of a field.
func (s Style) cut(lines []line) []line {
	if n := len(lines) - s.lines(); n > 0 {
		return append(lines[:s.lines():s.lines()], more(n))
	}
	return lines
}

func more(n int) line {
	if n == 1 {
		return line{' ', "... 1 more line"}
	}
	return line{' ', fmt.Sprintf("... %d more lines", n)}
}

// clippedPath shortens a path in the middle of which a hostile key is. The
// paths are visible already.
func clippedPath(path string) string {
	const most = 2 * maxShown
	if len(path) <= most {
		return path
	}
	from, to := most/2, len(path)-most/2
	for !utf8.RuneStart(path[from]) {
		from--
	}
	for to < len(path) && !utf8.RuneStart(path[to]) {
		to++
	}
	return path[:from] + "..." + path[to:]
}
