package edit_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/edit"
)

// Fleets with random layers and values: bundles stay the same, the files do not become longer,
// no comment is lost, formatted files stay formatted, and a second run finds nothing.
func TestLiftRandomFleets(t *testing.T) {
	moved, kept, tried := 0, 0, 0
	for seed := uint64(0); tried < 30; seed++ {
		g := generator{rand: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), formatted: seed%3 > 0}
		g.fleet(t)
		before := readFiles(t, g.dir)
		bundles, err := compile(t, g.dir)
		if err != nil {
			continue // a default without effect
		}
		tried++
		c := &compiler.Compiler{Dir: g.dir, NoCache: true, Cache: t.TempDir()}
		r, err := edit.Lift(context.Background(), c, edit.LiftRequest{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		moved, kept = moved+len(r.Moves), kept+len(r.Kept)
		if after, err := compile(t, g.dir); err != nil || !maps.Equal(bundles, after) {
			t.Errorf("seed %d: bundles changed: %v", seed, err)
		}
		after := readFiles(t, g.dir)
		if a, b := lines(before), lines(after); b > a || b-a != r.Lines {
			t.Errorf("seed %d: %d lines before, %d after, and %d in the result", seed, a, b, r.Lines)
		}
		text := strings.Join(slices.Collect(maps.Values(after)), "\n")
		for _, comment := range comments.FindAllString(strings.Join(slices.Collect(maps.Values(before)), "\n"), -1) {
			if !strings.Contains(text, comment) {
				t.Errorf("seed %d: lost %s", seed, comment)
			}
		}
		checkFormat(t, g, after)
		again, err := edit.Lift(context.Background(), c, edit.LiftRequest{})
		if err != nil || len(again.Moves) > 0 {
			t.Errorf("seed %d: the second run moves %+v: %v", seed, again, err)
		}
		if t.Failed() {
			show(t, before, after)
			return
		}
	}
	if moved < 100 || kept < 5 {
		t.Errorf("%d values were moved, and %d kept: the fleets show little", moved, kept)
	}
}

func checkFormat(t *testing.T, g generator, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if formatted, err := edit.FormatSource(g.dir, name, []byte(text)); err != nil || g.formatted && string(formatted) != text {
			t.Errorf("%s is not formatted: %v", name, err)
		}
	}
}

func show(t *testing.T, before, after map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name] != after[name] {
			t.Logf("%s\n%s\nbecame\n%s", name, before[name], after[name])
		}
	}
}

var comments = regexp.MustCompile(`// c[0-9]+\.`)

// A generator writes a fleet.
type generator struct {
	rand      *rand.Rand
	dir       string
	formatted bool
	comments  int // how many were written
}

// fleet writes a fleet: two releases whose values are in their objects, and layers whose
// values are often equal.
func (g *generator) fleet(t *testing.T) {
	t.Helper()
	g.write(t, "cue.mod/module.cue", "module: \"example.com/random\"\nlanguage: version: \"v0.17.0\"\n")
	root := "package fleet\n\nimport \"encoding/json\"\n\n#shared: 1\n"
	for _, name := range []string{"web", "db-main"} {
		root += fmt.Sprintf(`
releases: %q: {
	namespace: "apps"
	objects: cm: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: name: %[1]q
		data: {for key, value in releases[%[1]q].values {(key): json.Marshal(value)}}
	}
}
`, name)
	}
	g.write(t, "environments/fleet.cue", root+g.settings("root"))
	layers := []string{"dev/a", "dev/b", "prod/eu/e1", "prod/eu/e2", "prod/us/u1", "single/s1"}
	for _, id := range layers[:2+g.rand.IntN(len(layers)-1)] {
		for dir := filepath.Dir(id); dir != "."; dir = filepath.Dir(dir) {
			if file := "environments/" + dir + "/env.cue"; !exists(g.dir, file) {
				g.write(t, file, "package fleet\n\n"+g.settings(filepath.Base(dir)))
			}
		}
		name := filepath.Base(id)
		cluster := fmt.Sprintf("package fleet\n\ncluster: {name: %q, kubernetes: \"1.36\"}\n", name)
		if g.rand.IntN(2) == 0 {
			g.write(t, "environments/"+id+"/web.cue", "package fleet\n\n"+g.settings(name))
		} else {
			cluster += g.settings(name)
		}
		g.write(t, "environments/"+id+"/cluster.cue", cluster)
	}
}

