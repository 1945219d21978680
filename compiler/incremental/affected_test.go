package incremental

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

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// everyEdit is the variable that makes TestAffectedExample edit all files and compile all
// clusters.
const everyEdit = "FLEETC_EVERY_EDIT"

// TestAffectedExample edits one file of the example fleet at a time and compiles clusters
// that are not reported as affected: their bundles must be unchanged. It edits all files of
// the fleet and some of the charts. For most files it compiles one cluster, in turn, and for
// some all clusters. FLEETC_EVERY_EDIT=1 selects all files and all clusters. With the race
// detector, which is slow, it edits every sixth file.
func TestAffectedExample(t *testing.T) {
	const some = 24
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	every := os.Getenv(everyEdit) != ""
	var edits []edit
	for i, file := range exampleFiles(t) {
		if fleets.Racing && i%6 != 0 {
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
	first := newExampleCopy(t)
	for i := range min(runtime.GOMAXPROCS(0), 4) {
		e := first.copied(t, i)
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
	t.Logf("%d edits, %d changed a bundle; %d affected clusters were compiled, %d had the same bundle", tried, changed, listed, needless)
	if tried < 10 || changed < 1 {
		t.Errorf("%d edits, %d changed a bundle", tried, changed)
	}
}

// edit is a change of one file.
type edit struct {
	file   string
	change func(file string, text []byte) []byte
	all    bool // whether affected clusters are compiled, too
}

// exampleFiles returns the files of the example fleet, sorted.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, part := range fleets.ExampleParts {
		err := filepath.WalkDir(filepath.Join("../..", part), func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files = append(files, filepath.ToSlash(strings.TrimPrefix(name, filepath.Join("..", "..")+string(filepath.Separator))))
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

// exampleCopy is a copy of the example fleet for edits, with the inputs and bundles of the
// unedited fleet.
type exampleCopy struct {
	compiler compiler.Compiler
	before   compiler.Compiler // of a copy without edits
	inputs   map[string]Inputs
	digests  map[string]string // of the bundles
	turn     int
}

// inTurn returns the cluster IDs, rotated by one more in each call.
func (e *exampleCopy) inTurn() []string {
	ids := slices.Sorted(maps.Keys(e.inputs))
	e.turn++
	first := e.turn % len(ids)
	return slices.Concat(ids[first:], ids[:first])
}

func newExampleCopy(t *testing.T) *exampleCopy {
	t.Helper()
	e := &exampleCopy{compiler: compiler.Compiler{Dir: fleets.Example(t), Cache: t.TempDir(), Offline: true, Jobs: 1, Build: "test"}}
	e.before = e.compiler
	e.before.Dir = fleets.Example(t)
	var err error
	if e.inputs, err = ReadInputs(t.Context(), &e.compiler); err != nil {
		t.Fatal(err)
	}
	e.digests = e.compile(t, slices.Collect(maps.Keys(e.inputs)))
	return e
}

// copied returns another copy of the fleet, for edits in parallel.
func (e *exampleCopy) copied(t *testing.T, turn int) *exampleCopy {
	t.Helper()
	other := *e
	other.compiler.Dir, other.turn = fleets.Example(t), turn
	return &other
}

// compile returns the digest of each cluster's bundle, or its fault if it has one.
func (e *exampleCopy) compile(t *testing.T, ids []string) map[string]string {
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

// editResult is the effect of an edit.
type editResult struct {
	changed          bool // whether a bundle changed
	listed, needless int  // affected clusters that were compiled, and those of them with the same bundle
}

func (e *exampleCopy) try(t *testing.T, made edit) (got editResult) {
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
	report, err := Affected(t.Context(), &e.compiler, &e.before)
	if report.OldFaults != nil {
		t.Error(report.OldFaults)
	}
	if err != nil {
		return got // reported, as vet does
	}
	affected := map[string]bool{}
	for _, a := range report.Affected {
		affected[a.ID] = true
		if !slices.Equal(a.Files, []string{made.file}) {
			t.Errorf("%s: changed files of %s are %v", made.file, a.ID, a.Files)
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
			t.Errorf("%s: the bundle of %s changed to %s, but the cluster is not affected", made.file, id, digest)
		}
	}
	return got
}

// comment adds a comment, which changes nothing.
func comment(_ string, text []byte) []byte {
	return append(slices.Clone(text), "\n// exampleCopy\n"...)
}

var (
	// number matches a number that is a value.
	number = regexp.MustCompile(`(?m)((?::|=|default|version:) *\*?"?)([0-9]+)`)
	// word matches a quoted word.
	word = regexp.MustCompile(`("|')([a-z]+)("|')`)
)

// meaningful changes the first number that is a value, or adds text that has an effect in a
// file of this type.
func meaningful(file string, text []byte) []byte {
	inTemplates := strings.Contains(file, "/templates/") && path.Ext(file) == ".yaml"
	if inTemplates {
		return append(slices.Clone(text), "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: exampleCopy\n"...)
	}
	for _, find := range []*regexp.Regexp{number, word} {
		at := find.FindSubmatchIndex(text)
		if at == nil || path.Base(file) == "module.cue" {
			continue
		}
		before := string(text[at[4]:at[5]])
		after := before + "x"
		if n, err := strconv.Atoi(before); err == nil {
			after = strconv.Itoa(n + 1)
		}
		return slices.Concat(text[:at[4]], []byte(after), text[at[5]:])
	}
	return append(slices.Clone(text), "\n# exampleCopy\n"...)
}

// TestAffectedClusters has all changes of a cluster.
func TestAffectedClusters(t *testing.T) {
	now := map[string]Inputs{"same": {"f": "1"}, "content": {"f": "1"}, "more": {"f": "1", "g": "2"}, "fewer": {}, "new": {"f": "1", "n": "1"}, "broken": {"f": "1"}}
	old := map[string]Inputs{"same": {"f": "1"}, "content": {"f": "2"}, "more": {"f": "1"}, "fewer": {"h": "1"}, "gone": {"f": "1", "o": "1"}}
	all := []string{"broken", "content", "fewer", "gone", "long-gone", "more", "new", "same"}
	one := diag.List{{Msg: "a fault", Clusters: []string{"broken", "long-gone"}}}
	for name, test := range map[string]struct {
		selected  []string
		oldFaults diag.List
		want      string
	}{
		"all": {all, one, "broken unknown [], content changed [f], fewer changed [h], gone removed [o], long-gone removed [], more changed [g], new added [n]"},
		"whole fleet": {
			all,
			diag.List{{Msg: "a fault"}},
			"broken unknown [], content unknown [], fewer unknown [], gone removed [o], long-gone removed [], more unknown [], new unknown [], same unknown []",
		},
		"selected":      {[]string{"fewer", "gone", "same"}, one, "fewer changed [h], gone removed [o]"},
		"none affected": {[]string{"same"}, one, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := affectedText(affectedClusters(test.selected, now, old, test.oldFaults)); s != test.want {
				t.Errorf("got %s\nwant %s", s, test.want)
			}
		})
	}
}

func affectedText(clusters []AffectedCluster) string {
	var text []string
	for _, a := range clusters {
		text = append(text, fmt.Sprint(a.ID, " ", a.Change, " ", a.Files))
	}
	return strings.Join(text, ", ")
}

// TestAffected changes inputs of each kind.
func TestAffected(t *testing.T) {
	one, two := fleets.Small["environments/one/cluster.cue"], fleets.Small["environments/two/cluster.cue"]
	const gone = ""
	for name, test := range map[string]struct {
		before, edit map[string]string
		patterns     []string
		want         string // clusters, or ! and the fault
		oldFault     string // file of the fault in the old state
	}{
		"nothing":        {},
		"an unused file": {edit: map[string]string{"notes.txt": "still unused\n"}},
		"the root layer": {
			edit: map[string]string{"environments/fleet.cue": fleets.Small["environments/fleet.cue"] + "// x\n"},
			want: "one changed [environments/fleet.cue], three changed [environments/fleet.cue], two changed [environments/fleet.cue]",
		},
		"a layer that another cluster has as text": {
			edit: map[string]string{"environments/two/cluster.cue": two + "// x\n"},
			want: "one changed [environments/two/cluster.cue], two changed [environments/two/cluster.cue]",
		},
		"a layer behind a link": {
			edit: map[string]string{"shared/more.cue": "package fleet\n\nenvironment: \"x\"\n"},
			want: "three changed [environments/three/more.cue]",
		},
		"a manifest": {edit: map[string]string{"plain/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"}, want: "two changed [plain/a.yaml]"},
		"a new manifest, and a layer": {
			edit: map[string]string{"plain/b.yaml": fleets.Small["plain/a.yaml"], "environments/two/cluster.cue": two + "// x\n"},
			want: "one changed [environments/two/cluster.cue], two changed [environments/two/cluster.cue]",
		},
		"a fault in a changed layer is not found": {
			edit: map[string]string{"environments/one/cluster.cue": strings.Replace(one, "text.jsonnet", "../../x.jsonnet", 1)},
			want: "one changed [environments/one/cluster.cue]",
		},
		"nor a fault in the old layer": {
			before: map[string]string{"environments/one/cluster.cue": strings.Replace(one, `"1.36"`, "1.36", 1)},
			edit:   map[string]string{"environments/one/cluster.cue": one},
			want:   "one changed [environments/one/cluster.cue]",
		},
		"a fault of an unchanged release":           {edit: map[string]string{"plain/a.yaml": gone}, want: "!no manifests in plain"},
		"a fault of a cluster that is not selected": {edit: map[string]string{"plain/a.yaml": gone}, patterns: []string{"one", "three"}},
		"a fault of a release in the old state": {
			before: map[string]string{"plain/a.yaml": "a: [\n"}, edit: map[string]string{"plain/a.yaml": fleets.Small["plain/a.yaml"]},
			want: "two unknown []", oldFault: "plain/a.yaml",
		},
		"an old layer that does not parse": {
			before: map[string]string{"environments/two/cluster.cue": "package fleet\n{"}, edit: map[string]string{"environments/two/cluster.cue": two},
			want: "one changed [environments/two/cluster.cue], two unknown []", oldFault: "environments/two/cluster.cue",
		},
		"a layer that does not parse": {edit: map[string]string{"environments/two/cluster.cue": "package fleet\n{"}, want: "!this { is not closed"},
		"an added and a removed cluster": {
			edit: map[string]string{"environments/three/cluster.cue": gone, "environments/three/more.cue": gone, "environments/four/cluster.cue": "package fleet\n\ncluster: {name: \"four\", kubernetes: \"1.36\"}\n"},
			want: "four added [environments/four/cluster.cue], three removed [environments/three/cluster.cue environments/three/more.cue]",
		},
		"a removed cluster by its name": {
			edit:     map[string]string{"environments/three/cluster.cue": gone, "environments/three/more.cue": gone},
			patterns: []string{"three"},
			want:     "three removed [cue.mod/module.cue environments/fleet.cue environments/three/cluster.cue environments/three/more.cue]",
		},
		"a pattern that matches no cluster": {patterns: []string{"oen"}, want: "!no cluster matches oen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, now := compiler.Compiler{Dir: t.TempDir(), Cache: t.TempDir(), Offline: true}, compiler.Compiler{Dir: t.TempDir(), Cache: t.TempDir(), Offline: true}
			fleets.Write(t, old.Dir, fleets.Small)
			fleets.Write(t, now.Dir, fleets.Small)
			fleets.Write(t, old.Dir, test.before)
			fleets.Write(t, now.Dir, test.edit)
			report, err := Affected(t.Context(), &now, &old, test.patterns...)
			got := affectedText(report.Affected)
			if fault, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), fault) {
					t.Errorf("got %s, %v, want %s", got, err, fault)
				}
				return
			}
			oldFaults := report.OldFaults
			if err != nil || got != test.want {
				t.Errorf("got %s, %v\nwant %s", got, err, test.want)
			}
			if (oldFaults == nil) != (test.oldFault == "") || oldFaults != nil && !strings.Contains(diag.All(oldFaults)[0].At[0].File, test.oldFault) {
				t.Errorf("the old faults are %v, want one in %q", oldFaults, test.oldFault)
			}
		})
	}
}
