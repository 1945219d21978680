package diag

import (
	"io/fs"
	"regexp"
	"strconv"
	"testing"

	"github.com/fleetc/fleetc"
)

// TestForms checks that forms describes exactly the patterns of the schema.
func TestForms(t *testing.T) {
	patterns := map[string]bool{}
	names, err := fs.Glob(fleetc.Schema, "*.cue")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(fleetc.Schema, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`=~("(?:[^"\\]|\\.)*")`).FindAllSubmatch(data, -1) {
			pattern, err := strconv.Unquote(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			patterns[pattern] = true
			f, ok := forms[pattern]
			if !ok {
				t.Errorf("%s: the pattern %s has no words", name, m[1])
			}
			for _, example := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(f.example, -1) {
				if !regexp.MustCompile(pattern).MatchString(example[1]) {
					t.Errorf("the example %s does not match %s", example[0], pattern)
				}
			}
		}
	}
	for pattern := range forms {
		if !patterns[pattern] {
			t.Errorf("the schema has no pattern %s", pattern)
		}
	}
}