// settings returns declarations of values for a layer.
func (g *generator) settings(layer string) string {
	var b strings.Builder
	for _, release := range []string{`"web"`, `"db-main"`} {
		keys := g.rand.Perm(5)
		if layer == "root" || len(layer) > 1 && !strings.Contains(layer, "1") && !strings.Contains(layer, "2") {
			keys = keys[:g.rand.IntN(2)] // layers above set little, which must have an effect
			if g.rand.IntN(2) > 0 {
				continue
			}
		}
		prefix := fmt.Sprintf("releases: %s: defaults: %q: ", release, layer)
		switch g.rand.IntN(4) {
		case 0:
			for _, key := range keys {
				b.WriteString(g.comment("") + prefix + g.setting(key, "") + "\n")
			}
		case 1:
			var parts []string
			for _, key := range keys {
				if text := g.setting(key, ""); !strings.ContainsAny(text, "\n/") {
					parts = append(parts, text)
				}
			}
			b.WriteString(prefix + "{" + strings.Join(parts, ", ") + "}\n")
		default:
			b.WriteString(g.comment("") + prefix + "{\n")
			for _, key := range keys {
				b.WriteString(g.comment("\t") + "\t" + g.setting(key, "\t") + "\n")
			}
			b.WriteString("}\n")
		}
		if g.rand.IntN(4) == 0 {
			fmt.Fprintf(&b, "if cluster.name != _|_ {releases: %s: defaults: %q: extra: 1}\n", release, layer)
		}
	}
	return b.String()
}

// comment returns a comment, often none.
func (g *generator) comment(indent string) string {
	if g.rand.IntN(5) > 0 {
		return ""
	}
	g.comments++
	return fmt.Sprintf("%s// c%d.\n", indent, g.comments-1)
}

// setting returns a field with a value that other layers often have, too.
func (g *generator) setting(key int, indent string) string {
	pick := func(texts ...string) string {
		if n := g.rand.IntN(6); n < len(texts) {
			return texts[n]
		}
		return texts[0]
	}
	switch key {
	case 0:
		return "replicas: " + pick("2", "3", "#shared")
	case 1:
		return `"a.b": ` + pick(`"x"`, `"y"`, `"x" & string`)
	case 2:
		return "list: " + pick("[1, 2]", "[1, 2, 3]", "[for x in [1, 2] {x}]")
	case 3:
		return "map: " + pick("{a: 1, b: c: true}", "{a: 1}", "{\n"+indent+"\ta: 1\n"+g.comment(indent+"\t")+indent+"\tb: c: false\n"+indent+"}")
	}
	return "text: " + pick(`"one"`, "\"\"\"\n"+indent+"\tone\n\n"+indent+"\ttwo\n"+indent+"\t\"\"\"", "null")
}

// write writes a file, formatted or with additional blanks.
func (g *generator) write(t *testing.T, name, text string) {
	t.Helper()
	if strings.HasPrefix(name, "environments") {
		if formatted, err := edit.FormatSource(g.dir, name, []byte(text)); err != nil {
			t.Fatalf("%v\n%s", err, text)
		} else if g.formatted {
			text = string(formatted)
		}
	}
	file := filepath.Join(g.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil
}

// compile returns the texts of all bundles by cluster.
func compile(t *testing.T, dir string) (map[string]string, error) {
	t.Helper()
	c := &compiler.Compiler{Dir: dir, NoCache: true, Cache: t.TempDir()}
	f, err := c.Load(context.Background())
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for b, err := range f.Bundles(context.Background()) {
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		for i := range b.YAML {
			fmt.Fprintf(&text, "%s\n", b.YAML[i])
		}
		out[b.Cluster.ID] = b.Digest + text.String()
	}
	return out, nil
}

// readFiles returns the texts of the layers by name.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(dir, "environments"), func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		out[strings.TrimPrefix(file, dir+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines returns the number of lines that are not blank.
func lines(files map[string]string) int {
	n := 0
	for _, text := range files {
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				n++
			}
		}
	}
	return n
}
