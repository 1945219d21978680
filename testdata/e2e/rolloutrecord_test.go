package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// newTwoWaves is a place with a release in two clusters, each in its own wave.
func newTwoWaves(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, clusters.Spec{Name: "one"}, clusters.Spec{Name: "two"})
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.write("environments/rollout.cue", `package fleet

import "github.com/fleetc/fleetc/schema"

rollout: schema.#Rollout & {waves: [{name: "left", clusters: ids: ["dev/one"]}, {name: "right", others: true}]}
`)
	p.fleetc("apply", "--yes").ok(p)
	return p
}

// A pause holds when its wave gets another first cluster or another name, until a resume.
func TestRolloutPauseStays(t *testing.T) {
	p := newTwoWaves(t)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("rollout", "pause", "right", "--reason", "incident 42").ok(p)
	p.edit("environments/rollout.cue", `{name: "left", clusters: ids: ["dev/one"]}, `, "")
	for _, name := range []string{"right", "all"} {
		p.edit("environments/rollout.cue", `name: "right"`, `name: "`+name+`"`)
		p.fleetc("rollout", "status").exits(p, 1).says(p, `^wave `+name+` is waiting: it is paused by .*: incident 42$`)
		p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave `+name+` waits \(dev/one, dev/two\): it is paused by .*: incident 42$`)
	}
	p.fleetc("rollout", "resume").ok(p).says(p, `^resumed all waves$`)
	p.fleetc("rollout", "resume").ok(p).says(p, `^wave all is not paused or aborted$`)
	p.fleetc("apply", "--yes").ok(p)

	// It holds for each part of a wave that is split, until a resume of this part.
	p.edit("environments/web.cue", `colour: "red"`, `colour: "blue"`)
	p.fleetc("rollout", "pause", "--reason", "incident 43").ok(p)
	p.edit("environments/rollout.cue", `{name: "all", others: true}`, `{name: "first", clusters: ids: ["dev/one"]}, {name: "second", others: true}`)
	p.fleetc("rollout", "status").exits(p, 1).says(p, `^wave first is waiting: it is paused by .*: incident 43$`, `^wave second is waiting: .*it is paused by .*: incident 43$`)
	p.fleetc("rollout", "resume", "first").ok(p).says(p, `^resumed wave first$`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^dev/one: applied`, `^wave second waits \(dev/two\): it is paused by .*: incident 43$`)
	p.fleetc("rollout", "resume", "second").ok(p).says(p, `^resumed wave second$`)
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/two: applied`)

	// A cluster that moves to another wave takes the pause along.
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("rollout", "pause", "first", "--reason", "incident 44").ok(p)
	p.edit("environments/rollout.cue", `ids: ["dev/one"]`, `ids: ["dev/two"]`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave first waits \(dev/two\): it is paused by .*: incident 44$`, `^wave second waits \(dev/one\): .*it is paused by .*: incident 44$`)
	p.fleetc("rollout", "resume", "second").ok(p).says(p, `^resumed wave second$`)
	p.fleetc("rollout", "status").exits(p, 1).says(p, `^wave first is waiting: it is paused by .*: incident 44$`, `^wave second is waiting: wave first is not complete: dev/two is behind$`)
	p.fleetc("rollout", "resume", "first").ok(p).says(p, `^resumed wave first$`)
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/two: applied`)
}

// The pause of a wave that is split holds for the other part, also if one part keeps the name, and
// for a wave that gets another name together with its clusters.
func TestRolloutPauseParts(t *testing.T) {
	p := newTwoWaves(t)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.edit("environments/rollout.cue", `{name: "left", clusters: ids: ["dev/one"]}, {name: "right", others: true}`, `{name: "all", others: true}`)
	p.fleetc("rollout", "pause", "--reason", "incident 42").ok(p)
	p.edit("environments/rollout.cue", `{name: "all", others: true}`, `{name: "all", clusters: ids: ["dev/one"]}, {name: "second", others: true}`)
	p.fleetc("rollout", "pause", "all", "--reason", "incident 43").ok(p)
	p.fleetc("rollout", "status").exits(p, 1).says(p, `^wave all is waiting: it is paused by .*: incident 43$`, `^wave second is waiting: .*it is paused by `)
	p.fleetc("rollout", "resume", "all").ok(p).says(p, `^resumed wave all$`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^dev/one: applied`, `^wave second waits \(dev/two\): it is paused by `)
	p.fleetc("rollout", "resume", "second").ok(p).says(p, `^resumed wave second$`)
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/two: applied`)

	// A resume of all waves leaves none paused.
	p.edit("environments/web.cue", `colour: "red"`, `colour: "blue"`)
	p.edit("environments/rollout.cue", `{name: "all", clusters: ids: ["dev/one"]}, {name: "second", others: true}`, `{name: "all", others: true}`)
	p.fleetc("rollout", "pause").ok(p)
	p.edit("environments/rollout.cue", `{name: "all", others: true}`, `{name: "second", clusters: ids: ["dev/two"]}, {name: "all", others: true}`)
	p.fleetc("rollout", "status").exits(p, 1).says(p, `^wave second is waiting: it is paused by `, `^wave all is waiting: .*it is paused by `)
	p.fleetc("rollout", "resume").ok(p).says(p, `^resumed all waves$`)
	p.fleetc("rollout", "status").exits(p, 1).lacks(p, "paused")

	// The pause of a wave holds after it and its layer are renamed.
	p.fleetc("rollout", "pause", "second").ok(p)
	p.edit("environments/rollout.cue", `{name: "second", clusters: ids: ["dev/two"]}`, `{name: "test", clusters: ids: ["test/two"]}`)
	if err := os.Mkdir(filepath.Join(p.dir, "environments/test"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(p.dir, "environments/dev/two"), filepath.Join(p.dir, "environments/test/two")); err != nil {
		t.Fatal(err)
	}
	p.kubectl("two", "-n", "fleetc-system", "delete", "secret", "inventory.example.com.infra")
	p.fleetc("apply", "--yes", "test/two").exits(p, 1).says(p, `^wave test waits \(test/two\): it is paused by `)
	p.fleetc("rollout", "resume", "test").ok(p).says(p, `^resumed wave test$`)
	p.fleetc("apply", "--yes").ok(p).says(p, `^test/two: applied`, `^dev/one: applied`)
}

// apply restores an object that is missing in a cluster with its bundle, but not while the
// cluster is frozen.
func TestRolloutRestores(t *testing.T) {
	p := newTwoWaves(t)
	remove := func() { p.kubectl("one", "-n", "web", "delete", "configmap", "web") }
	remove()
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/one: applied: 1 created`, `^dev/two: runs its bundle`)
	p.fleetc("rollout", "status").ok(p)

	p.edit("environments/rollout.cue", "{waves: ", `{freezes: [{from: "2030-12-01", to: "2030-12-31", reason: "holidays"}], waves: `)
	p.fleetc("apply", "--yes", "--date", "2030-12-24").ok(p).says(p, `^dev/one: runs its bundle`)
	remove()
	d := p.fleetc("apply", "--yes", "--date", "2030-12-24").exits(p, 1).says(p, `^wave left waits \(dev/one\): it is frozen until the end of 2030-12-31: holidays$`)
	if strings.Contains(d.stdout, "dev/one: runs its bundle") {
		t.Errorf("a cluster without an object runs its bundle:\n%s", d.stdout)
	}
	p.fleetc("drift", "--fix", "--yes", "--date", "2030-12-24").ok(p).says(p, `^dev/one: applied: 1 created`)
}

