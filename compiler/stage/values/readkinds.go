package values

import (
	"regexp"
	"strings"
)

// kindDefault and kindTernary match lines with a kind that a template computes.
var (
	kindDefault = regexp.MustCompile(`^kind: *\{\{-? .* \| default "([A-Z]\w*)" -?\}\}\s*$`)
	kindTernary = regexp.MustCompile(`^kind: *\{\{-? ternary "([A-Z]\w*)" ("([A-Z]\w*)"|\$?\.?[\w.]+) .*\}\}\s*$`)
)

// computedKinds returns the kinds that the first line of the text can have: one
// that is the default of a value, or those of a ternary. It returns none when a
// template computes the kind in another way.
func computedKinds(text string) []apiKind {
	line, _, _ := strings.Cut(text, "\n")
	if m := kindDefault.FindStringSubmatch(line); m != nil {
		return []apiKind{{kind: m[1], replaceable: true}}
	}
	m := kindTernary.FindStringSubmatch(line)
	switch {
	case m == nil:
		return nil
	case m[3] == "":
		return []apiKind{{kind: m[1], replaceable: true}}
	}
	return []apiKind{{kind: m[1]}, {kind: m[3]}}
}
