package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// waves is a rollout of five clusters in three waves.
const waves = `package fleet

rollout: schema.#Rollout & {
	waves: [
		{name: "canary", clusters: ids: ["dev/one"]},
		{name: "early", clusters: ids: ["dev/two", "dev/three"], parallel: 1},
		{name: "rest", others: true},
	]
}
`

// newWaves is a place with the release web in five clusters and three waves.
func newWaves(t *testing.T) *place {
	t.Helper()
	var specs []clusters.Spec
	for _, name := range all {
		specs = append(specs, clusters.Spec{Name: name})
	}
	p := newPlace(t, specs...)
	p.edit(fleetFile, `stages: schema.#Stages & [{name: "default"}]`, `stages: schema.#Stages`)
	p.write("environments/web.cue", web)
	p.write("environments/rollout.cue", strings.Replace(waves, "package fleet\n", "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n", 1))
	return p
}

// all are the names of the clusters, in the order of the waves.
var all = []string{"one", "three", "two", "five", "four"}

// revisions returns the number of applies of each revision of the clusters, by ID.
func (p *place) revisions() map[string][]int {
	p.Helper()
	var out struct {
		Clusters []struct {
			ID        string
			Revisions []struct{ Applied int }
		}
	}
	if err := json.Unmarshal([]byte(p.fleetc("history", "-o", "json").ok(p).stdout), &out); err != nil {
		p.Fatal(err)
	}
	got := map[string][]int{}
	for _, c := range out.Clusters {
		got[c.ID] = []int{}
		for _, r := range c.Revisions {
			got[c.ID] = append(got[c.ID], r.Applied)
		}
	}
	return got
}

// once requires that each of the clusters has n revisions, each applied once.
func (p *place) once(n int, names ...string) {
	p.Helper()
	got := p.revisions()
	for _, name := range names {
		if want := slices.Repeat([]int{1}, n); !slices.Equal(got["dev/"+name], want) {
			p.Errorf("dev/%s has revisions with %v applies, want %v", name, got["dev/"+name], want)
		}
	}
}

// colours returns the colour that each cluster runs, in the order of all.
func (p *place) colours() string {
	p.Helper()
	var out []string
	for _, name := range all {
		out = append(out, p.kubectl(name, "-n", "web", "get", "configmap", "web", "-o", "jsonpath={.data.colour}"))
	}
	return strings.Join(out, " ")
}

// An apply goes wave by wave. A bundle that is never ready stops in the first wave, and
// leaves the other clusters untouched; a fix starts again from there.
func TestRolloutStops(t *testing.T) {
	p := newWaves(t)
	d := p.fleetc("apply", "--yes").ok(p)
	var order []string
	for line := range strings.Lines(d.stderr) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), ": stage apps is healthy"); ok {
			order = append(order, strings.TrimPrefix(id, "dev/"))
		}
	}
	slices.Sort(order[3:])
	if !slices.Equal(order, all) {
		t.Errorf("clusters were applied to in the order %v, want %v", order, all)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, `^dev/five: runs its bundle, nothing was written`)
	p.once(1, all...)

	marks := map[string]int{}
	for _, name := range all {
		_, marks[name] = p.writes(name, 0)
	}
	p.edit("environments/web.cue", runs, stuck)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes", "--timeout", stuckFor).exits(p, 2).says(p,
		`^dev/one: failed`, `ImagePullBackOff`, `^wave early waits \(dev/three, dev/two\): wave canary has failed: dev/one has failed`, `^wave rest waits .*: wave canary has failed`)
	// The next run tries the first wave again, and a single wave is not written before its turn.
	p.fleetc("apply", "--yes", "--wave", "rest").exits(p, 2).says(p, `^wave rest waits \(dev/five, dev/four\): wave canary has failed: dev/one is unfinished$`)
	p.fleetc("apply", "--yes", "dev/two").exits(p, 2).says(p, `^wave early waits \(dev/two\): wave canary has failed`)
	p.fleetc("apply", "--yes", "--wave", "early", "dev/two", "dev/three", "dev/four").exits(p, 2).says(p, `^wave early waits \(dev/three, dev/two\): wave canary has failed`)
	for _, name := range all[1:] {
		if w, _ := p.writes(name, marks[name]); len(w) > 0 {
			t.Errorf("dev/%s is written to: %v", name, w)
		}
	}
	p.edit("environments/web.cue", stuck, runs)
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.fleetc("apply", "--yes", "--wave", "canary").ok(p)
	if got := p.colours(); got != "green blue blue blue blue" {
		t.Errorf("after the fix of the first wave, clusters run %s", got)
	}
	p.fleetc("apply", "--yes").ok(p)
	if got := p.colours(); got != "green green green green green" {
		t.Errorf("after the fix, clusters run %s", got)
	}
	p.once(2, all...)
	p.fleetc("apply", "--yes", "--wave", "canry").exits(p, 2).says(p, `the rollout has no wave "canry"`, `did you mean canary\?`)
	p.fleetc("apply", "--yes", "--release", "web").exits(p, 2).says(p, `pass --no-rollout`)

	// Actions have the environment of the command.
	p.write("environments/action.cue", "package fleet\n\nactions: note: {stage: \"apps\", at: \"after\", exec: [\"sh\", \"-c\", \"test $MARK = 1\"], environment: [\"MARK\"]}\n")
	p.env = append(p.env, "MARK=1")
	p.edit("environments/web.cue", `colour: "green"`, `colour: "black"`)
	p.fleetc("apply", "--yes", "--allow-exec").ok(p).says(p, `^dev/one: applied: .*actions: 1 done`, `^dev/four: applied: .*actions: 1 done`)
}

