package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A MatchText is one text of a [Selector] that a layer of the fleet writes.
// Texts of imported packages are excluded, because they may match nothing.
type MatchText struct {
	Path  string // of its list or label, in CUE syntax
	Field string // field of the selector: kinds, names, namespaces, releases or labels
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
