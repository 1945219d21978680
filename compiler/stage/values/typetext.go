package values

import (
	"iter"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

var (
	assignment = regexp.MustCompile(`(\$[A-Za-z_]\w*)\s*:=\s*\(?\$?\.Values\.([A-Za-z_][\w.]*)`)
	kindTest   = regexp.MustCompile(`\b(?:kindIs|typeIs|typeIsLike)\s+"string"\s+\(?(\$?\.Values\.[A-Za-z_][\w.]*|\$[A-Za-z_]\w*)`)
	kindEqual  = regexp.MustCompile(`\b(?:kindOf|typeOf)\s+(\$?\.Values\.[A-Za-z_][\w.]*|\$[A-Za-z_]\w*)\s*\)\s+"string"`)
)

// bare matches an action that prints a value without conversion.
var bare = regexp.MustCompile(`^\{\{-?\s*\$?\.Values\.([A-Za-z_][\w.]*)\s*(?:\|\s*(?:quote|squote|int|int64|toString)\s*)*-?\}\}`)

// printedBare returns the values that actions in the text print without
// conversion.
func printedBare(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			open := strings.Index(text, "{{")
			if open < 0 {
				return
			}
			text = text[open:]
			inner := strings.TrimPrefix(strings.TrimLeft(strings.TrimPrefix(text[2:], "-"), " \t\n\f\r"), "$")
			if strings.HasPrefix(inner, ".Values.") {
				if m := bare.FindStringSubmatch(text); m != nil && !yield(m[1]) {
					return
				}
			}
			text = text[1:]
		}
	}
}

// textual marks the values that templates test for being a string. They can be
// one, even if the default is not. It also marks the values that a template
// prints without conversion: an empty map as their default only means "not set".
func textual(t *Type, c *chart.Chart) {
	for _, f := range c.Templates {
		src := string(f.Data)
		for value := range printedBare(src) {
			if at, ok := t.At(strings.Split(value, ".")...); ok {
				at.asScalar = true
			}
		}
		if !strings.Contains(src, `"string"`) {
			continue
		}
		vars := map[string][]string{}
		for _, m := range assignment.FindAllStringSubmatch(src, -1) {
			vars[m[1]] = append(vars[m[1]], m[2])
		}
		for _, re := range []*regexp.Regexp{kindTest, kindEqual} {
			for _, m := range re.FindAllStringSubmatch(src, -1) {
				paths := vars[m[1]]
				if _, path, ok := strings.Cut(m[1], ".Values."); ok {
					paths = []string{path}
				}
				for _, p := range paths {
					if at, ok := t.At(strings.Split(p, ".")...); ok {
						at.asText = true
					}
				}
			}
		}
	}
}