// rolloutWave is a wave in the JSON of rollout status.
type rolloutWave struct{ Name, State, Bundle string }

// waveStatus returns the wave in rollout status.
func (p *place) waveStatus(name string) rolloutWave {
	p.Helper()
	var out struct{ Waves []rolloutWave }
	r := p.fleetc("rollout", "status", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		p.Fatalf("%v\n%s", err, r.stderr)
	}
	for _, w := range out.Waves {
		if w.Name == name {
			return w
		}
	}
	p.Fatalf("rollout status has no wave %s", name)
	return rolloutWave{}
}

// A soak and an approval hold over several runs, and an approval for another digest than
// that of the wave is refused.
func TestRolloutSoakApprove(t *testing.T) {
	p := newWaves(t)
	p.fleetc("apply", "--yes").ok(p)
	p.fleetc("rollout", "status").ok(p).says(p, `^canary +dev/one +done +1 `, `^wave rest is complete$`)
	p.edit("environments/rollout.cue", `ids: ["dev/one"]`, `ids: ["dev/one"], soak: "1h"`)
	p.edit("environments/rollout.cue", `parallel: 1`, `approve: "ask ann"`)

	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	before := p.waveStatus("early")
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave early waits \(dev/three, dev/two\): wave canary soaks for 1h0m0s after it is applied; it needs an approval: ask ann; run fleetc rollout approve early --bundle sha256:`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^dev/one: runs its bundle, nothing was written`, `^wave early waits .*: wave canary soaks until `)
	p.fleetc("apply", "--yes", "--wave", "rest", "-o", "json").exits(p, 1).says(p, `"id": "dev/five",\n *"status": "waiting",\n *"wave": "rest",`, `"reason": "soak",\n *"text": "wave canary soaks until .*",\n *"until": "`)
	if d := p.fleetc("apply", "--dry-run", "dev/one").ok(p); strings.Contains(d.stdout, "waits") {
		t.Errorf("a cluster that runs its bundle waits:\n%s", d.stdout)
	}
	p.fleetc("rollout", "status").exits(p, 1).says(p, `^wave canary is soaking: wave canary soaks until `, `^wave early is waiting: `)
	if got := p.colours(); got != "red blue blue blue blue" {
		t.Errorf("during the soak, clusters run %s", got)
	}
	p.once(2, "one")
	p.once(1, all[1:]...)

	p.edit("environments/rollout.cue", `soak: "1h"`, `soak: "1s"`)
	p.fleetc("rollout", "approve", "early", "--bundle", p.waveStatus("rest").Bundle).exits(p, 2).says(p, `the bundle of wave early is `+before.Bundle+`, not `)
	p.fleetc("rollout", "approve", "early", "--bundle", before.Bundle[:20]).ok(p)
	p.fleetc("rollout", "status").says(p, `^wave early was approved by `)
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	after := p.waveStatus("early")
	p.fleetc("rollout", "approve", "early", "--bundle", before.Bundle).exits(p, 2).says(p, `nothing was approved`)
	p.fleetc("rollout", "approve", "rest", "--bundle", before.Bundle).exits(p, 2).says(p, `wave rest needs no approval`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^dev/one: applied`, `^wave early waits .* it needs an approval`)
	p.fleetc("rollout", "approve", "early", "--bundle", after.Bundle).ok(p).says(p, "^approved wave early")
	p.waitFor("the soak to end", func() bool { return p.fleetc("apply", "--yes").status == 0 })
	if got := p.colours(); got != "green green green green green" {
		t.Errorf("after the approval, clusters run %s", got)
	}
	p.once(3, "one")
	p.once(2, all[1:]...) // they never ran red

	// The soak begins again when an object becomes available again.
	p.edit("environments/web.cue", `colour: "green"`, `colour: "grey"`)
	p.fleetc("apply", "--yes", "--wave", "canary").ok(p)
	p.kubectl("one", "-n", "web", "patch", "deployment", "web", "--subresource=status", "-p", `{"status": {"conditions": [{"type": "Available", "lastTransitionTime": "2099-01-01T00:00:00Z"}]}}`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave early waits .*: wave canary soaks until 2099-01-01T00:00:01Z`)
}

