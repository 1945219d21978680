package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// simulated is a cluster in which no container runs.
var simulated = clusters.Spec{Name: "ci", Nodes: 3, SimulateOperators: true}

// newExample returns the cluster ci with the example fleet, not applied.
func newExample(t *testing.T, spec clusters.Spec) *place {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"environments", "schema", "lib", "cue.mod", "testdata/charts", "testdata/components"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(top, part))); err != nil {
			t.Fatal(err)
		}
	}
	p := &place{T: t, dir: dir, clusters: map[string]*clusters.Cluster{}}
	p.boot(spec)
	p.edit("environments/dev/ci/cluster.cue", "kind-ci", p.clusters["ci"].Context)
	return p
}

// One apply turns an empty cluster into a cluster of the example fleet; the next
// one writes nothing.
func TestExample(t *testing.T) {
	p := newExample(t, simulated)
	p.fleetc("apply", "--yes", "--timeout", "2m", "dev/ci").ok(p).says(p, "^dev/ci: applied: ", "hooks run")
	_, mark := p.writes("ci", 0)
	p.fleetc("apply", "--yes", "dev/ci").ok(p).says(p, "^dev/ci: runs its bundle, nothing was written")
	if w, _ := p.writes("ci", mark); len(w) > 0 {
		t.Errorf("a second apply writes %q", w)
	}
	p.write("environments/dev/ci/quota.cue", "package fleet\n\nreleases: kibana: defaults: ci: replicas: 2\n")
	p.fleetc("apply", "--yes", "dev/ci").ok(p).says(p, "0 created, 1 changed, 0 pruned; this is revision 2$")
	w, _ := p.writes("ci", mark)
	if w = withoutOwn(w); len(w) != 1 || w[0] != "patch /apis/apps/v1/namespaces/logging/deployments/kibana 200" {
		t.Errorf("one value changed, and apply writes %q", w)
	}
}
