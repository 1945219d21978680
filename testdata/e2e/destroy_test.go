package e2e

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// deleteHook is a hook that runs when its release is deleted.
const deleteHook = `package fleet

releases: web: objects: bye: {
	apiVersion: "batch/v1"
	kind:       "Job"
	metadata: {name: "bye", annotations: {"helm.sh/hook": "pre-delete"}}
	spec: template: spec: {restartPolicy: "Never", containers: [{name: "bye", image: "example.com/bye:1"}]}
}
`

// destroy removes everything that was applied to one cluster, with hooks and Helm
// releases, except kept objects. The fleet need not compile.
func TestDestroy(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", "values: colour: \"blue\"\n}", "values: colour: \"blue\"\n}\n"+strings.TrimPrefix(web[strings.Index(web, "releases: space"):], "")+strings.TrimPrefix(deleteHook, "package fleet\n"))
	p.edit("environments/app.cue", "objects: ns: {apiVersion: \"v1\", kind: \"Namespace\", metadata: name: \"web\"}", "objects: web: {apiVersion: \"v1\", kind: \"Namespace\", metadata: name: \"web\"}")
	p.edit("environments/app.cue", "namespace: \"web\"\n\tstage:     \"default\"", "stage: \"default\"")
	p.fleetc("destroy", "dev/one", "--dry-run").ok(p).says(p, "^dev/one: has nothing to destroy")
	p.fleetc("destroy", "dev/one", "--yes=dev/one").ok(p).says(p, "^dev/one: has nothing to destroy")
	p.fleetc("apply", "--yes").ok(p)
	p.write("environments/broken.cue", "package fleet\n\nreleases: web: objects: config: data: colour: 7\n")
	p.fleetc("apply", "--yes").exits(p, 2)

	_, mark := p.writes("one", 0)
	p.fleetc("destroy", "dev/one", "--yes=dev/on").exits(p, 2).says(p, "--yes=dev/on does not name the cluster dev/one")
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--release", "wep").exits(p, 2).says(p, "has not applied a release", "did you mean web")
	p.fleetc("destroy", "dev/one", "--dry-run").exits(p, 1).says(p, "- Deployment.apps web/web", "uninstalls HelmRelease.helm.sh app/app", "runs hook Job.batch web/bye", "keeps Namespace web")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("refused destroys write %q", w)
	}

	// One release: all others stay.
	p.fleetc("destroy", "dev/one", "--release", "web", "--yes=dev/one").ok(p).says(p, "^dev/one: destroyed: 0 created, 0 changed, 3 pruned; 1 hook run", "the next apply installs the releases again")
	if got := p.kubectl("one", "get", "configmaps,deployments,secrets", "-A", "-l", "fleetc.dev/release=web", "-o", "name"); got != "" {
		t.Errorf("of the release there is still %s", got)
	}
	p.fleetc("status", "--no-compile").exits(p, 1).says(p, "dev/one +unfinished")
	p.write("environments/broken.cue", "package fleet\n")
	p.fleetc("apply", "--yes").ok(p).says(p, "3 created")

	// Everything: protected objects are kept and stay in the inventory.
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "-o", "json").ok(p).says(p, `"status": "destroyed"`, `"action": "keep"`)
	for _, gone := range []string{"deployments", "configmaps -l fleetc.dev/release", "secrets -l owner=helm"} {
		if got := p.kubectl("one", append([]string{"get", "-A", "-o", "name"}, strings.Fields(gone)...)...); got != "" {
			t.Errorf("there is still %s", got)
		}
	}
	if got := p.kubectl("one", "get", "namespaces,crds", "-o", "name"); !strings.Contains(got, "namespace/web") || !strings.Contains(got, "gadgets.example.com") {
		t.Errorf("protected objects are not kept: %s", got)
	}
	if got := p.kubectl("one", "-n", "fleetc-system", "get", "secrets", "-o", "name"); got != "secret/"+inventorySecret {
		t.Errorf("in fleetc-system are %s", got)
	}
	p.fleetc("status", "--no-compile").exits(p, 1).says(p, "dev/one +destroyed")
	p.fleetc("destroy", "dev/one", "--yes=dev/one").ok(p).says(p, "keeps Namespace web", "has nothing to destroy")

	p.kubectl("one", "-n", "app", "annotate", "configmap", "kept", "helm.sh/resource-policy-")
	// Nothing is left, not even fleetc's namespace.
	p.fleetc("destroy", "dev/one", "--yes=dev/one", "--prune-protected").ok(p).says(p, "destroyed: 0 created, 0 changed, 4 pruned; 3 objects deleted along with them")
	if got := p.kubectl("one", "get", "namespaces,crds", "-o", "name"); strings.Contains(got, "web") || strings.Contains(got, "fleetc-system") || strings.Contains(got, "gadgets") {
		t.Errorf("there are still %s", got)
	}
	p.fleetc("status", "--no-compile").exits(p, 1).says(p, "dev/one +never applied")
	p.fleetc("apply", "--yes").ok(p).says(p, "is new to fleetc", "this is revision 1")

	// The object that Helm keeps counts, too.
	p.fleetc("destroy", "dev/one", "--yes=dev/one").ok(p).says(p, "^dev/one: 4 objects are kept and stay in the inventory, see above$")
}

// The next destroy finishes one that was killed at any moment.
func TestDestroyKilled(t *testing.T) {
	p := newWeb(t)
	p.write("environments/numbered.cue", numberedRelease(0, 20, 0))
	random := rand.New(rand.NewPCG(17, 17))
	takes := 2 * time.Second
	for round := range 6 {
		p.fleetc("apply", "--yes").ok(p)
		if round == 3 { // other objects in the namespace keep it
			p.kubectl("one", "-n", "fleetc-system", "create", "configmap", "foreign")
		}
		destroy := []string{"destroy", "dev/one", "--yes=dev/one", "--prune-protected"}
		p.begin(destroy...).killIn(time.Duration(random.Int64N(int64(takes))))
		began := time.Now()
		d := p.fleetc(destroy...).ok(p)
		takes = time.Since(began) + time.Second
		if got := p.kubectl("one", "get", "namespaces", "-o", "name"); strings.Contains(got, "namespace/web") || strings.Contains(got, "fleetc-system") != (round >= 3) {
			t.Fatalf("round %d: the namespaces are %s\n%s%s", round, got, d.stdout, d.stderr)
		}
		if round >= 3 {
			if got := p.kubectl("one", "-n", "fleetc-system", "get", "secrets,leases", "-o", "name"); got != "" {
				t.Fatalf("round %d: in fleetc-system are %s", round, got)
			}
		}
		if got := p.kubectl("one", "get", "configmaps,deployments", "-A", "-l", "fleetc.dev/release", "-o", "name"); got != "" {
			t.Fatalf("round %d: there is still %s", round, got)
		}
	}
}

// killIn is kill for a cluster whose lease may be gone with its namespace.
func (r *runningCommand) killIn(after time.Duration) {
	r.p.Helper()
	r.readAll()
	time.Sleep(after)
	if err := r.Process.Kill(); err != nil && !strings.Contains(err.Error(), "finished") {
		r.p.Fatal(err)
	}
	r.end()
	_, _ = shared.Kubectl(r.p.Context(), "--context", r.p.clusters["one"].Context, "-n", "fleetc-system", "delete", "lease", "apply", "--ignore-not-found")
}