// Pauses, aborts and freezes stop waves; a wave is rolled back in reverse order.
func TestRolloutStopGoBack(t *testing.T) {
	p := newWaves(t)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("rollout", "pause", "early", "rest", "--reason", "incident 42").ok(p)
	p.fleetc("rollout", "pause", "rest", "--reason", "incident 42").ok(p).says(p, `^wave rest is already paused$`)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^dev/one: applied`, `^wave early waits .*: it is paused by .*: incident 42$`)
	p.fleetc("rollout", "resume", "early").ok(p)
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^dev/three: applied`, `^wave rest waits .*: it is paused by `)
	p.fleetc("rollout", "resume").ok(p).says(p, `^resumed wave rest\nwaves canary, early are not paused or aborted$`)

	// A fix of drift brings no change to a cluster before its turn.
	p.kubectl("one", "-n", "web", "delete", "configmap", "web")
	p.fleetc("drift", "--fix", "--yes").exits(p, 1).says(p, `^dev/five: not fixed: it does not run the fleet's bundle`, `^dev/four: not fixed`)
	if got := p.colours(); got != "red red red blue blue" {
		t.Errorf("after the fix of drift, clusters run %s", got)
	}

	p.fleetc("rollout", "abort", "--reason", "errors").ok(p).says(p, "^to go back: fleetc rollback --wave early\nto go back: fleetc rollback --wave canary\n")
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave rest waits .*: this change is aborted by .*: errors$`)
	d := p.fleetc("rollback", "--wave", "early", "--yes").ok(p).says(p, `^dev/two: goes back to revision 1`, `^dev/two: a rollback does not change the fleet's files: the next apply waits: this change is aborted by .*: errors$`)
	if three, two := strings.Index(d.stderr, "dev/three: stage"), strings.Index(d.stderr, "dev/two: stage"); two < 0 || three < two {
		t.Errorf("the wave is not rolled back in reverse order:\n%s", d.stderr)
	}
	p.fleetc("rollback", "--wave", "early", "--yes").ok(p).says(p, `^dev/two: runs another bundle than the fleet's, nothing was written`)
	p.fleetc("rollback", "--wave", "canary", "--yes").ok(p)
	if got := p.colours(); got != "blue blue blue blue blue" {
		t.Errorf("after the rollbacks, clusters run %s", got)
	}
	p.fleetc("apply", "--yes").exits(p, 1).says(p, `^wave canary waits \(dev/one\): this change is aborted`)

	p.fleetc("apply", "--dry-run", "dev/one").exits(p, 1).says(p, `data.colour: "?blue"? -> "?red"?`, `^wave canary waits \(dev/one\): this change is aborted`)

	// A fix is another change, and a freeze holds on its first and last day.
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.edit("environments/rollout.cue", "\t]\n", "\t]\n\tfreezes: [{from: \"2026-12-20\", to: \"2026-12-21\", reason: \"holidays\", except: ids: [\"dev/one\"]}]\n")
	frozen := `^wave early waits .*: it is frozen until the end of 2026-12-21: holidays$`
	if d := p.fleetc("apply", "--dry-run", "--date", "2026-12-19").exits(p, 1); strings.Contains(d.stdout, "frozen") {
		t.Errorf("clusters are frozen before the freeze:\n%s", d.stdout)
	}
	p.fleetc("apply", "--yes", "--date", "2026-12-20").exits(p, 1).says(p, `^dev/one: applied`, frozen)
	p.fleetc("apply", "--yes", "--date", "2026-12-21").exits(p, 1).says(p, frozen)
	p.fleetc("apply", "--yes", "--date", "2026-12-21", "--no-rollout").exits(p, 1).says(p, frozen)
	p.fleetc("rollout", "status", "--date", "2026-12-21").exits(p, 1).says(p, `^wave early is waiting: it is frozen`)
	if got := p.colours(); got != "green blue blue blue blue" {
		t.Errorf("during the freeze, clusters run %s", got)
	}
	p.fleetc("apply", "--yes", "--date", "2026-12-22").ok(p)

	// A second run tries a failed cluster first: the others of its wave follow only if it
	// gets ready.
	p.write("environments/stuck.cue", `package fleet

releases: stuck: {
	namespace: "web"
	stage:     "apps"
	clusters: ids: ["dev/two", "dev/three"]
	objects: stuck: {
		apiVersion: "apps/v1"
		kind:       "Deployment"
		metadata: name: "stuck"
		spec: {
			selector: matchLabels: app: "stuck"
			template: {metadata: {labels: app: "stuck", annotations: "fleetc.test/stuck": "ImagePullBackOff"}, spec: containers: [{name: "a", image: "example.com/none:1"}]}
		}
	}
}
`)
	_, mark := p.writes("two", 0)
	for range 2 {
		p.fleetc("apply", "--yes", "--timeout", stuckFor).exits(p, 2).says(p, `^dev/three: failed`, `^wave early waits \(dev/two\): wave early has failed`)
	}
	if w, _ := p.writes("two", mark); len(w) > 0 {
		t.Errorf("dev/two is written to: %v", w)
	}
	if err := os.Remove(filepath.Join(p.dir, "environments/stuck.cue")); err != nil {
		t.Fatal(err)
	}
	p.fleetc("apply", "--yes").ok(p)

	// An unreachable cluster counts as failed: maxFailures allows one in the second wave.
	if err := p.clusters["two"].Kill(); err != nil {
		t.Fatal(err)
	}
	p.edit("environments/web.cue", `colour: "green"`, `colour: "black"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `^dev/one: applied`, `^dev/two: unreachable, nothing was written`, `^wave early waits \(dev/three\): wave early has failed: dev/two is unreachable$`, `^wave rest waits .*: wave early has failed: dev/two is unreachable`)
	p.edit("environments/rollout.cue", `parallel: 1`, `maxFailures: 1`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `^dev/two: unreachable`, `^dev/three: applied`, `^dev/five: applied`)

	// A pause reaches the waves that it can reach, and says which it does not.
	if err := p.clusters["three"].Kill(); err != nil {
		t.Fatal(err)
	}
	p.fleetc("rollout", "pause").exits(p, 2).says(p, `^paused waves canary, rest\n`, `wave early is not paused: its record in dev/three, its first cluster, cannot be changed: .* refuses connections`, `^    in dev/three, dev/two$`)
	p.fleetc("rollout", "status").exits(p, 2).says(p, `^wave canary is complete\nwave canary is paused by `, `^wave rest is complete\nwave rest is paused by `)
	p.fleetc("rollout", "resume", "rest", "-o", "json").ok(p).says(p, `"resumed wave rest"`)
}

// Applies are killed at any moment, and two run at once: every cluster ends with the right
// bundle, after the waves before it, and gets no bundle twice.
func TestRolloutKill(t *testing.T) {
	p := newWaves(t)
	p.fleetc("apply", "--yes").ok(p)
	random := rand.New(rand.NewPCG(22, 22))
	takes := 4 * time.Second // duration of an apply; known after the first
	colour := "blue"
	n := kills(t, 6)
	for round := 1; round <= n; round++ {
		next := fmt.Sprintf("c%d", round)
		p.edit("environments/web.cue", fmt.Sprintf("colour: %q", colour), fmt.Sprintf("colour: %q", next))
		colour = next
		p.begin("apply", "--yes").kill(time.Duration(random.Int64N(int64(takes))))
		for _, name := range all {
			p.kubectl(name, "-n", "fleetc-system", "delete", "lease", "apply", "--ignore-not-found")
		}
		if round%2 != 0 && round != n {
			continue
		}
		began := time.Now()
		p.fleetc("apply", "--yes").ok(p)
		takes = time.Since(began)
		p.checkWaves(colour)
	}
	p.edit("environments/web.cue", fmt.Sprintf("colour: %q", colour), `colour: "last"`)
	first, second := p.begin("apply", "--yes", "--lock-timeout", "5m"), p.begin("apply", "--yes", "--lock-timeout", "5m")
	first.readAll()
	second.readAll()
	first.end().ok(p)
	second.end().ok(p)
	p.checkWaves("last")
}

// checkWaves requires that all clusters run the colour, applied once and in the order of
// waves.
func (p *place) checkWaves(colour string) {
	p.Helper()
	if got, want := p.colours(), strings.TrimSpace(strings.Repeat(colour+" ", len(all))); got != want {
		p.Errorf("clusters run %s, want %s", got, want)
	}
	for id, revisions := range p.revisions() {
		if slices.Max(revisions) > 1 {
			p.Errorf("%s got a bundle twice: its revisions have %v applies", id, revisions)
		}
	}
	var out struct {
		Clusters []struct {
			ID      string
			Running struct{ Time time.Time }
		}
	}
	if err := json.Unmarshal([]byte(p.fleetc("status", "-o", "json").ok(p).stdout), &out); err != nil {
		p.Fatal(err)
	}
	at := map[string]time.Time{}
	for _, c := range out.Clusters {
		at[strings.TrimPrefix(c.ID, "dev/")] = c.Running.Time
	}
	for _, pair := range [][2]string{{"one", "two"}, {"one", "three"}, {"two", "four"}, {"two", "five"}, {"three", "four"}, {"three", "five"}} {
		if at[pair[1]].Before(at[pair[0]]) {
			p.Errorf("dev/%s got the bundle before dev/%s, which is in an earlier wave", pair[1], pair[0])
		}
	}
}

// While an apply is in the second wave, another commit reaches the first one, and the wave is
// paused: the apply begins with no further cluster, and not with the third wave.
func TestRolloutOvertaken(t *testing.T) {
	p := newWaves(t)
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/dev/three/web.cue", "package fleet\n\nreleases: web: objects: deployment: spec: template: metadata: annotations: \"fleetc.test/stuck\": \"ImagePullBackOff\"\n")
	p.edit("environments/web.cue", `colour: "blue"`, `colour: "red"`)
	older := p.begin("apply", "--yes")
	older.readUntil("dev/three: waits for Deployment.apps web/web", 1)
	p.fleetc("rollout", "pause", "early").ok(p)
	p.edit("environments/web.cue", `colour: "red"`, `colour: "green"`)
	p.fleetc("apply", "--yes", "--wave", "canary").ok(p)
	p.kubectl("three", "-n", "web", "patch", "deployment", "web", "--type=json", "-p", `[{"op": "remove", "path": "/spec/template/metadata/annotations"}]`)
	older.end().exits(p, 1).says(p, `^dev/three: applied`, `^wave early waits \(dev/two\): it is paused by `, `^wave rest waits .*: wave canary is not complete: dev/one is behind`)
	if got := p.colours(); got != "green red blue blue blue" {
		t.Errorf("clusters run %s", got)
	}

	// A user without the right to read the record of a wave does not pass it.
	p.fleetc("rollout", "pause", "canary").ok(p)
	p.fleetc("rollout", "resume").ok(p)
	p.kubectl("one", "create", "clusterrole", "narrow", "--verb=get,list,create,update,patch,delete", "--resource=namespaces,secrets,leases,deployments")
	p.kubectl("one", "create", "clusterrolebinding", "narrow", "--clusterrole=narrow", "--user=narrow")
	p.waitForRight("one", "narrow", "get", "secrets", "-n", "fleetc-system")
	p.edit("environments/web.cue", `colour: "green"`, `colour: "black"`)
	p.fleetc("apply", "--yes", "--wave", "canary", "--as", "narrow").exits(p, 2).says(p, `^wave canary waits \(dev/one\): its approvals and pauses cannot be read in dev/one: .*cannot get resource "configmaps"`)
	p.fleetc("rollout", "status", "--as", "narrow", "--no-cache").exits(p, 2)

	// destroy removes what rollout commands have stored, such as the ended pause of canary.
	p.kubectl("one", "-n", "fleetc-system", "get", "configmap", "rollout.example.com.infra")
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected").ok(p)
	if got := p.kubectl("one", "get", "namespace", "fleetc-system", "--ignore-not-found", "-o", "name"); got != "" {
		t.Errorf("%s still exists", got)
	}
}
