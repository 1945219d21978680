package load

import (
	"strings"
	"testing"

	"cuelang.org/go/cue/parser"
)

func TestChains(t *testing.T) {
	const many = maxChain + 1
	for name, text := range map[string]string{
		"operators": "x: 1" + strings.Repeat("+1", many),
		"choices":   "x: 1" + strings.Repeat("|1", many),
		"selectors": "x: a" + strings.Repeat(".a", many),
		"indexes":   "x: a" + strings.Repeat("[0]", many),
		"calls":     "x: len" + strings.Repeat("(1)", many),
		"in a text": `x: "\(1` + strings.Repeat("+1", many) + `)"`,
	} {
		_, err := parseFile("x.cue", []byte(text), parser.NewConfig())
		if err == nil || !strings.Contains(err.Error(), "more than 10000 operators in a row") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"list":   "x: [" + strings.Repeat("1+1,", many) + "]",
		"lines":  strings.Repeat("x: a.b\n", many),
		"texts":  `x: [` + strings.Repeat(`"\(1+1)-\(2)",`, many) + "]",
		"nested": "x: {" + strings.Repeat("a: {b: 1}\n", many) + "}",
	} {
		if _, err := parseFile("x.cue", []byte(text), parser.NewConfig()); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
