package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dependsFleet is a stage in which app depends on cache, and cache on store: the
// reverse of the alphabetical order. Objects with a gate are ready once they have
// the label up.
const dependsFleet = `package fleet

#config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: string, data: round: "0"}
#hook: {
	apiVersion: "batch/v1"
	kind:       "Job"
	metadata: {name: "seed", annotations: {"helm.sh/hook": "post-install,post-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation"}}
	spec: template: spec: {restartPolicy: "Never", containers: [{name: "seed", image: "example.com/seed:1"}]}
}
health: gate: {match: {kinds: ["ConfigMap"], names: ["store", "cache"]}, ready: [{expression: "'up' in metadata.labels"}]}
releases: app: {namespace: "shop", depends: cache: true, objects: config: #config & {metadata: name: "app"}, actions: check: {at: "before", exec: ["true"]}}
releases: cache: {namespace: "shop", depends: store: true, objects: config: #config & {metadata: name: "cache"}}
releases: users: {
	namespace: "shop"
	objects: secret: {apiVersion: "v1", kind: "Secret", metadata: name: "users", stringData: round: "0"}
	actions: open: {at: "after", exec: ["true"], undo: exec: ["true"]}
}
releases: store: {namespace: "shop", objects: {
	ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "shop"}
	config: #config & {metadata: name: "store"}
	seed: #hook
}}
`

const dependingFile = "environments/depending.cue"

