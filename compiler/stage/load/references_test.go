package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// References are found in layers and packages, by selectors, indexes and definitions, but not
// those of a release to itself.
func TestReleaseReferences(t *testing.T) {
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		"environments/fleet.cue": `package fleet

releases: "web": {
	values: host: "\(releases.db.values.host):\(releases["the-cache"].values.port)"
	if releases.web.values.x {
		values: y: releases.db.values.y
	}
}
`,
		"environments/stacks/s.cue": `package s

parts: {
	#db: {_values: releases.db.values, host: _values.name}
	releases: "job": values: host: #db.host
}
`,
		"environments/charts/c/chart.cue": "package c\n\nreleases: a: b: releases.c\n",
		"environments/broken.cue":         "package other\n\n{",
	})
	found, err := ReleaseReferences(dir, []LayerFiles{{Files: []string{"environments/fleet.cue", "environments/values.yaml"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, r := range found {
		fmt.Fprintf(&got, "%s: %s -> %s %s\n", r.Pos, r.From, r.To, r.Path)
	}
	if want := `environments/stacks/s.cue:5:33: job -> db values
environments/fleet.cue:4:19: web -> db values.host
environments/fleet.cue:6:14: web -> db values.y
environments/fleet.cue:4:46: web -> the-cache values.port
`; got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

// A layer that is outside of the repository is not read.
func TestReleaseReferencesStayInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	fleets.Write(t, outside, map[string]string{"a.cue": "package fleet\n\nreleases: a: releases.b\n"})
	fleets.Write(t, dir, map[string]string{"environments/a.cue": "-> " + outside + "/a.cue"})
	if found, err := ReleaseReferences(dir, []LayerFiles{{Files: []string{"environments/a.cue"}}}); err == nil {
		t.Errorf("got %v", found)
	}
}
