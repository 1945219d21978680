package export

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parseObjects returns an object in YAML.
func parseObjects(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON([]byte(strings.Replace(string(data), "{", `{"apiVersion":"a/v1","kind":"K",`, 1)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func at(clock string) time.Time {
	out, err := time.Parse(time.RFC3339, "2026-11-26T"+clock+":00Z")
	if err != nil {
		panic(err)
	}
	return out
}

// The states of a Kustomization, from the fields that Flux writes.
func TestFlux(t *testing.T) {
	const (
		history   = `, history: [{digest: a, firstReconciled: "2026-11-26T08:00:00Z", lastReconciled: "2026-11-26T10:00:00Z", lastReconciledStatus: ReconciliationSucceeded}]`
		recovered = `, history: [{firstReconciled: "2026-11-26T08:00:00Z", lastReconciledStatus: ReconciliationSucceeded}, {lastReconciled: "2026-11-26T09:00:00Z", lastReconciledStatus: HealthCheckFailed}, {lastReconciled: "2026-11-26T07:00:00Z", lastReconciledStatus: ReconciliationSucceeded}]`
		reverted  = `, history: [{digest: a, firstReconciled: "2026-11-26T08:00:00Z", lastReconciled: "2026-11-26T11:00:00Z", lastReconciledStatus: ReconciliationSucceeded}, {digest: b, firstReconciled: "2026-11-26T09:00:00Z", lastReconciled: "2026-11-26T10:30:00Z", lastReconciledStatus: ReconciliationSucceeded}]`
		failing   = `, history: [{lastReconciled: "2026-11-26T09:00:00Z", lastReconciledStatus: HealthCheckFailed}]`
	)
	status := func(ready, reason, more string) string {
		return `{metadata: {generation: 2}, status: {observedGeneration: 2, lastAppliedRevision: "main@sha1:abc", lastAttemptedRevision: "main@sha1:def", conditions: [{type: Reconciling, status: "True"}, {type: Ready, status: "` +
			ready + `", reason: ` + reason + `, message: "one\n two", lastTransitionTime: "2026-11-26T11:00:00Z"}]` + more + `}}`
	}
	for name, c := range map[string]struct {
		text string
		want GitOpsObject
	}{
		"ready":                          {status("True", "ReconciliationSucceeded", history), GitOpsObject{State: GitOpsReady, Commit: "abc", Attempted: "def", Since: at("08:00")}},
		"ready, and Flux has no history": {status("True", "ReconciliationSucceeded", ""), GitOpsObject{State: GitOpsReady, Commit: "abc", Attempted: "def", Since: at("11:00")}},
		"ready again after a failure":    {status("True", "ReconciliationSucceeded", recovered), GitOpsObject{State: GitOpsReady, Commit: "abc", Attempted: "def", Since: at("09:00")}},
		"back at older content":          {status("True", "ReconciliationSucceeded", reverted), GitOpsObject{State: GitOpsReady, Commit: "abc", Attempted: "def", Since: at("10:30")}},
		"checked again at its interval":  {status("Unknown", "Progressing", history), GitOpsObject{State: GitOpsReady, Commit: "abc", Attempted: "def", Since: at("08:00")}},
		"its dependency is checked":      {status("False", "DependencyNotReady", history), GitOpsObject{State: GitOpsReady, Commit: "abc", Attempted: "def", Since: at("08:00")}},
		"checked after a failure":        {status("Unknown", "Progressing", failing), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "Progressing: one two"}},
		"waits for its dependency":       {status("False", "DependencyNotReady", ""), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "DependencyNotReady: one two"}},
		"without its source":             {status("False", "ArtifactFailed", ""), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "ArtifactFailed: one two"}},
		"not healthy":                    {status("False", "HealthCheckFailed", failing), GitOpsObject{State: GitOpsFailed, Commit: "def", Message: "HealthCheckFailed: one two"}},
		"cannot be built":                {status("False", "BuildFailed", history), GitOpsObject{State: GitOpsFailed, Commit: "def", Message: "BuildFailed: one two"}},
		"changed since":                  {strings.Replace(status("True", "ReconciliationSucceeded", history), "generation: 2", "generation: 3", 1), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "Flux has not seen its last change"}},
		"suspended":                      {strings.Replace(status("True", "ReconciliationSucceeded", history), "{metadata", "{spec: {suspend: true}, metadata", 1), GitOpsObject{State: GitOpsSuspended, Commit: "abc", Message: "ReconciliationSucceeded: one two"}},
		"new":                            {`{metadata: {generation: 1}}`, GitOpsObject{State: GitOpsSyncing, Message: "Flux has not seen its last change"}},
		"nonsense":                       {`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [1, {type: 2}], history: {a: 1}, lastAppliedRevision: 3}}`, GitOpsObject{State: GitOpsSyncing}},
	} {
		c.want.Source = fluxSourceDigest(nil)
		if got := fromFlux(parseObjects(t, c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
	for revision, want := range map[string]string{"main@sha1:abc": "abc", "sha256:abc": "abc", "main/abc": "abc", "feature/x@sha1:abc": "abc", "abc": "abc", "": ""} {
		if got := commitOf(revision); got != want {
			t.Errorf("the commit of %q is %q", revision, got)
		}
	}
}

// The source of a Kustomization differs when it applies something else than the file says.
func TestFluxSource(t *testing.T) {
	const spec = "path: ./p, sourceRef: {kind: GitRepository, name: s}, wait: true, dependsOn: [{name: a}]"
	target := func(spec string) GitOpsTarget {
		t.Helper()
		u := parseObjects(t, "{spec: {"+spec+"}}")
		u.SetGroupVersionKind(kustomizations)
		w, ok := GitOpsTargetOf(u.Object)
		if !ok {
			t.Fatal("no Kustomization")
		}
		return w
	}
	for live, want := range map[string]bool{
		spec: true,
		spec + ", force: false, prune: true, interval: 5m": true, // defaults of the API server, and fields that do not decide it
		strings.Replace(spec, "./p", "./q", 1):             false,
		strings.Replace(spec, "name: s", "name: other", 1): false,
		strings.Replace(spec, "name: a", "name: b", 1):     false,
		strings.Replace(spec, "wait: true, ", "", 1):       false,
		spec + ", healthChecks: [{kind: Job, name: j}]":    false,
		spec + ", healthCheckExprs: [{kind: Job}]":         false,
		spec + ", ignore: [{paths: [/spec]}]":              false,
		spec + ", decryption: {provider: sops}":            false,
		spec + ", serviceAccountName: b":                   false,
		spec + ", kubeConfig: {secretRef: {name: b}}":      false,
		spec + ", targetNamespace: b":                      false,
	} {
		if got := target(spec).Source == fromFlux(parseObjects(t, "{spec: {"+live+"}}")).Source; got != want {
			t.Errorf("%s is as in the file: %t", live, got)
		}
	}
}

// The states of an Application, from the fields that Argo CD writes.
func TestArgo(t *testing.T) {
	app := func(sync, health, operation string) string {
		return `{spec: {project: default, source: {repoURL: r, path: p}, destination: {server: s}}, status: {sync: {status: ` + sync + `, revision: abc, comparedTo: {source: {repoURL: r, path: p}, destination: {server: s}}}, health: {status: ` + health + `, message: one, lastTransitionTime: "2026-11-26T08:00:00Z"}` + operation + `}}`
	}
	const stale = "Argo CD has not compared it since its last change"
	const done = `, operationState: {phase: Succeeded, finishedAt: "2026-11-26T09:00:00Z"}`
	for name, c := range map[string]struct {
		text string
		want GitOpsObject
	}{
		"healthy":              {app("Synced", "Healthy", done), GitOpsObject{State: GitOpsReady, Commit: "abc", Since: at("09:00")}},
		"healthy without sync": {app("Synced", "Healthy", ""), GitOpsObject{State: GitOpsReady, Commit: "abc", Since: at("08:00")}},
		"in a sync":            {app("Synced", "Healthy", `, operationState: {phase: Running, message: two}`), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "sync Running: two"}},
		"progressing":          {app("Synced", "Progressing", done), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "Progressing: one"}},
		"suspended":            {app("Synced", "Suspended", done), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "Suspended: one"}},
		"degraded":             {app("Synced", "Degraded", done), GitOpsObject{State: GitOpsFailed, Commit: "abc", Message: "Degraded: one"}},
		"out of sync":          {app("OutOfSync", "Healthy", done), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "OutOfSync"}},
		"sync failed":          {app("OutOfSync", "Healthy", `, operationState: {phase: Failed, message: two, syncResult: {revision: def, source: {repoURL: r, path: p}}}`), GitOpsObject{State: GitOpsFailed, Commit: "def", Message: "sync Failed: two"}},
		"older sync failed":    {app("OutOfSync", "Healthy", `, operationState: {phase: Failed, message: two, syncResult: {revision: abc, source: {repoURL: r, path: old}}}`), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "sync Failed: two"}},
		"sync error":           {app("OutOfSync", "Missing", `, operationState: {phase: Error, message: two}`), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: "sync Error: two"}},
		"cannot be compared":   {app("Unknown", "Healthy", `, conditions: [{type: OrphanedResourceWarning}, {type: ComparisonError, message: three}]`), GitOpsObject{State: GitOpsFailed, Commit: "abc", Message: "ComparisonError: three"}},
		"new":                  {`{spec: {project: default, source: {repoURL: r, path: p}, destination: {server: s}}}`, GitOpsObject{State: GitOpsSyncing, Message: stale}},
		"of another source":    {strings.Replace(app("Synced", "Healthy", done), "path: p}, destination: {server: s}}}", "path: q}, destination: {server: s}}}", 1), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: stale}},
		"of another cluster":   {strings.Replace(app("Synced", "Healthy", done), "server: s}}}", "server: old}}}", 1), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: stale}},
		"failed elsewhere":     {strings.Replace(app("Synced", "Degraded", done), "server: s}}}", "server: old}}}", 1), GitOpsObject{State: GitOpsSyncing, Commit: "abc", Message: stale}},
		"nonsense":             {`{spec: {project: default, source: {repoURL: r, path: p}, destination: {server: s}}, status: {sync: 1, health: [], conditions: {}}}`, GitOpsObject{State: GitOpsSyncing, Message: stale}},
	} {
		c.want.Source = argoSourceDigest(parseObjects(t, `{spec: {project: default, source: {repoURL: r, path: p}, destination: {server: s}}}`).Object)
		if got := fromArgo(parseObjects(t, c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
	chart := parseObjects(t, `{spec: {source: {repoURL: r, chart: c, targetRevision: "1.2", helm: {valuesObject: {n: 1, f: 1.5}}, directory: {jsonnet: {}}}}, status: {sync: {status: Synced, revision: "1.2", comparedTo: {source: {repoURL: r, chart: c, targetRevision: "1.2", helm: {valuesObject: {n: 1, f: 1.5}}}}}, health: {status: Healthy}}}`)
	got := fromArgo(chart)
	if got.Commit != "" || got.State != GitOpsReady {
		t.Errorf("of a chart: %+v", got)
	}
	// A sync of an older version has failed, and the present one is not synced yet.
	for version, want := range map[string]GitOpsState{"1.1": GitOpsSyncing, "1.2": GitOpsFailed} {
		u := parseObjects(t, `{spec: {source: {repoURL: r, chart: c, targetRevision: "1.2"}}, status: {sync: {status: OutOfSync, comparedTo: {source: {repoURL: r, chart: c, targetRevision: "1.2"}}},
  operationState: {phase: Failed, syncResult: {revision: "`+version+`", source: {repoURL: r, chart: c, targetRevision: "`+version+`"}}}}}`)
		if got := fromArgo(u); got.State != want || got.Commit != "" {
			t.Errorf("after the sync of %s has failed: %+v", version, got)
		}
	}
	var file map[string]any
	if err := yaml.Unmarshal([]byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: n}\nspec: {source: {repoURL: r, chart: c, targetRevision: '1.2', helm: {valuesObject: {n: 1, f: 1.5}}}}"), &file); err != nil {
		t.Fatal(err)
	}
	if w, ok := GitOpsTargetOf(file); !ok || w.Source != got.Source || !w.IsChart {
		t.Errorf("the file wants %+v, and the Application has %s", w, got.Source)
	}
	helm, _, _ := unstructured.NestedMap(file, "spec", "source", "helm")
	helm["values"] = "n: null"
	_ = unstructured.SetNestedMap(file, helm, "spec", "source", "helm")
	if w, _ := GitOpsTargetOf(file); w.Source == got.Source {
		t.Error("other values are the same source")
	}
}

// The source of an Application differs when it applies something else than the file says, or
// to another cluster.
func TestArgoSource(t *testing.T) {
	const spec = "project: a, source: {repoURL: r, path: p, targetRevision: main, directory: {recurse: true}}, destination: {server: s}"
	want := argoSourceDigest(parseObjects(t, "{spec: {"+spec+"}}").Object)
	if got := argoSourceDigest(parseObjects(t, "{spec: {"+strings.Replace(spec, "recurse: true", "recurse: true, jsonnet: {}", 1)+"}}").Object); got != want {
		t.Error("a default of Argo CD is a difference")
	}
	for _, change := range [][2]string{
		{"project: a", "project: b"},
		{"path: p", "path: q"},
		{"recurse: true", "recurse: false"},
		{"{server: s}", "{server: other}"},
		{"{server: s}", "{name: s}"},
		{"{server: s}", "{server: s, namespace: n}"},
		{"project: a", "project: a, sources: [{repoURL: x}]"},
	} {
		if got := argoSourceDigest(parseObjects(t, "{spec: {"+strings.Replace(spec, change[0], change[1], 1)+"}}").Object); got == want {
			t.Errorf("%s for %s is no difference", change[1], change[0])
		}
	}
}

// A cluster is ready when all objects of its directory have applied its present content.
func TestJudge(t *testing.T) {
	wanted := []GitOpsTarget{{Kind: "Kustomization", Namespace: "n", Name: "a"}, {Kind: "Kustomization", Namespace: "n", Name: "b"}}
	one := func(name string, s GitOpsState, commit string) GitOpsObject {
		return GitOpsObject{Kind: "Kustomization", Namespace: "n", Name: name, Fleet: "f", State: s, Commit: commit, Since: at("08:00"), Message: "why"}
	}
	later := one("b", GitOpsReady, "now")
	later.Since = at("09:00")
	foreign := one("b", GitOpsReady, "now")
	foreign.Fleet = "other"
	trying := func(attempted string) GitOpsObject {
		o := one("b", GitOpsReady, "now")
		o.Attempted = attempted
		return o
	}
	for name, c := range map[string]struct {
		found []GitOpsObject
		want  GitOpsState
		since time.Time
		text  string
	}{
		"all are ready":               {[]GitOpsObject{one("a", GitOpsReady, "now"), later}, GitOpsReady, at("09:00"), ""},
		"one does not exist":          {[]GitOpsObject{one("a", GitOpsReady, "now")}, GitOpsSyncing, at("08:00"), "Kustomization n/b does not exist yet"},
		"one is of another fleet":     {[]GitOpsObject{one("a", GitOpsReady, "now"), foreign}, GitOpsSyncing, at("08:00"), "Kustomization n/b does not exist yet"},
		"one has other files":         {[]GitOpsObject{one("a", GitOpsReady, "now"), one("b", GitOpsReady, "old")}, GitOpsSyncing, at("08:00"), "Kustomization n/b has applied commit old, which does not have the current files"},
		"one tries the same files":    {[]GitOpsObject{one("a", GitOpsReady, "now"), trying("now")}, GitOpsReady, at("08:00"), ""},
		"one tried other files":       {[]GitOpsObject{one("a", GitOpsReady, "now"), trying("old")}, GitOpsSyncing, at("08:00"), "Kustomization n/b has applied commit now and tried commit old, and one of them does not have the current files"},
		"one has failed":              {[]GitOpsObject{one("a", GitOpsFailed, "now"), one("b", GitOpsSyncing, "old")}, GitOpsFailed, time.Time{}, "Kustomization n/a has failed: why; Kustomization n/b is not ready yet: why"},
		"one has failed with another": {[]GitOpsObject{one("a", GitOpsFailed, "old"), one("b", GitOpsReady, "now")}, GitOpsSyncing, at("08:00"), "Kustomization n/a has failed with commit old, which does not have the current files"},
		"one is suspended":            {[]GitOpsObject{one("a", GitOpsSuspended, "now"), one("b", GitOpsReady, "now")}, GitOpsSyncing, at("08:00"), "Kustomization n/a is suspended"},
	} {
		got, err := JudgeGitOps(wanted, "f", c.found, func(commit string) (bool, error) { return commit == "now", nil })
		if err != nil || got.State != c.want || got.Since != c.since || strings.Join(got.Texts, "; ") != c.text {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	changed := []GitOpsTarget{{Kind: "Kustomization", Namespace: "n", Name: "b", Source: "s2"}}
	if got, err := JudgeGitOps(changed, "f", []GitOpsObject{later}, func(string) (bool, error) { return true, nil }); err != nil || got.State != GitOpsSyncing || got.Texts[0] != "Kustomization n/b does not match the branch yet" {
		t.Errorf("of a changed Kustomization: %+v, %v", got, err)
	}
	if got, err := JudgeGitOps(nil, "f", nil, nil); err != nil || got.State != GitOpsReady {
		t.Errorf("without objects: %+v, %v", got, err)
	}
	wrong := errors.New("no history")
	if _, err := JudgeGitOps(wanted, "f", []GitOpsObject{later}, func(string) (bool, error) { return false, wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	// A chart has no commit: its source says what it applies.
	charts := []GitOpsTarget{{Kind: "Application", Namespace: "n", Name: "c", Source: "s2", IsChart: true}}
	for source, want := range map[string]GitOpsState{"s1": GitOpsSyncing, "s2": GitOpsReady} {
		app := GitOpsObject{Kind: "Application", Namespace: "n", Name: "c", Fleet: "f", State: GitOpsReady, Source: source}
		if got, _ := JudgeGitOps(charts, "f", []GitOpsObject{app}, func(string) (bool, error) { return false, nil }); got.State != want {
			t.Errorf("a chart with the source %s is %+v", source, got)
		}
	}
}

// Reports are limited, and their times are not trusted.
func TestReport(t *testing.T) {
	now := at("12:00")
	r := NewGitOpsReport("prod/eu", now, []GitOpsObject{{State: GitOpsReady, Since: at("13:00"), Message: "a\x1b[2J"}})
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseGitOpsReport(data, "prod/eu", now.Add(-time.Minute))
	if err != nil || got.Objects[0].Since != now || strings.Contains(got.Objects[0].Message, "\x1b") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseGitOpsReport(data, "prod/eu", now.Add(-time.Hour)); err == nil || !strings.Contains(err.Error(), "is from the future") {
		t.Error(err)
	}
	if GitOpsReportBranch("reports", "prod/eu") != "reports/prod/eu.report" {
		t.Error(GitOpsReportBranch("reports", "prod/eu"))
	}
	large := NewGitOpsReport("a", now, make([]GitOpsObject, 5000))
	if _, err := large.Encode(); err == nil {
		t.Error("a large report is encoded")
	}
}

// FuzzReport parses any report without panics.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"format": "fleetc.report/v1", "cluster": "a", "time": "2026-11-26T12:00:00Z", "objects": [{"state": "ready", "since": "2026-11-26T11:00:00Z"}]}`))
	f.Add([]byte(`{"objects": [null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseGitOpsReport(data, "a", at("12:00"))
		if err != nil {
			return
		}
		if _, err := JudgeGitOps([]GitOpsTarget{{Kind: "Kustomization"}}, "", r.Objects, func(string) (bool, error) { return true, nil }); err != nil {
			t.Error(err)
		}
	})
}
