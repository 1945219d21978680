package load

import (
	"strings"
	"testing"

	"cuelang.org/go/cue/parser"
)

func TestLoadChain(t *testing.T) {
	dir := write(t, `
-- environments/fleet.cue --
package fleet
cluster?: name: string
-- environments/prod/us/west/cluster.cue --
package fleet
cluster: name: "west"
-- environments/prod/us/env.cue --
package fleet
x: 1
-- environments/prod/eu/cluster.cue --
package fleet
cluster: {
`)
	c, err := LoadChain(dir, "prod/us", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, l := range c.Layers {
		names = append(names, l.Name)
		if c.Prefixes[i] == nil || len(c.Prefixes[i].Files) != i+1 {
			t.Errorf("%s: the instance %v", l.Name, c.Prefixes[i])
		}
	}
	if got := strings.Join(names, " "); got != "root us west" || c.ID != "prod/us/west" || c.Prefixes[2] != c.Instance {
		t.Errorf("cluster %s with the layers %s", c.ID, got)
	}
	for pattern, want := range map[string]string{
		"prod":     "prod selects 2 clusters, and only one can be explained at a time",
		"prod/eu":  "environments/prod/eu/cluster.cue:",
		"prod/asi": "no cluster matches prod/asi",
	} {
		if _, err := LoadChain(dir, pattern, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestLoadChainWithoutRoot loads a fleet whose topmost layer has no files.
func TestLoadChainWithoutRoot(t *testing.T) {
	dir := write(t, `
-- environments/prod/env.cue --
package fleet
x: 1
-- environments/prod/eu/cluster.cue --
package fleet
cluster: name: "eu"
`)
	c, err := LoadChain(dir, "prod/eu", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Prefixes) != 3 || c.Prefixes[0] != nil || c.Prefixes[1] == nil || c.Prefixes[2] == nil {
		t.Errorf("the instances %v", c.Prefixes)
	}
}

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

func TestNesting(t *testing.T) {
	const many = maxNesting + 1
	for name, text := range map[string]string{
		"labels":   strings.Repeat("a: ", many) + "1",
		"patterns": strings.Repeat("[string]: ", many) + "1",
		"aliases":  strings.Repeat("X=a: ", many) + "1",
		"lines":    strings.Repeat("a:\n", many) + "1",
		"structs":  strings.Repeat("a: {b: ", many/2) + "1" + strings.Repeat("}", many/2),
		"tries":    "x: {" + strings.Repeat("try {", many) + strings.Repeat("}", many) + "}",
		"texts":    "x: " + strings.Repeat(`"\(`, many) + "1" + strings.Repeat(`)"`, many),
	} {
		_, err := ParseFile("x.cue", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "nested in more than 1000 fields and brackets") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"labels":   strings.Repeat("a: ", maxNesting) + "1",
		"siblings": "x: {" + strings.Repeat("a: b: {c: d: [1]}, e: 1\n", many) + "}",
		"loops":    "x: {" + strings.Repeat("for k, v in y {a: b: v}\n", many) + "}",
		"texts":    "x: [" + strings.Repeat(`"\({a: b: 1}.a.b)",`, many) + "]",
	} {
		if _, err := ParseFile("x.cue", []byte(text)); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
