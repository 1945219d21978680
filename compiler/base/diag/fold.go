package diag

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Mask replaces the texts that are a cluster's own, such as its name and its
// facts, so that the faults of several clusters can be compared. The zero value is
// ready for use.
type Mask struct {
	texts map[string][]ownText // by their first word, the longest first
}

// An ownText is a text of a cluster, and what stands for it.
type ownText struct{ text, as string }

// minOwnText is how long a text must be to be replaced: shorter ones are words of
// messages by chance.
const minOwnText = 2

// Add has a text replaced. Of equal texts the first that is added counts.
func (m *Mask) Add(text, as string) {
	word := text[:wordEnd(text)]
	if len(text) < minOwnText || word == "" {
		return
	}
	if m.texts == nil {
		m.texts = map[string][]ownText{}
	}
	same := m.texts[word]
	i, found := slices.BinarySearchFunc(same, text, func(o ownText, text string) int {
		return cmp.Or(cmp.Compare(len(text), len(o.text)), cmp.Compare(o.text, text))
	})
	if !found {
		m.texts[word] = slices.Insert(same, i, ownText{text, as})
	}
}

// apply returns s with the texts in it replaced, where they are whole words.
func (m *Mask) apply(s string) string {
	var b strings.Builder
	for s != "" {
		n := wordEnd(s)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(s)
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		as := s[:n]
		for _, o := range m.texts[as] {
			if strings.HasPrefix(s, o.text) && (wordEnd(s[len(o.text):]) == 0 || wordEnd(o.text[len(o.text)-1:]) == 0) {
				as, n = o.as, len(o.text)
				break
			}
		}
		b.WriteString(as)
		s = s[n:]
	}
	return b.String()
}

// wordEnd returns the length of the letters and digits that a text begins with.
func wordEnd(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
	}
	return len(s)
}

// literals matches the values in a message: texts in quotes, and numbers. The index
// of a list is not one.
var literals = regexp.MustCompile(`\[[0-9]+\]|"(?:[^"\\]|\\.)*"|'[^']*'|\b[0-9]+(?:\.[0-9]+)*\b`)

// Masked returns the fault with its form: what it says without the texts that the
// mask replaces. With exact, its first place is that of a value, and all values in
// the message follow from what is written there.
func (d *Diag) Masked(m *Mask, exact bool) *Diag {
	mask := m.apply
	if exact {
		mask = func(s string) string {
			return literals.ReplaceAllStringFunc(m.apply(s), func(value string) string {
				if value[0] == '[' {
					return value
				}
				return "0"
			})
		}
	}
	masked := *d
	masked.form = m.apply(d.Path) + "\n" + mask(d.Msg) + "\n" + mask(d.Hint)
	return &masked
}

// A mistake is faults of different clusters that have one cause.
type mistake struct {
	faults   List
	clusters map[string]bool
}

// add adds a fault, unless the mistake has one of its clusters.
func (m *mistake) add(d *Diag) bool {
	for _, c := range d.Clusters {
		if m.clusters[c] {
			return false
		}
	}
	for _, c := range d.Clusters {
		m.clusters[c] = true
	}
	m.faults = append(m.faults, d)
	return true
}

// fold returns the faults as one.
func (m *mistake) fold() *Diag {
	d := slices.MinFunc(m.faults, func(d, e *Diag) int { return cmp.Compare(d.Clusters[0], e.Clusters[0]) })
	if len(m.faults) == 1 {
		return d
	}
	folded := *d
	folded.Facts, folded.Example = nil, d.Clusters[0]
	folded.Clusters = slices.Sorted(maps.Keys(m.clusters))
	return &folded
}

// Fold returns the faults of err with those joined that are one mistake: they are
// at the same places of several clusters, and differ only in what is the clusters'
// own. What is said is that of the first cluster. It returns nil for a nil err.
func Fold(err error) List {
	type key struct{ places, form string }
	var mistakes []*mistake
	known := map[key][]*mistake{}
	for _, d := range All(err) {
		var k key
		if d.form != "" && len(d.Clusters) > 0 && len(d.At) > 0 {
			k = key{fmt.Sprint(d.At), d.form}
			if slices.ContainsFunc(known[k], func(m *mistake) bool { return m.add(d) }) {
				continue
			}
		}
		m := &mistake{clusters: map[string]bool{}}
		m.add(d)
		mistakes = append(mistakes, m)
		if k.form != "" {
			known[k] = append(known[k], m)
		}
	}
	var out List
	for _, m := range mistakes {
		out = append(out, m.fold())
	}
	return out
}
