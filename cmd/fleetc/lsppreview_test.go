package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// In a large fleet, a change of the root layer is answered for a sample of the clusters
// first, then for all.
func TestLSPPreview(t *testing.T) {
	const clusters = 30
	files := maps.Clone(lspFleet)
	for i := range clusters - 3 {
		name := fmt.Sprintf("c%02d", i)
		files["environments/dev/"+name+"/cluster.cue"] = fmt.Sprintf("package fleet\n\ncluster: {name: %q, kubernetes: \"1.36\"}\n", name)
	}
	dir := t.TempDir()
	fleets.Write(t, dir, files)
	c := startLSP(t)
	root, text := filepath.Join(dir, "environments/fleet.cue"), files["environments/fleet.cue"]
	c.open(root, text)
	if got := c.all(); len(got) > 0 {
		t.Fatalf("the fleet has faults: %v", got)
	}
	for i, want := range []int{1, 0} {
		version := 2 + i
		changed := text
		if want > 0 {
			changed += "releases: web: chrt: 1\n"
		}
		c.notify("textDocument/didChange", map[string]any{
			"textDocument": lspDocument(root, version, ""), "contentChanges": []map[string]any{{"text": changed}},
		})
		var named []int
		for p := range c.published {
			if p.URI != "file://"+root || p.Version != version {
				continue
			}
			if len(p.Diagnostics) != want {
				t.Fatalf("version %d: %v", version, p.Diagnostics)
			}
			n := 0
			for _, d := range p.Diagnostics {
				n = len(d.Data.Clusters)
			}
			if named = append(named, n); len(named) == 2 {
				break
			}
			if n >= clusters {
				t.Fatal("there is no preview: the first answer is for all clusters")
			}
		}
		if want > 0 && named[1] != clusters {
			t.Fatalf("the check has the fault in %d clusters", named[1])
		}
	}
}
