package fleet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A MatchText is one text of a [Selector] that a layer of the fleet writes.
// Texts of imported packages are excluded, because they may match nothing.
type MatchText struct {
	Path  string // of its list or label, in CUE syntax
	Field string // field of the selector: kinds, names, namespaces, releases or labels; objects for a kind that violations read
	Key   string // label key
	Text  string // a kind, a pattern, or the value of a label
	Pos   diag.Pos
}

// Selector returns a selector with only this text.
func (t *MatchText) Selector() Selector {
	switch t.Field {
	case "kinds":
		return Selector{Kinds: []string{t.Text}}
	case "names":
		return Selector{Names: []string{t.Text}}
	case "namespaces":
		return Selector{Namespaces: []string{t.Text}}
	case "releases":
		return Selector{Releases: []string{t.Text}}
	}
	return Selector{Labels: map[string]string{t.Key: t.Text}}
}

// CheckTexts checks that each text of a list matches. A wildcard pattern may
// match nothing if another text matches. wrong returns the message for a text;
// among are suggestions.
func CheckTexts(texts []MatchText, matches func(MatchText) bool, wrong func(MatchText) string, among []string) []RuleCheck {
	matched := diag.Each(texts, matches)
	anyMatched := slices.Contains(matched, true)
	visible := diag.Distinct(diag.Each(among, func(word string) string { return diag.Visible(word, diag.MaxText) }))
	var out []RuleCheck
	for i, t := range texts {
		isPattern := t.Field != "kinds" && t.Field != "labels" && t.Field != "depends" && strings.ContainsAny(t.Text, `*?[`)
		check := RuleCheck{Path: t.Path, Pos: t.Pos, Holds: matched[i] || anyMatched && isPattern}
		if !check.Holds {
			check.setFault("matches nothing: "+wrong(t), cmp.Or(diag.OneOf(t.Text, visible), "correct it, or remove it"), diag.Respell(t.Text, among))
		}
		out = append(out, check)
	}
	return out
}

// ReleaseChecks checks that the release patterns of policies, waivers, health
// rules and diff.ignore match one of the releases.
func (c *Cluster) ReleaseChecks(releases []string) []RuleCheck {
	var out []RuleCheck
	check := func(texts []MatchText, releases []string, wrong string) {
		texts = slices.DeleteFunc(slices.Clone(texts), func(t MatchText) bool { return t.Field != "releases" })
		matches := func(t MatchText) bool {
			return slices.ContainsFunc(releases, func(name string) bool { return anyMatches([]string{t.Text}, name) })
		}
		msg := func(t MatchText) string { return fmt.Sprintf(wrong, diag.Visible(t.Text, diag.MaxText)) }
		out = append(out, CheckTexts(texts, matches, msg, releases)...)
	}
	const unknown = "no release is called %s"
	for _, p := range c.Policies {
		check(p.Texts, releases, unknown)
		for _, w := range p.Waivers {
			check(w.Texts, releases, unknown)
		}
	}
	for _, h := range c.Health {
		check(h.Texts, releases, unknown)
	}
	for _, i := range c.Ignore {
		check(i.Texts, releases, unknown)
	}
	for _, r := range c.Releases {
		const other = "a rule applies only to its own release, which is not %s"
		for _, h := range r.Health {
			check(h.Texts, []string{r.Name}, other)
		}
		for _, i := range r.Ignore {
			check(i.Texts, []string{r.Name}, other)
		}
	}
	return out
}

// A Text is a text in consecutive parts. Clusters share parts of their
// objects' texts in memory.
type Text [3][]byte

// Len returns the length in bytes.
func (t Text) Len() int { return len(t[0]) + len(t[1]) + len(t[2]) }

// AppendTo appends the text to buf and returns the result.
func (t Text) AppendTo(buf []byte) []byte {
	return append(append(append(buf, t[0]...), t[1]...), t[2]...)
}

// Bytes returns a copy of the text.
func (t Text) Bytes() []byte { return t.AppendTo(make([]byte, 0, t.Len())) }

// String returns the text as a string.
func (t Text) String() string { return string(t.Bytes()) }

// Equal reports whether the text equals data.
func (t Text) Equal(data []byte) bool {
	if len(data) != t.Len() {
		return false
	}
	for _, part := range t {
		if !bytes.Equal(data[:len(part)], part) {
			return false
		}
		data = data[len(part):]
	}
	return true
}

// Sum returns the digest of the text.
func (t Text) Sum() Sum {
	h := sha256.New()
	for _, part := range t {
		h.Write(part)
	}
	return Sum(h.Sum(nil))
}

// A Sum is the sha256 of a text.
type Sum [sha256.Size]byte

// String returns the sum as sha256:hex.
func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// A textSearch looks for any of several strings in a text, with the algorithm of Wu and
// Manber ("A fast algorithm for multi-pattern searching", 1994): it reads few bytes of a
// text that contains no part of them.
type textSearch struct {
	patterns []string
	length   int // of the shortest pattern; at least 2
	// shift is how far the search may move, by the last two bytes of the window: 0 where a
	// pattern may begin at the window.
	shift [1 << pairBits]uint8
}

// pairBits is the number of bits of two bytes that select a shift. Pairs may share an entry,
// which then has the smaller shift.
const pairBits = 12

func newTextSearch(patterns ...string) *textSearch {
	s := &textSearch{patterns: patterns, length: 255}
	for _, p := range patterns {
		s.length = min(s.length, len(p))
	}
	for i := range s.shift {
		s.shift[i] = uint8(s.length - 1)
	}
	for _, p := range patterns {
		for end := 2; end <= s.length; end++ {
			i := lastPair(p[:end])
			s.shift[i] = min(s.shift[i], uint8(s.length-end))
		}
	}
	return s
}

// in reports whether the text contains one of the patterns.
func (s *textSearch) in(text string) bool {
	for end := s.length; end <= len(text); {
		shift := s.shift[lastPair(text[:end])]
		if shift == 0 {
			if slices.ContainsFunc(s.patterns, func(p string) bool { return strings.HasPrefix(text[end-s.length:], p) }) {
				return true
			}
			shift = 1
		}
		end += int(shift)
	}
	return false
}

// lastPair returns the index of a shift for the last two bytes of a text.
func lastPair(text string) uint16 {
	return (uint16(text[len(text)-2])<<(pairBits-8) ^ uint16(text[len(text)-1])) % (1 << pairBits)
}
