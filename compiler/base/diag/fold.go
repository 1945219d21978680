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

// A Mask replaces values of a cluster, such as its name and facts, so that
// faults of several clusters can be compared. The zero value is ready for use.
type Mask struct {
	texts map[string][]ownText // by first word, the longest first
}

// An ownText is a text of a cluster and its replacement.
type ownText struct{ text, as string }

// minOwnText is the minimum length of a replaced text: shorter texts often
// occur in messages by chance.
const minOwnText = 2

// Add adds a replacement. The first one of a text is used.
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

// apply replaces the texts in s where they are whole words.
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

// wordEnd returns the length of the leading letters and digits.
func wordEnd(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
	}
	return len(s)
}

// literals matches values in a message: quoted texts and numbers, and list
// indices, which are kept.
var literals = regexp.MustCompile(`\[[0-9]+\]|"(?:[^"\\]|\\.)*"|'[^']*'|\b[0-9]+(?:\.[0-9]+)*\b`)

// Masked returns the fault with its form, which is its text after the mask.
// exact means that the first position is that of a value, and that all values
// in the message follow from it.
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

// A mistake is a set of faults of different clusters with the same cause.
type mistake struct {
	faults   List
	clusters map[string]bool
}

// add adds a fault unless the mistake contains a fault of the same cluster.
func (m *mistake) add(d *Diag) bool {
	if slices.ContainsFunc(d.Clusters, func(c string) bool { return m.clusters[c] }) {
		return false
	}
	for _, c := range d.Clusters {
		m.clusters[c] = true
	}
	m.faults = append(m.faults, d)
	return true
}

// fold joins the faults.
func (m *mistake) fold() *Diag {
	d := slices.MinFunc(m.faults, func(d, e *Diag) int { return cmp.Compare(d.Clusters[0], e.Clusters[0]) })
	if len(m.faults) == 1 {
		return d
	}
	folded := *d
	for _, of := range m.faults {
		if !slices.Equal(of.Fixes, d.Fixes) {
			folded.Fixes = nil // they differ between clusters
		}
	}
	folded.Facts, folded.Example = nil, d.Clusters[0]
	folded.Clusters = slices.Sorted(maps.Keys(m.clusters))
	return &folded
}

// Fold joins faults of several clusters that are one mistake: their positions
// are equal, and their texts differ only in values of the clusters. The result
// has the text of the first cluster. It returns nil for a nil err.
func Fold(err error) List {
	type key struct{ places, form string }
	var mistakes []*mistake
	byForm := map[key][]*mistake{}
	for _, d := range All(err) {
		var k key
		if d.form != "" && len(d.Clusters) > 0 && len(d.At) > 0 {
			k = key{fmt.Sprint(d.At), d.form}
			if slices.ContainsFunc(byForm[k], func(m *mistake) bool { return m.add(d) }) {
				continue
			}
		}
		m := &mistake{clusters: map[string]bool{}}
		m.add(d)
		mistakes = append(mistakes, m)
		if k.form != "" {
			byForm[k] = append(byForm[k], m)
		}
	}
	return foldRivals(Each(mistakes, (*mistake).fold))
}

// maxRivals limits the positions of values that differ from a shared one.
const maxRivals = 5

// foldRivals joins faults of several clusters whose own values of a field differ from one
// value of a shared layer, which is the likely mistake. The result has the shared position
// first.
func foldRivals(all List) List {
	type key struct{ path, shared, hint string }
	groups := map[key]List{}
	keyOf := func(d *Diag) (key, bool) {
		if !d.Rivals || len(d.At) != 2 || len(d.Clusters) == 0 {
			return key{}, false
		}
		return key{d.Path, d.At[1].String(), d.Hint}, true
	}
	for _, d := range all {
		if k, ok := keyOf(d); ok {
			groups[k] = append(groups[k], d)
		}
	}
	var out List
	for _, d := range all {
		k, ok := keyOf(d)
		group := groups[k]
		switch {
		case !ok || len(group) < 2:
			out = append(out, d)
		case group[0] == d:
			folded := *d
			folded.At, folded.Clusters, folded.Example = []Pos{d.At[1]}, nil, d.Clusters[0]
			for i, of := range group {
				if i < maxRivals {
					folded.At = append(folded.At, of.At[0])
				}
				folded.Clusters = append(folded.Clusters, of.Clusters...)
			}
			folded.Clusters = Distinct(folded.Clusters)
			out = append(out, &folded)
		}
	}
	return out
}
