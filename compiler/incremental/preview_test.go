package incremental

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// A change of many clusters is answered for a sample first, with the faults of the changed
// file, and with earlier faults of clusters that are not in the sample. A change of a few
// clusters has no preview.
func TestPreview(t *testing.T) {
	const root = "environments/fleet.cue"
	dir := fleets.Generate(t, 40)
	text := func(file string) string {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	original := text(root)
	c := &compiler.Compiler{Dir: dir, Cache: t.TempDir(), Offline: true}
	s := NewSession(c)
	var previews []diag.List
	s.Preview = func(faults error) { previews = append(previews, diag.All(faults)) }
	edits := load.Edits{}
	check := func() diag.List {
		t.Helper()
		previews = nil
		_, got := s.Check(t.Context(), edits)
		_, want := NewSession(c).Check(t.Context(), edits)
		if got, want := faultTexts(got), faultTexts(want); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
		return diag.All(got)
	}
	places := func(faults diag.List) []string {
		var at []string
		for _, d := range faults {
			at = append(at, d.At[0].String())
		}
		slices.Sort(at)
		return slices.Compact(at)
	}

	if faults := check(); len(faults) > 0 || previews != nil {
		t.Fatalf("the first check has %v and %d previews", faults, len(previews))
	}
	const atFault = maxSample + 1
	for i := range atFault {
		own := fmt.Sprintf("environments/prod/c%03d/cluster.cue", 2+3*i)
		edits[own] = []byte(text(own) + "\nreleases: ingress: values: controller: replicaCount: \"three\"\n")
	}
	if faults := check(); len(places(faults)) != atFault || previews != nil {
		t.Fatalf("the change of some clusters has %v and %d previews", faults, len(previews))
	}
	for _, line := range []string{
		"releases: ingress: defaults: root: controler: {}", "releases: ingress: chrt: 1", "// This is right.",
	} {
		edits[root] = []byte(original + line + "\n")
		all := check()
		if len(previews) != 1 {
			t.Fatalf("%s: %d previews", line, len(previews))
		}
		if got, want := places(previews[0]), places(all); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the preview has %v, the check %v", line, got, want)
		}
		for _, d := range previews[0] {
			if d.At[0].File == root && len(d.Clusters) > maxSample {
				t.Fatalf("%s: the preview evaluated %d clusters", line, len(d.Clusters))
			}
		}
	}
}