// configs returns the ConfigMaps of the releases that fleetc writes or deletes
// since the mark, in order, and the next mark.
func (p *place) configs(verb string, since int) (names []string, mark int) {
	p.Helper()
	writes, mark := p.writes("one", since)
	for _, w := range writes {
		verbed, rest, _ := strings.Cut(w, " ")
		if _, name, ok := strings.Cut(rest, "/namespaces/shop/configmaps/"); ok && verbed == verb {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	return names, mark
}

// gate opens or closes the gate of an object.
func (p *place) gate(name string, open bool) {
	p.Helper()
	label := "up-"
	if open {
		label = "up=yes"
	}
	p.kubectl("one", "-n", "shop", "label", "configmap", name, label)
}

// A release is written only after its dependencies are healthy. Prune, destroy and
// rollback respect the order.
func TestDepends(t *testing.T) {
	p := newWeb(t)
	if err := os.Remove(filepath.Join(p.dir, "environments/web.cue")); err != nil {
		t.Fatal(err)
	}
	p.write(dependingFile, dependsFleet)
	ordered := []string{"store", "cache", "app"}

	run := p.begin("apply", "--yes", "--allow-exec")
	for i, name := range ordered[:2] {
		run.readUntil("waits for ConfigMap shop/"+name, 1)
		if got := p.kubectl("one", "-n", "shop", "get", "configmaps", "-l", "fleetc.dev/release", "-o", "name"); strings.Count(got, "configmap/") != i+1 {
			t.Errorf("while %s is not healthy, there are %s", name, got)
		}
		p.gate(name, true)
	}
	run.end().ok(p).says(p, "stage default goes on with cache$", "stage default goes on with app$", "applied: 5 created, .*1 hook run", `goes on with app\n(.*\n)*.*runs action app/check`)
	got, mark := p.configs("patch", 0)
	if !slices.Equal(got, ordered) {
		t.Errorf("the order is %q", got)
	}
	p.fleetc("apply", "--yes", "--allow-exec").ok(p).says(p, "nothing was written")

	p.failsInOrder(mark, ordered)
	_, mark = p.configs("patch", 0)
	p.rollsBackInOrder(mark, ordered)
	p.removesInOrder(ordered)
}

// failsInOrder requires that a failed level stops its stage. The levels before are
// recorded with their hooks, which do not run again; their actions are undone and
// run again.
func (p *place) failsInOrder(mark int, ordered []string) {
	p.Helper()
	p.edit(dependingFile, `round: "0"`, `round: "1"`)
	p.fleetc("apply", "--dry-run", "-o", "json").exits(p, 1).says(p, `"stage": "default",\n +"level": 2,\n +"action": "change"`)
	p.gate("cache", false)
	d := p.fleetc("apply", "--yes", "--allow-exec", "--timeout", "3s").exits(p, 2).
		says(p, "runs hook Job.batch shop/seed", "runs action users/open", "undoes action users/open", "stage default stopped")
	if strings.Contains(d.stderr, "action app/check") {
		p.Errorf("an action of a level that is not reached is done:\n%s", d.stderr)
	}
	if got, _ := p.configs("patch", mark); !slices.Equal(got, ordered[:2]) {
		p.Errorf("with a level that fails, fleetc writes %q", got)
	}
	// A dependency outside of the selection is not waited for.
	p.fleetc("apply", "--yes", "--allow-exec", "--timeout", "3s", "--release", "app").ok(p).says(p, "1 changed")
	p.gate("cache", true)
	d = p.fleetc("apply", "--yes", "--allow-exec").ok(p).says(p, "runs action users/open")
	if strings.Contains(d.stderr, "runs hook") {
		p.Errorf("the hook of a level that was done runs again:\n%s", d.stderr)
	}
}

// rollsBackInOrder requires that a rollback respects the dependencies of the
// recorded bundle, which the fleet does not have any more.
func (p *place) rollsBackInOrder(mark int, ordered []string) {
	p.Helper()
	p.edit(dependingFile, `round: "1"`, `round: "2"`)
	for _, name := range ordered[:2] {
		p.edit(dependingFile, "depends: "+name+": true, ", "")
	}
	p.fleetc("apply", "--yes", "--allow-exec").ok(p).says(p, "4 changed")
	got, mark := p.configs("patch", mark)
	if slices.Sort(got); !slices.Equal(got, []string{"app", "cache", "store"}) {
		p.Errorf("without dependencies, fleetc writes %q", got)
	}
	p.gate("cache", false)
	p.fleetc("rollback", "dev/one", "--yes", "--timeout", "3s").exits(p, 2)
	if got, mark = p.configs("patch", mark); !slices.Equal(got, ordered[:2]) {
		p.Errorf("with a level that fails, a rollback writes %q", got)
	}
	p.gate("cache", true)
	p.fleetc("rollback", "dev/one", "--yes", "--to", "2").ok(p)
	if got, _ = p.configs("patch", mark); !slices.Equal(got, ordered[2:]) {
		p.Errorf("then it writes %q", got)
	}
}

// removesInOrder requires that objects are pruned and destroyed before their
// dependencies.
func (p *place) removesInOrder(ordered []string) {
	p.Helper()
	p.write(dependingFile, dependsFleet)
	p.fleetc("apply", "--yes", "--allow-exec").ok(p)
	_, mark := p.configs("delete", 0)
	reverse := slices.Clone(ordered)
	slices.Reverse(reverse)

	text := strings.Split(dependsFleet, "\n")
	p.write(dependingFile, strings.Join(slices.DeleteFunc(text, func(line string) bool {
		return strings.HasPrefix(line, "releases: app:") || strings.HasPrefix(line, "releases: cache:")
	}), "\n"))
	p.fleetc("apply", "--yes", "--allow-exec").exits(p, 2).says(p, "no ConfigMap is called cache")
	p.edit(dependingFile, `"store", "cache"]`, `"store"]`)
	p.fleetc("apply", "--yes", "--allow-exec").ok(p).says(p, "2 pruned")
	got, mark := p.configs("delete", mark)
	if !slices.Equal(got, reverse[:2]) {
		p.Errorf("the order of pruning is %q", got)
	}

	p.write(dependingFile, dependsFleet)
	run := p.begin("apply", "--yes", "--allow-exec")
	run.readUntil("waits for ConfigMap shop/cache", 1)
	p.gate("cache", true)
	run.end().ok(p)
	p.fleetc("destroy", "dev/one", "--yes=dev/one").ok(p)
	if got, _ = p.configs("delete", mark); !slices.Equal(got, reverse) {
		p.Errorf("the order of destroying is %q", got)
	}
}
