package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// reader creates a user who may read everything and write nothing, with the roles
// of docs/diff.md.
func (p *place) reader(id string) (kubeconfig string) {
	p.Helper()
	kubeconfig, err := p.clusters[id].User("reader", "readers")
	if err != nil {
		p.Fatal(err)
	}
	p.grant(id, "diff", "reader", "readers")
	return kubeconfig
}

const spellings = `package fleet

health: scalers: {match: kinds: ["HorizontalPodAutoscaler.autoscaling"], wait: false}
releases: many: {
	namespace: "many"
	manifests: "environments/many.yaml"
}
releases: space: {
	namespace: "many"
	objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "many"}
}
`

// newSpellings returns a cluster with the fleet many, applied.
func newSpellings(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, clusters.Spec{Name: "one"})
	text, err := os.ReadFile("spellings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.write("environments/many.yaml", string(text))
	p.write("environments/many.cue", spellings)
	p.fleetc("apply", "--yes", "--timeout", "2m").ok(p)
	return p
}

// diffLive runs diff --live as an administrator and as a reader. Both must report
// the same, and write nothing. It returns the reported changes by ID.
func (p *place) diffLive(id, reader string, status int) map[string]liveChange {
	p.Helper()
	p.env = []string{"FLEETC_DIFF_KEY=the same at each run"}
	all, err := p.clusters[id].Requests()
	if err != nil {
		p.Fatal(err)
	}
	tried := p.fleetc("diff", "--live", "-o", "json").exits(p, status)
	predicted := p.fleetc("diff", "--live", "-o", "json", "--kubeconfig", reader).exits(p, status)
	p.checkNoWrites(id, len(all))
	a, b := changesOf(p.T, tried.stdout), changesOf(p.T, predicted.stdout)
	for id, c := range a {
		if c.Compared != "" && (c.Compared != "dry-run" || b[id].Compared != "predicted") {
			p.Errorf("%s is compared by %s, and by a reader by %s", id, c.Compared, b[id].Compared)
		}
	}
	if x, y := plainChanges(p.T, a), plainChanges(p.T, b); x != y {
		p.Errorf("by dry run:\n%s\npredicted:\n%s", x, y)
	}
	return a
}

// checkNoWrites requires that no request of fleetc since the mark changed anything,
// and that the reader used no writing verb.
func (p *place) checkNoWrites(id string, mark int) {
	p.Helper()
	all, err := p.clusters[id].Requests()
	if err != nil {
		p.Fatal(err)
	}
	for _, r := range all[mark:] {
		review := strings.HasPrefix(r.URI, "/apis/authorization.k8s.io/") // a review of rights
		reads := r.Verb == "get" || r.Verb == "list" || review
		if strings.HasPrefix(r.UserAgent, "fleetc/") && (r.Writes() || r.User == "reader" && !reads) {
			p.Errorf("%s sends %s %s", r.User, r.Verb, r.URI)
		}
	}
}

// A liveChange is an object in the output of -o json.
type liveChange struct {
	ID       string      `json:"id"`
	Action   string      `json:"action"`
	Reason   string      `json:"reason"`
	Why      string      `json:"why"`
	Compared string      `json:"compared,omitempty"`
	Fields   []liveField `json:"fields"`
}

type liveField struct {
	Path    string `json:"path"`
	Was     any    `json:"was,omitempty"`
	Is      any    `json:"is,omitempty"`
	Manager string `json:"manager,omitempty"`
}

