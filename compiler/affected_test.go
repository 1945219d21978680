package compiler

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/diag"
)

// exampleParts are what the example fleet is made of, in the repository.
var exampleParts = []string{"cue.mod", "schema", "lib", "environments", "testdata/charts", "testdata/components"}

// everyEdit makes TestAffectedExample take all files and compile all clusters.
const everyEdit = "FLEETC_EVERY_EDIT"

// TestAffectedExample edits the files of the example fleet, one after the other,
// and compiles clusters that are not listed as affected: their bundles are what
// they were. It takes every file of the fleet's own and some of those of the
// charts, one of the clusters in turn, and for some files all of them, listed or
// not; with FLEETC_EVERY_EDIT=1 all files and all clusters. Where races are
// looked for, which takes several times as long, it takes every third file.
func TestAffectedExample(t *testing.T) {
	const some = 24
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	every := os.Getenv(everyEdit) != ""
	var edits []edit
	for i, file := range exampleFiles(t) {
		if racing && i%3 != 0 {
			continue
		}
		inCharts := strings.HasPrefix(file, "testdata/charts/")
		sampled := every || i%some == 0
		if inCharts && !sampled {
			continue
		}
		edits = append(edits, edit{file: file, change: meaningful, all: sampled})
		if path.Ext(file) == ".cue" && (every || i%6 == 0) {
			edits = append(edits, edit{file: file, change: comment, all: every})
		}
	}
	queue := make(chan edit)
	var mu sync.Mutex
	var tried, changed, listed, needless int
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4) {
		e := newEdited(t)
		wg.Go(func() {
			for next := range queue {
				got := e.try(t, next)
				mu.Lock()
				tried++
				listed += got.listed
				needless += got.needless
				if got.changed {
					changed++
				}
				mu.Unlock()
			}
		})
	}
	for _, e := range edits {
		queue <- e
	}
	close(queue)
	wg.Wait()
	t.Logf("%d edits, of which %d are known to change a bundle; of %d clusters that were listed and compiled, %d had the same bundle", tried, changed, listed, needless)
	if tried < 20 || changed < 1 {
		t.Errorf("%d edits, %d of which change something", tried, changed)
	}
}

// An edit is a change of one file.
type edit struct {
	file   string
	change func(file string, text []byte) []byte
	all    bool // whether the clusters that are affected are compiled, too
}

// exampleFiles returns the files of the example fleet, sorted.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, part := range exampleParts {
		err := filepath.WalkDir(filepath.Join("..", part), func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files = append(files, filepath.ToSlash(strings.TrimPrefix(name, ".."+string(filepath.Separator))))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	return files
}

// An edited is a copy of the example fleet.
type edited struct {
	compiler Compiler
	inputs   map[string]Inputs
	digests  map[string]string // of the bundles
	turn     int
}

// inTurn returns the IDs of the clusters, another one in front each time.
func (e *edited) inTurn() []string {
	ids := slices.Sorted(maps.Keys(e.inputs))
	e.turn++
	first := e.turn % len(ids)
	return slices.Concat(ids[first:], ids[:first])
}

func newEdited(t *testing.T) *edited {
	t.Helper()
	dir := t.TempDir()
	for _, part := range exampleParts {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("..", part))); err != nil {
			t.Fatal(err)
		}
	}
	e := &edited{compiler: Compiler{Dir: dir, Cache: t.TempDir(), Offline: true, Jobs: 1, Build: "test"}}
	var err error
	if e.inputs, err = e.compiler.Inputs(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.digests = e.compile(t, slices.Collect(maps.Keys(e.inputs)))
	return e
}

// compile returns the digests of the bundles of clusters; a fault stands for
// that of a bundle that cannot be made.
func (e *edited) compile(t *testing.T, ids []string) map[string]string {
	digests := map[string]string{}
	if len(ids) == 0 {
		return digests
	}
	f, err := e.compiler.Load(t.Context(), ids...)
	for _, d := range diag.All(err) {
		for _, id := range d.Clusters {
			digests[id] = d.Error()
		}
		if len(d.Clusters) == 0 {
			for _, id := range ids {
				digests[id] = d.Error()
			}
		}
	}
	if f == nil {
		return digests
	}
	for b, err := range f.Bundles(t.Context()) {
		if b != nil && digests[b.Cluster.ID] == "" {
			digests[b.Cluster.ID] = b.Digest
		}
		for _, d := range diag.All(err) {
			for _, id := range d.Clusters {
				digests[id] = d.Error()
			}
		}
	}
	return digests
}

