package gitops

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const waves = `package fleet

rollout: schema.#Rollout & {waves: [
	{name: "canary", clusters: ids: ["prod/a"]},
	{name: "staging", clusters: ids: ["prod/b"]},
	{name: "prod", others: true},
]}
gitops: flux: timeout: "10s"
`

// neverReady is a change of the chart after which its Deployment does not become ready.
const neverReady = "      labels: {app: {{ .Release.Name }}}\n      annotations: {fleetc.test/stuck: ImagePullBackOff}\n"

// A rollout follows a branch with three clusters, one in each wave.
type branchRollout struct {
	*place
	url   string
	where []string // flags of commands about the branch
}

func newBranchRollout(t *testing.T) branchRollout {
	t.Helper()
	p := newPlace(t, "a", "b", "c")
	p.byGit()
	p.write("environments/rollout.cue", strings.Replace(waves, "package fleet\n", "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n", 1))
	url := p.servers.URL + "/git/fleet.git"
	return branchRollout{p, url, []string{"--git", url, "--branch", "main"}}
}

// export runs fleetc export --rollout.
func (r branchRollout) export(args ...string) commandResult {
	r.Helper()
	return r.fleetc(slices.Concat([]string{"export", "--rollout"}, r.where, args)...)
}

// syncs waits until the clusters have applied the tip of the branch.
func (r branchRollout) syncs(names ...string) {
	r.Helper()
	tip := r.repository("rev-parse", "main")
	for _, name := range names {
		f := r.flux[name]
		err := f.Poke(r.Context(), "GitRepository", Namespace, "flux-system")
		if err == nil {
			err = f.Reconciled(r.Context(), tip)
		}
		if err != nil {
			r.Fatalf("%s: %v", name, err)
		}
	}
}

// tree returns the directory of a cluster in the branch.
func (r branchRollout) tree(name string) string {
	r.Helper()
	return r.repository("rev-parse", "--verify", "--quiet", "main:prod/"+name)
}

// promote runs exports until all clusters have the fleet's bundle. Each export writes the
// cluster of the next wave only.
func (r branchRollout) promote(written string) {
	r.Helper()
	for i, name := range []string{"a", "b", "c"} {
		r.export().exits(r.place, 1).says(r.place, "^"+written+" prod/"+name+"/", "^1 cluster, ", "commit [0-9a-f]+ pushed")
		// The cluster has not applied it, so the next export writes nothing.
		r.export().exits(r.place, 1).says(r.place, "^main: nothing to push$", "is not complete: prod/"+name+" is syncing$")
		r.syncs([]string{"a", "b", "c"}[:i+1]...)
	}
	r.export().ok(r.place).says(r.place, "^main: nothing to push$")
}

// Waves promote by exports and the health of real clusters alone.
func TestRollout(t *testing.T) {
	r := newBranchRollout(t)
	r.promote("added  ")
	r.fleetc(slices.Concat([]string{"rollout", "status"}, r.where)...).ok(r.place).says(r.place, "^wave prod is complete$")

	// A bundle that does not become ready stops in the canary.
	before := []string{r.tree("b"), r.tree("c")}
	r.edit("charts/web/templates/web.yaml", "      labels: {app: {{ .Release.Name }}}\n", neverReady)
	r.export().exits(r.place, 1).says(r.place, "^changed prod/a/")
	tip := r.repository("rev-parse", "main")
	if err := r.flux["a"].Poke(t.Context(), "GitRepository", Namespace, "flux-system"); err != nil {
		t.Fatal(err)
	}
	if err := r.flux["a"].Fails(t.Context(), Namespace, "fleetc-apps", tip); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.export().exits(r.place, 2).says(r.place, "^main: nothing to push$", "^wave canary is stopped: wave canary has failed: prod/a is unhealthy$",
			"Kustomization flux-system/fleetc-apps has failed: HealthCheckFailed: ")
	}
	if after := []string{r.tree("b"), r.tree("c")}; !slices.Equal(before, after) {
		t.Errorf("the trees of b and c were %q and are %q", before, after)
	}

	// A fix goes through all waves again.
	r.edit("charts/web/templates/web.yaml", neverReady, "      labels: {app: {{ .Release.Name }}}\n")
	r.edit("environments/fleet.cue", `"blue"`, `"red"`)
	r.promote("changed")
	for name := range r.flux {
		if got := r.field(name, "shop", "configmap/web", ".data.colour"); got != "red" {
			t.Errorf("%s has the colour %s", name, got)
		}
	}
	r.keepsSoaking()
	r.suspended()
	r.reports()
}