func changesOf(t *testing.T, stdout string) map[string]liveChange {
	t.Helper()
	var r struct {
		Groups []struct{ Changes []liveChange }
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	out := map[string]liveChange{}
	for _, g := range r.Groups {
		for _, c := range g.Changes {
			out[c.ID] = c
		}
	}
	return out
}

// plainChanges formats changes without the kind of comparison, and without the
// details that a simulated apply cannot know, as docs/diff.md says: defaults in new
// values, and omitted empty values.
func plainChanges(t *testing.T, changes map[string]liveChange) string {
	t.Helper()
	out := map[string]liveChange{}
	for id, c := range changes {
		c.Compared = ""
		c.Fields = slices.Clone(c.Fields)
		for i, f := range c.Fields {
			if _, isMap := f.Is.(map[string]any); isMap && f.Path != "" {
				c.Fields[i].Is = "something new"
			}
			if f.Is == false || f.Is == "" || f.Is == float64(0) {
				c.Fields[i].Is = nil
			}
		}
		out[id] = c
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A cluster after an apply has no differences, for an administrator and for a
// reader. Comparing takes fewer requests than there are objects.
func TestLiveExample(t *testing.T) {
	p := newExample(t, simulated)
	reader := p.reader("ci")
	p.fleetc("apply", "--yes", "--timeout", "2m", "dev/ci").ok(p)
	all, err := p.clusters["ci"].Requests()
	if err != nil {
		t.Fatal(err)
	}
	mark := len(all)
	p.fleetc("diff", "--live", "dev/ci").ok(p).says(p, "^no differences in 1 cluster$")
	p.fleetc("diff", "--live", "--kubeconfig", reader, "dev/ci").ok(p).says(p, "^no differences in 1 cluster$",
		"^compared without a dry run: 18[0-9] objects in dev/ci: the user is not allowed to patch them$")
	p.checkNoWrites("ci", mark)
	if all, err = p.clusters["ci"].Requests(); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, r := range all[mark:] {
		if r.User == "reader" {
			n[r.Verb]++
		}
	}
	t.Logf("requests of a reader: %v", n)
	if n["get"]+n["list"]+n["create"] > 120 {
		t.Errorf("181 objects are compared with too many requests: %v", n)
	}
}

// A simulated apply agrees with a dry run for many kinds of objects and changes.
func TestLiveSimulated(t *testing.T) {
	p := newSpellings(t)
	reader := p.reader("one")
	if d := p.diffLive("one", reader, 0); len(d) > 0 {
		t.Errorf("right after an apply: %v", d)
	}
	patch := func(object, patch string) {
		p.kubectl("one", append([]string{"-n", "many", "patch", "--type=json", "-p", patch}, strings.Fields(object)...)...)
	}
	// Changes by other tools.
	for _, c := range []struct{ object, patch string }{
		{"deployment spelled", `[{"op": "replace", "path": "/spec/replicas", "value": 1}]`},
		{"deployment spelled", `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "example.com/other"}]`},
		{"deployment spelled", `[{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "MORE", "value": "1"}}]`},
		{"deployment spelled", `[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "more"}]`},
		{"deployment spelled", `[{"op": "remove", "path": "/spec/template/spec/automountServiceAccountToken"}]`},
		{"deployment spelled", `[{"op": "remove", "path": "/spec/template/spec/containers/1"}]`},
		{"deployment spelled", `[{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}]`},
		{"statefulset spelled", `[{"op": "replace", "path": "/spec/template/spec/terminationGracePeriodSeconds", "value": 5}]`},
		{"networkpolicy spelled", `[{"op": "add", "path": "/spec/ingress/0/ports/0/endPort", "value": 90}]`},
		{"networkpolicy spelled", `[{"op": "remove", "path": "/spec/egress"}]`},
		{"configmap spelled", `[{"op": "remove", "path": "/data/key"}, {"op": "add", "path": "/data/more", "value": "x"}]`},
		{"secret spelled", `[{"op": "replace", "path": "/data/bytes", "value": "eA=="}, {"op": "replace", "path": "/data/text", "value": "eQ=="}]`},
		{"resourcequota spelled", `[{"op": "replace", "path": "/spec/hard/pods", "value": "51"}, {"op": "add", "path": "/spec/hard/services", "value": "5"}]`},
		{"service spelled", `[{"op": "remove", "path": "/spec/ports/1"}]`},
		{"hpa spelled", `[{"op": "replace", "path": "/spec/metrics/0/resource/target/averageValue", "value": "1Ti"}]`},
		{"role spelled", `[{"op": "add", "path": "/rules/0/verbs/-", "value": "list"}]`},
		{"rolebinding spelled", `[{"op": "add", "path": "/subjects/-", "value": {"kind": "User", "name": "me", "apiGroup": "rbac.authorization.k8s.io"}}]`},
		{"validatingwebhookconfiguration spelled", `[{"op": "replace", "path": "/webhooks/0/rules/0/scope", "value": "Namespaced"}]`},
		{"crd spellings.example.com", `[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more", "value": {"type": "string"}}]`},
		{"spelling spelled", `[{"op": "replace", "path": "/spec/mode", "value": "fancy"}, {"op": "replace", "path": "/spec/list/0/size", "value": 9}]`},
		{"spelling spelled", `[{"op": "replace", "path": "/spec/keyed/0/size", "value": 9}, {"op": "replace", "path": "/spec/keyed/1/size", "value": 9}]`},
		{"serviceaccount spelled", `[{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}]`},
	} {
		patch(c.object, c.patch)
	}
	p.kubectl("one", "-n", "many", "delete", "cronjob", "spelled")
	p.diffLive("one", reader, 1)
	p.fleetc("apply", "--yes", "--force-conflicts", "--timeout", "2m").ok(p)
	if d := p.diffLive("one", reader, 0); len(d) > 0 {
		t.Errorf("right after an apply: %v", d)
	}
	// Changes in the fleet.
	for from, to := range map[string]string{
		"example.com/one:1\n          ports":               "example.com/one:2\n          ports",
		"            - {name: EMPTY, value: \"\"}\n":       "",
		"cpu: 1000m, memory: 1024Mi":                       "cpu: 2000m",
		"hostNetwork: false":                               "hostNetwork: true",
		"  replicas: 2\n  paused: false\n":                 "",
		"args: [--level, \"1\"]":                           "args: [--level, \"2\"]",
		"{labels: {app: stateful}}":                        "{labels: {app: stateful, more: x}}",
		"{port: 80}, {port: 53, protocol: UDP}":            "{port: 53, protocol: UDP}, {port: 80}, {port: 81, protocol: TCP}",
		"stringData: {text: hunter2, empty: \"\"}":         "stringData: {text: hunter3}",
		"defaultRequest: {cpu: 0.1, memory: 64Mi}":         "defaultRequest: {cpu: 100m, memory: 65Mi}",
		"- {kind: Group, name: somebody}":                  "- {kind: User, name: somebody}",
		"cpu: 1000m, list: [{name: a}], keyed: [{name: b}": "cpu: 1, list: [{name: c}, {name: a}], keyed: [{name: b, size: 5}",
		"suspend: true":                                    "suspend: false",
		"minAvailable: 0":                                  "maxUnavailable: 1",
	} {
		p.edit("environments/many.yaml", from, to)
	}
	p.diffLive("one", reader, 1)
}