// An unreachable cluster is a fault, also when its wave needs an approval, which is stored there. So
// is one that the user has no right to read.
func TestRolloutUnreachable(t *testing.T) {
	p := newTwoWaves(t)
	p.edit("environments/rollout.cue", `others: true`, `others: true, approve: "ask"`)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	right := `User "viewer" cannot get resource "namespaces"`
	p.fleetc("rollout", "status", "--as", "viewer").exits(p, 2).says(p, right, `dev/one +forbidden`, `has failed: dev/one is forbidden`)
	p.fleetc("apply", "--yes", "--as", "viewer").exits(p, 2).says(p, right, `^dev/one: forbidden, nothing was written`)
	if err := p.clusters["two"].Kill(); err != nil {
		t.Fatal(err)
	}
	d := p.fleetc("apply", "--yes").exits(p, 2).says(p, `^dev/one: applied`, `dev/two|refuses connections`)
	if strings.Contains(d.stdout+d.stderr, "needs an approval") {
		t.Errorf("an approval that cannot be read is missing:\n%s%s", d.stdout, d.stderr)
	}
	p.fleetc("rollout", "status").exits(p, 2).lacks(p, "needs an approval")
}

// An approval does not cover other deletion hooks, and stays valid with nondeterministic ones.
func TestRolloutApproveHooks(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.write("environments/rollout.cue", `package fleet

import "github.com/fleetc/fleetc/schema"

rollout: schema.#Rollout & {waves: [{name: "all", others: true, approve: "ask ann"}]}
`)
	hook := func(name string) { p.write("charts/app/templates/more.yaml", hookOf("pre-delete", name, "")) }
	hook("good")
	approve := func() { p.fleetc("rollout", "approve", "all", "--bundle", p.waveStatus("all").Bundle).ok(p) }
	approve()
	hook("evil")
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave all waits \(dev/one\): it needs an approval`)
	hook("good")
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/one: applied`)
	hook("evil")
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `it needs an approval`)
	p.fleetc("rollout", "abort").ok(p)
	approve()
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `this change is aborted`)

	p.edit("environments/app.cue", `colour: "blue"`, `colour: "red"`)
	hook("good-{{ randAlphaNum 5 | lower }}")
	approve()
	hook("evil-{{ randAlphaNum 5 | lower }}")
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `it needs an approval`)
	hook("good-{{ randAlphaNum 5 | lower }}")
	p.edit("environments/app.cue", `chart: path:`, `patches: evil: {target: names: ["good-*"], merge: spec: backoffLimit: 9}
	chart: path:`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `it needs an approval`)
	approve()
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/one: applied`)
}
