package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Style selects how much is written and how. The zero value is ready for
// use.
type Style struct {
	Colour  bool // use terminal colours
	Content bool // show the content of created and deleted objects
	All     bool // show every changed version label and checksum, and ignored changes
	Lines   int  // maximum lines of a field; 0 means 40
	Limit   int  // maximum bytes of Markdown; 0 means 60,000, which fits in a comment of most forges
}

func (s Style) lines() int { return cmp.Or(max(s.Lines, 0), 40) }
func (s Style) limit() int { return cmp.Or(max(s.Limit, 0), 60_000) }

// skip reports whether a change is not shown: content that differs between
// clusters, of a created or deleted object that another group shows.
func (s Style) skip(c Change) bool {
	return c.Action != Update && !s.Content && c.Partial && len(c.Fields) > 0
}

// A visibleGroup is a group as it is shown.
type visibleGroup struct {
	Group
	folded  foldedFields
	ignored bool // whether its changes are ignored and only shown on request
}

// title returns the heading of the group; name formats a cluster ID.
func (g visibleGroup) title(of int, name func(string) string) string {
	prefix, what := "", "the same changes"
	if g.ignored {
		prefix = "ignored by diff.ignore: "
	}
	if len(g.Changes) == 1 && len(g.Changes[0].Fields) < 2 {
		what = "the same change"
	}
	switch n := len(g.Clusters); n {
	case 1:
		return prefix + "in " + clusterList(g.Clusters, name)
	case of:
		return fmt.Sprintf("%s%s in all %d clusters", prefix, what, n)
	default:
		return fmt.Sprintf("%s%s in %d of %d clusters: %s", prefix, what, n, of, clusterList(g.Clusters, name))
	}
}

// visibleGroups returns the groups with visible changes. rest holds the
// version labels and checksums of groups without other changes.
func (s Style) visibleGroups(r Result) (out []visibleGroup, rest foldedFields) {
	rest = newFoldedFields()
	for _, g := range r.Groups {
		if changes := slices.DeleteFunc(slices.Clone(g.Changes), s.skip); len(changes) > 0 {
			changes, folded := s.fold(changes)
			if len(changes) == 0 {
				rest.merge(g, folded)
				continue
			}
			out = append(out, visibleGroup{Group{g.Clusters, changes}, folded, false})
		}
	}
	if s.All {
		for _, g := range r.Ignored {
			out = append(out, visibleGroup{g, newFoldedFields(), true})
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

// marks are the marks of changed objects.
var marks = map[Action]byte{Create: '+', Update: '~', Delete: '-', Unknown: '!'}

// body returns the lines below the title of a change. With apart, values
// before and after are always on separate lines.
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
		return reorderedLines(path, f, apart)
	case !f.HasBefore:
		return s.whole('+', path, f.After, f.Secret)
	case !f.HasAfter:
		return s.whole('-', path, f.Before, f.Secret)
	}
	from := 0
	before, isText := f.Before.(string)
	if after, ok := f.After.(string); ok && isText {
		if strings.Contains(before, "\n") || strings.Contains(after, "\n") {
			return append([]line{{'~', path + ":"}}, s.cut(unified(before, after))...)
		}
		from = firstDifference(before, after)
	}
	a, fits := inlineSecret(f.Before, from, f.Secret)
	b, too := inlineSecret(f.After, from, f.Secret)
	if fits && too {
		return beforeAfter(path, a, b, apart)
	}
	return append(s.whole('-', path, f.Before, f.Secret), s.whole('+', path, f.After, f.Secret)...)
}

// inlineSecret is inline for a value that may be masked. A masked value is not
// quoted, unlike a text that looks like one.
func inlineSecret(v any, from int, secret bool) (string, bool) {
	if s, ok := v.(string); ok && secret && strings.HasPrefix(s, "<secret") {
		return visible(s), true
	}
	return inline(v, from)
}

func beforeAfter(path, before, after string, apart bool) []line {
	if !apart && utf8.RuneCountInString(before)+utf8.RuneCountInString(after) <= maxBeside {
		return []line{{'~', path + ": " + before + " -> " + after}}
	}
	return []line{{'-', path + ": " + before}, {'+', path + ": " + after}}
}

func reorderedLines(path string, f FieldChange, apart bool) []line {
	before, after := joinTexts(f.Before), joinTexts(f.After)
	from := firstDifference(before, after)
	return beforeAfter(path+" in another order", clippedLine(before, from), clippedLine(after, from), apart)
}

func joinTexts(v any) string {
	l, _ := v.([]any)
	return strings.Join(diag.Each(l, func(e any) string { return fmt.Sprint(e) }), ", ")
}

// whole returns the lines of a value that exists on one side.
func (s Style) whole(mark byte, path string, v any, secret bool) []line {
	if text, ok := inlineSecret(v, 0, secret); ok {
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

// cut returns the lines that are shown of a field.
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

// clippedPath shortens a long path in the middle. Paths contain only printable
// characters.
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
