package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// restored returns a place with the fleet of an earlier commit, and a cluster with the
// objects that its applies made: those of the releases, the inventory and the history.
func restored(t *testing.T, record string) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir(), clusters: map[string]*clusters.Cluster{}}
	dir := filepath.Join(top, "testdata/compat", record)
	if err := os.CopyFS(p.dir, os.DirFS(filepath.Join(dir, "fleet"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	if err := json.Unmarshal(text, &objects); err != nil {
		t.Fatal(err)
	}
	p.boot(clusters.Spec{Name: "one", Nodes: 1})
	if err := p.clusters["one"].Restore(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"XDG_CACHE_HOME=" + t.TempDir()}
	p.edit("environments/dev/one/cluster.cue", `context: "one"`, `context: "`+p.clusters["one"].Context+`"`)
	p.fleetc("init").ok(p)
	return p
}

// Today's fleetc reads the inventory, the history and the releases of Helm that earlier
// commits wrote, and continues with them.
func TestCompatibility(t *testing.T) {
	records, err := filepath.Glob("../compat/20*")
	if err != nil || len(records) == 0 {
		t.Fatalf("there are no records of earlier commits: %v", err)
	}
	for _, record := range records {
		t.Run(filepath.Base(record), func(t *testing.T) {
			p := restored(t, filepath.Base(record))
			p.fleetc("history", "dev/one").ok(p).says(p, `^dev/one +2\* .* 0 created, 1 changed, 1 pruned +once$`, `^dev/one +1 .* 7 created`)
			p.fleetc("status", "dev/one").exits(p, 1).says(p, `^dev/one +behind +2 `)
			const change = `~ ConfigMap web/web \(release web\)\n +~ data.colour: green -> red\n\s+1 object updated in 1 cluster\n`
			p.fleetc("diff", "--live", "dev/one").exits(p, 1).says(p, change)
			if _, err := os.Stat(filepath.Join(record, "rollout.json")); err == nil {
				p.fleetc("apply", "--yes", "dev/one").exits(p, 1).says(p, `^wave first waits \(dev/one\): it is paused by .*: a pause of a test$`)
				p.fleetc("rollout", "resume", "first").ok(p)
			}
			p.applyOldPlan(filepath.Join(top, "testdata/compat", filepath.Base(record), "plan.json")).ok(p).
				says(p, change, `^dev/one: applied: 0 created, 1 changed, 0 pruned; this is revision 3$`)
			p.fleetc("apply", "--yes", "dev/one").ok(p).says(p, "^dev/one: runs its bundle, nothing was written$")
			p.fleetc("rollback", "dev/one", "--to", "1", "--yes").ok(p).says(p, `~ data.colour: red -> blue`, `\+ ConfigMap web/web-extra`)
			// The inventory has the object of the first revision again: the next apply prunes it.
			p.fleetc("apply", "--yes", "dev/one").ok(p).says(p, `^dev/one: pruned ConfigMap web/web-extra$`)
			p.fleetc("status", "--orphans", "dev/one").ok(p)
			if got := p.kubectl("one", "-n", "fleetc-system", "get", "secrets", "-o", "name", "-l", "fleetc.dev/inventory=true"); got != "" {
				t.Errorf("Secrets of the old inventory are left: %s", got)
			}
			p.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected=Namespace").ok(p)
			if got := p.kubectl("one", "get", "namespaces", "-o", "name"); strings.Contains(got, "fleetc-system") || strings.Contains(got, "/web") {
				t.Errorf("after destroy, there are %s", got)
			}
		})
	}
}

// applyOldPlan tries to carry out the plan of the commit, which must be made again: plans before
// 2026-11-23 have another format, and later ones another digest of the bundle.
func (p *place) applyOldPlan(file string) result {
	p.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		p.Fatal(err)
	}
	says := "the bundle of this cluster has changed since the plan was made"
	if strings.Contains(string(text), `"format": 1,`) {
		says = `has format 1, but this fleetc supports 2 \[FL3107\]`
	}
	p.fleetc("apply", "--from-plan", file, "--yes").exits(p, 2).says(p, says, "hint: plan again")
	return p.fleetc("apply", "--yes", "dev/one")
}