// A tried edit is what became of it.
type triedEdit struct {
	changed          bool // whether the bundle of a cluster is known to have changed
	listed, needless int  // clusters that were compiled and affected, and those whose bundle is the same
}

func (e *edited) try(t *testing.T, made edit) (got triedEdit) {
	file := filepath.Join(e.compiler.Dir, filepath.FromSlash(made.file))
	before, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return got
	}
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Error(err)
		}
	}
	write(made.change(made.file, before))
	defer write(before)
	now, err := e.compiler.Inputs(t.Context())
	if err != nil {
		return got // reported, as vet does
	}
	found, err := differing(now, e.inputs, nil, nil)
	if err != nil {
		t.Error(err)
		return got
	}
	affected := map[string]bool{}
	for _, a := range found {
		affected[a.ID] = true
		if !slices.Equal(a.Files, []string{made.file}) {
			t.Errorf("%s: in %s differ %v", made.file, a.ID, a.Files)
		}
	}
	var ids []string
	for _, id := range e.inTurn() {
		if made.all || !affected[id] && len(ids) < 1 {
			ids = append(ids, id)
		}
	}
	for id, digest := range e.compile(t, ids) {
		same := digest == e.digests[id]
		switch {
		case affected[id]:
			got.listed++
			got.changed = got.changed || !same
			if same {
				got.needless++
			}
		case !same:
			t.Errorf("%s: the bundle of %s is %s, and it is not affected", made.file, id, digest)
		}
	}
	return got
}

// comment adds a comment, which changes nothing.
func comment(_ string, text []byte) []byte { return append(slices.Clone(text), "\n// edited\n"...) }

var (
	// number matches a number that is a value.
	number = regexp.MustCompile(`(?m)((?::|=|default|version:) *\*?"?)([0-9]+)`)
	// text matches a quoted word.
	word = regexp.MustCompile(`("|')([a-z]+)("|')`)
)

// meaningful changes the first number that is a value; else adds what means
// something in such a file.
func meaningful(file string, text []byte) []byte {
	inTemplates := strings.Contains(file, "/templates/") && path.Ext(file) == ".yaml"
	if inTemplates {
		return append(slices.Clone(text), "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: edited\n"...)
	}
	for _, find := range []*regexp.Regexp{number, word} {
		at := find.FindSubmatchIndex(text)
		if at == nil || path.Base(file) == "module.cue" {
			continue
		}
		was := string(text[at[4]:at[5]])
		is := was + "x"
		if n, err := strconv.Atoi(was); err == nil {
			is = strconv.Itoa(n + 1)
		}
		return slices.Concat(text[:at[4]], []byte(is), text[at[5]:])
	}
	return append(slices.Clone(text), "\n# edited\n"...)
}

// TestDiffering has everything that can become of a cluster.
func TestDiffering(t *testing.T) {
	now := map[string]Inputs{"same": {"f": "1"}, "content": {"f": "1"}, "more": {"f": "1", "g": "2"}, "fewer": {}, "new": {"f": "1"}, "broken": {"f": "1"}}
	old := map[string]Inputs{"same": {"f": "1"}, "content": {"f": "2"}, "more": {"f": "1"}, "fewer": {"h": "1"}, "gone": {"f": "1"}}
	one := diag.List{{Msg: "a fault", Clusters: []string{"broken", "long-gone"}}}
	for name, test := range map[string]struct {
		untold   diag.List
		patterns []string
		want     string
	}{
		"all": {one, nil, "broken unknown [], content changed [f], fewer changed [h], gone removed [f], long-gone removed [], more changed [g], new added [f]"},
		"whole fleet": {
			diag.List{{Msg: "a fault"}},
			nil,
			"broken unknown [], content unknown [], fewer unknown [], gone removed [f], more unknown [], new unknown [], same unknown []",
		},
		"selected":      {one, []string{"gone", "same", "f*"}, "fewer changed [h], gone removed [f]"},
		"none affected": {one, []string{"same"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := differing(now, old, test.untold, test.patterns)
			if err != nil {
				t.Fatal(err)
			}
			var text []string
			for _, a := range got {
				text = append(text, fmt.Sprint(a.ID, " ", a.Change, " ", a.Files))
			}
			if s := strings.Join(text, ", "); s != test.want {
				t.Errorf("got %s\nwant %s", s, test.want)
			}
		})
	}
	if _, err := differing(now, old, nil, []string{"nwe"}); err == nil || diag.All(err)[0].Hint != "did you mean new?" {
		t.Errorf("a pattern that selects nothing gives %v", err)
	}
}