// keepsSoaking tests that the soak of a cluster goes on when Flux applies the same files
// again, as it does at every interval.
func (r branchRollout) keepsSoaking() {
	r.Helper()
	since := func() string {
		said := r.fleetc(slices.Concat([]string{"rollout", "status", "-o", "json"}, r.where)...).ok(r.place).said
		var out struct {
			Waves []struct {
				Clusters []struct{ HealthySince string }
			}
		}
		if err := json.Unmarshal([]byte(said), &out); err != nil {
			r.Fatal(err)
		}
		return out.Waves[0].Clusters[0].HealthySince
	}
	before := since()
	f := r.flux["a"]
	reconciled := r.field("a", Namespace, "kustomization/fleetc-apps", ".status.history[0].totalReconciliations")
	if err := f.Poke(r.Context(), "Kustomization", Namespace, "fleetc-apps"); err != nil {
		r.Fatal(err)
	}
	if err := f.Ready(r.Context(), "Kustomization", Namespace, "fleetc-apps", r.repository("rev-parse", "main")); err != nil {
		r.Fatal(err)
	}
	if now := r.field("a", Namespace, "kustomization/fleetc-apps", ".status.history[0].totalReconciliations"); now == reconciled {
		r.Errorf("Flux has applied the files %s times, as before", now)
	}
	if after := since(); before == "" || after != before {
		r.Errorf("a was healthy since %s, and is since %s", before, after)
	}
}

// suspended tests that a suspended Kustomization holds the next wave.
func (r branchRollout) suspended() {
	r.Helper()
	suspend := func(value string) {
		r.kubectl("a", "-n", Namespace, "patch", "kustomization", "fleetc-apps", "--type=merge", "-p", `{"spec":{"suspend":`+value+`}}`)
	}
	suspend("true")
	r.export().exits(r.place, 1).says(r.place, "^prod/a: Kustomization flux-system/fleetc-apps is suspended$")
	suspend("false")
	r.syncs("a")
	r.export().ok(r.place)
}

// account is the service account of the Roles in the documentation.
const account = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: fleetc-report, namespace: flux-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: fleetc-report, namespace: flux-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: fleetc-report}
subjects: [{kind: ServiceAccount, name: fleetc-report, namespace: flux-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fleetc-report}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fleetc-report}
subjects: [{kind: ServiceAccount, name: fleetc-report, namespace: flux-system}]
`

// documented returns the CronJob and the Roles of docs/rollouts.md.
func (r branchRollout) documented() string {
	r.Helper()
	page, err := os.ReadFile("../../docs/rollouts.md")
	if err != nil {
		r.Fatal(err)
	}
	const begin = "```yaml\napiVersion: batch/v1\nkind: CronJob\n"
	_, text, ok := strings.Cut(string(page), begin)
	text, _, end := strings.Cut(text, "\n```")
	if !ok || !end || strings.Count(text, "kind: ClusterRole\n") != 1 {
		r.Fatal("docs/rollouts.md has no CronJob with its Roles")
	}
	return strings.TrimPrefix(begin, "```yaml\n") + text
}

// reports promotes a change by reports alone: the exports reach no cluster, and the reports
// come from a service account with the Roles of the documentation.
func (r branchRollout) reports() {
	r.Helper()
	for name := range r.flux {
		r.kubectlInput(name, r.documented()+"\n---"+account, "apply", "--server-side", "-f", "-")
	}
	report := func(name string) {
		r.Helper()
		r.fleetc("rollout", "report", "prod/"+name, "--git", r.url, "--context", r.flux[name].Cluster.Context, "--as", "system:serviceaccount:flux-system:fleetc-report").
			ok(r.place).says(r.place, "^prod/"+name+": 4 of 4 objects are ready, pushed to fleetc-reports/prod/"+name+".report$")
	}
	nothing := r.dir + "/no-kubeconfig"
	if err := os.WriteFile(nothing, nil, 0o600); err != nil {
		r.Fatal(err)
	}
	export := func() commandResult { return r.export("--reports", "#", "--kubeconfig", nothing) }
	r.edit("environments/fleet.cue", `"red"`, `"green"`)
	for i, name := range []string{"a", "b", "c"} {
		for _, n := range []string{"a", "b", "c"}[i:] {
			report(n)
		}
		export().exits(r.place, 1).says(r.place, "^changed prod/"+name+"/", "^1 cluster, ")
		r.syncs([]string{"a", "b", "c"}[:i+1]...)
		// The report is older than the change.
		export().exits(r.place, 1).says(r.place, "^main: nothing to push$")
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // the times of commits and reports are whole seconds
		report(name)
	}
	export().ok(r.place)
}

// A killed export loses nothing, and no cluster gets a change twice.
func TestRolloutKill(t *testing.T) {
	r := newBranchRollout(t)
	r.promote("added  ")
	r.edit("environments/fleet.cue", `"blue"`, `"red"`)
	commits := func(name string) string { return r.repository("rev-list", "--count", "main", "--", "prod/"+name) }
	for i, name := range []string{"a", "b", "c"} {
		for kills := 0; commits(name) == "1"; kills++ {
			if kills == 10 {
				r.export().exits(r.place, 1)
				break
			}
			cmd := exec.Command(binary, slices.Concat([]string{"export", "--rollout"}, r.where)...)
			cmd.Dir = r.dir
			cmd.Env = slices.Concat(os.Environ(), Git, []string{"KUBECONFIG=" + shared.Kubeconfig})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		r.syncs([]string{"a", "b", "c"}[:i+1]...)
	}
	r.export().ok(r.place)
	for name := range r.flux {
		if n := commits(name); n != "2" {
			t.Errorf("%s has %s commits, want 2", name, n)
		}
		if got := r.field(name, "shop", "configmap/web", ".data.colour"); got != "red" {
			t.Errorf("%s has the colour %s", name, got)
		}
	}
}
