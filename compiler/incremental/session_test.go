package incremental

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// sessionLayers are added to a generated fleet: embedded files, an imported package, an
// imported layer, and a file that CUE ignores.
var sessionLayers = map[string]string{
	"environments/prod/embeds.cue":   "@extern(embed)\npackage fleet\n\nreleases: fluentd: defaults: prod: _ @embed(file=fluentd.yaml)\n",
	"environments/prod/fluentd.yaml": "output:\n  host: logs\n",
	"environments/dev/lib.cue": "package fleet\n\nimport (\n\t\"example.com/bench/lib/p\"\n\tstaging \"example.com/bench/environments/staging:fleet\"\n)\n\n" +
		"releases: elasticsearch: defaults: dev: replicas: p.data.replicas\n_staging: staging.environment\n",
	"environments/dev/ignored.cue": "@if(never)\n\npackage fleet\n\nenvironment: \"ignored\"\n",
	"lib/p/p.cue":                  "@extern(embed)\npackage p\n\ndata: _ @embed(file=p.json)\n",
	"lib/p/p.json":                 "{\"replicas\": 3}\n",
}

// faultTexts returns the faults as texts, sorted.
func faultTexts(err error) []string {
	out := []string{}
	var all diag.List
	all.Add(err)
	for _, d := range diag.Fold(all.Err()) {
		out = append(out, fmt.Sprintf("%+v", diag.FaultsOf(d)))
	}
	slices.Sort(out)
	return out
}

// A session reports the same faults as a new session after each of many random changes of
// unsaved texts and of files on disk. FLEETC_SESSION_EDITS is the number of changes.
func TestSessionRandomChanges(t *testing.T) {
	n := 60
	if fleets.Racing {
		n = 15
	}
	if text := os.Getenv("FLEETC_SESSION_EDITS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := fleets.Generate(t, 6)
	fleets.Write(t, dir, sessionLayers)
	files := []string{"charts/elasticsearch/values.yaml", "environments/prod/c002/new.cue"}
	for name := range sessionLayers {
		files = append(files, name)
	}
	for _, pattern := range []string{"environments/*.cue", "environments/*/*.cue", "environments/*/*/*.cue"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			files = append(files, filepath.ToSlash(strings.TrimPrefix(file, dir+string(filepath.Separator))))
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	original := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		original[name] = string(data)
	}
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Offline: true}
	s := NewSession(c)
	if _, err := s.Check(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	edits := load.Edits{}
	compare := func(what string) {
		t.Helper()
		_, got := s.Check(t.Context(), edits)
		_, want := NewSession(c).Check(t.Context(), edits)
		if got, want := faultTexts(got), faultTexts(want); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\ngot  %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	for _, e := range [][2]string{
		{"environments/dev/ignored.cue", "package fleet\n\nenvironment: \"ignored\"\n"},
		{"environments/dev/ignored.cue", original["environments/dev/ignored.cue"]},
		{"environments/staging/env.cue", "package fleet\n\nx: 1" + strings.Repeat(" + 1", 10_001)}, // which has no syntax tree
		{"environments/staging/env.cue", original["environments/staging/env.cue"]},
	} {
		edits[e[0]] = []byte(e[1])
		compare(e[0])
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		name := files[random.IntN(len(files))]
		text := original[name]
		if random.IntN(4) > 0 {
			text = randomChange(random, text)
		}
		onDisk := random.IntN(3) == 0 || strings.HasPrefix(name, "charts/")
		edits = maps.Clone(edits)
		if delete(edits, name); !onDisk {
			edits[name] = []byte(text)
		} else {
			if name == "environments/prod/c002/new.cue" && text == "" {
				text = "package fleet\n"
			}
			fleets.Write(t, dir, map[string]string{name: text})
			s.Changed()
		}
		if random.IntN(5) == 0 { // a check that the next change cancels
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = s.Check(ctx, edits)
		}
		if random.IntN(5) == 0 { // a change that is tried
			tried, other := maps.Clone(edits), files[random.IntN(len(files))]
			tried[other] = []byte(randomChange(random, original[other]))
			_, _ = s.Try(t.Context(), tried)
		}
		compare(fmt.Sprintf("change %d of %s (on disk: %t):\n%s", i, name, onDisk, text))
	}
}

// randomChange removes a line, or replaces a few characters of it.
func randomChange(random *rand.Rand, text string) string {
	pieces := []string{"", "x", "\"", "{", "}", ": ", "1", "\n", "é", "environment: \"test\"\n", "cluster: x: 1\n", "releases: fluentd: defaults: prod: output: port: 1\n", "package fleet\n"}
	lines := strings.Split(text, "\n")
	line := random.IntN(len(lines))
	if random.IntN(4) == 0 {
		return strings.Join(slices.Delete(lines, line, line+1), "\n")
	}
	of := []rune(lines[line])
	from := random.IntN(len(of) + 1)
	lines[line] = string(of[:from]) + pieces[random.IntN(len(pieces))] + string(of[min(len(of), from+random.IntN(3)):])
	return strings.Join(lines, "\n")
}

// After a change on disk, a session evaluates only the clusters that depend on the file.
func TestSessionReuses(t *testing.T) {
	dir := fleets.Generate(t, 6)
	s := NewSession(&compiler.Compiler{Dir: dir, Cache: t.TempDir(), Offline: true})
	var last map[string]*fleet.Cluster
	check := func(what string, edits load.Edits, want ...string) {
		t.Helper()
		f, err := s.Check(t.Context(), edits)
		if err != nil {
			t.Fatal(err)
		}
		var evaluated []string
		next := map[string]*fleet.Cluster{}
		for _, cluster := range f.Clusters {
			if next[cluster.ID] = cluster; last[cluster.ID] != cluster {
				evaluated = append(evaluated, cluster.ID)
			}
		}
		if last = next; !slices.Equal(evaluated, want) {
			t.Errorf("%s: %v were evaluated, want %v", what, evaluated, want)
		}
	}
	name := "environments/prod/c002/cluster.cue"
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	edited := string(text) + "// edited\n"
	check("first", nil, "dev/c000", "dev/c003", "prod/c002", "prod/c005", "staging/c001", "staging/c004")
	check("again", nil)
	check("edited", load.Edits{name: []byte(edited)}, "prod/c002")
	fleets.Write(t, dir, map[string]string{name: edited})
	s.Changed()
	check("saved", nil)
	fleets.Write(t, dir, map[string]string{name: string(text), "charts/fluentd/notes.txt": "a note\n"})
	s.Changed()
	check("changed on disk", nil, "prod/c002")
	invalid := load.Edits{name: []byte(string(text) + "releases: fluentd: x: 1\n")}
	if _, err := s.Try(t.Context(), invalid); err == nil {
		t.Error("a fault is accepted")
	}
	check("a change with a fault is tried", nil)
	valid := load.Edits{name: []byte(string(text) + "// tried\n")}
	f, err := s.Try(t.Context(), valid)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range f.Clusters {
		last[cluster.ID] = cluster
	}
	check("a valid change is tried, and made", valid)
	check("and is reverted", nil, "prod/c002")
	check("an environment", load.Edits{"environments/dev/env.cue": []byte("package fleet\n\nenvironment: \"dev\"\n")}, "dev/c000", "dev/c003")
}
