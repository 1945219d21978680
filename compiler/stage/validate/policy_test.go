package validate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cuelang.org/go/cue/load"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/unify"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// cluster evaluates a fleet of one layer with these files, and one cluster
// below it.
func cluster(t testing.TB, root ...string) *fleet.Cluster {
	t.Helper()
	c, err := evaluate(t, root...)
	if err != nil {
		t.Fatal(text(err))
	}
	return c
}

// rulesPackage is a package that the fleet of a test may import.
const rulesPackage = `package rules

other: 1

// _least has the name of a hidden field of the fleet's.
_least: 7

#Min: {
	#min: int | *2
	object: {spec: {replicas: >=#min, ...}, ...}
	...
}

set: p: object: spec: replicas: >=_least
`

func evaluate(t testing.TB, root ...string) (*fleet.Cluster, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fleet") // need not exist
	overlay := map[string]load.Source{}
	add := func(name, text string) {
		overlay[filepath.Join(dir, filepath.FromSlash(name))] = load.FromString(text)
	}
	add("cue.mod/module.cue", `module: "example.com/infra"`+"\nlanguage: version: \"v0.17.0\"\n")
	for _, pkg := range []string{"schema", "lib/policy"} {
		files, err := filepath.Glob(filepath.Join("../../..", pkg, "*.cue"))
		if err != nil || len(files) == 0 {
			t.Fatal("no files of", pkg, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			add(path.Join("cue.mod/pkg/github.com/fleetc/fleetc", pkg, filepath.Base(f)), string(data))
		}
	}
	add("rules/rules.cue", rulesPackage)
	for i, text := range root {
		add(fmt.Sprintf("environments/fleet%d.cue", i), text)
	}
	add("environments/eu/cluster.cue", "package fleet\n\ncluster: {name: \"eu\", kubernetes: \"1.37\", labels: {tier: \"gold\", team: \"core\"}}\nreleases: {}\n")
	in := load.Instances([]string{"./environments/eu"}, &load.Config{Dir: dir, ModuleRoot: dir, Package: "fleet", Overlay: overlay})[0]
	if in.Err != nil {
		t.Fatalf("load: %v", in.Err)
	}
	return unify.Cluster(dir, "eu", []fleet.Layer{{Name: "root", Dir: "environments"}, {Name: "eu", Dir: "environments/eu"}}, in)
}

// policyObjects returns the objects of a YAML stream as objects of the release app.
func policyObjects(t testing.TB, stream string) []fleet.Object {
	t.Helper()
	var out []fleet.Object
	for doc := range strings.SplitSeq(stream, "\n---\n") {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			t.Fatal(err)
		}
		out = append(out, fleet.Object{
			Unstructured: &unstructured.Unstructured{Object: m}, Release: &fleet.Release{Name: "app"}, Template: "templates/app.yaml",
			Pos: diag.Pos{File: "environments/app.cue", Line: 7, Col: 2},
		})
	}
	return out
}

func text(err error) string {
	var b bytes.Buffer
	if err := diag.WriteText(&b, err, nil); err != nil {
		return err.Error()
	}
	return b.String()
}

// check returns the printed faults of the objects.
func check(t testing.TB, root, stream, today string) string {
	t.Helper()
	var k validate.PolicyChecker
	return text(k.Objects(t.Context(), cluster(t, root), policyObjects(t, stream), today))
}

// policyObject returns the YAML of a Deployment with the replicas and labels.
func policyObject(spec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, labels: {tier: gold, app.kubernetes.io/name: web}}\nspec: " + spec + "\n"
}

// TestRules checks one object against one rule. want is the fault between the
// message and the origin; empty for no fault.
func TestRules(t *testing.T) {
	for _, test := range []struct{ name, rule, object, want string }{
		{"a bound", `p: object: spec: replicas: >=2`, `{replicas: 2}`, ""},
		{"a bound that is broken", `p: object: spec: replicas: >=2`, `{replicas: 1}`, "spec.replicas is 1: it must be >=2"},
		{"a bound without a value", `p: object: spec: replicas: >=2`, `{}`, "spec.replicas is missing: it must be >=2"},
		{"a required field", `p: object: spec: replicas!: >=2`, `{}`, "spec.replicas is missing"},
		{"an optional field", `p: object: spec: replicas?: >=2`, `{}`, ""},
		{"an optional field that is broken", `p: object: spec: replicas?: >=2`, `{replicas: 0}`, "spec.replicas is 0: it must be >=2"},
		{"a value that unifying would add", `p: object: spec: paused: false`, `{}`, "spec.paused is missing: it must be false"},
		{"an empty struct that unifying would add", `p: object: spec: strategy: {type?: "Recreate"}`, `{}`, ""},
		{"a default that unifying would add", `p: object: spec: replicas: *1 | int`, `{}`, "spec.replicas is missing: it must be 1"},
		{"a whole number as float", `p: object: spec: replicas: int & >=2`, `{replicas: 2.0}`, ""},
		{"no whole number", `p: object: spec: replicas: int`, `{replicas: 2.5}`, "spec.replicas is 2.5: it must be int"},
		{"null is absent", `p: object: spec: paused?: bool`, `{paused: null}`, ""},
		{"one of several", `p: object: spec: type: "A" | "B"`, `{type: C}`, `spec.type is "C": it must be one of "A", "B"`},
		{"a rule with words of its own", `p: object: spec: type: "A" | error("must be A")`, `{type: C}`, `spec.type is "C": must be A`},
		{
			"what the rule computes", `p: object: {metadata: {name: string, labels: {"app.kubernetes.io/name": name + "x", ...}}, ...}`, `{}`,
			`metadata.labels["app.kubernetes.io/name"] is "web": it must be "webx"`,
		},
		{"a condition", `p: object: {metadata: name: string, if strings.HasPrefix(metadata.name, "w") {spec: replicas: >=3}}`, `{replicas: 2}`, "spec.replicas is 2: it must be >=3"},
		{
			"a list with names", `p: object: spec: c: [...{image: !~"latest"}]`, `{c: [{name: a, image: x}, {name: b, image: "x:latest"}]}`,
			`spec.c[1].image is "x:latest": it must be !~"latest" (c[1] is b;`,
		},
		{
			"several fields", `p: object: spec: {a: 1, b: 1, c: 1, d: 1}`, `{a: 2, b: 2, c: 2, d: 2}`,
			"spec.a is 2: it must be 1; spec.b is 2: it must be 1; spec.c is 2: it must be 1; and 1 more",
		},
		{"an item that a list lacks", `p: object: spec: l: [_, ...]`, `{l: []}`, "spec.l incompatible list lengths (0 and 1)"},
		{"labels of the cluster", `p: object: metadata: labels: tier: cluster.labels.tier`, `{}`, ""},
		{"labels that the cluster lacks", `p: object: {if cluster.labels.none != _|_ {spec: replicas: >=9}, ...}`, `{replicas: 1}`, ""},
		{"all labels of the cluster", `p: object: metadata: labels: {[string]: or([for _, v in cluster.labels {v}, "web"])}`, `{}`, ""},
		{"hidden fields and definitions", `p: object: spec: #Spec`, `{replicas: 1}`, "spec.replicas is 1: it must be >=2"},
		{"a definition that refers to itself", `p: object: spec: #Tree`, `{kids: [{name: a, kids: [{name: 1}]}]}`, "spec.kids[0].kids[0].name is 1: it must be string (kids[0] is a;"},
		{
			"a helper beside the object", `p: {object: {metadata: name: string, spec: label: string}, _want: object.metadata.name, object: spec: label: _want}`, `{label: other}`,
			`spec.label is "other": it must be "web"`,
		},
		{"a closed definition", `p: object: #Closed`, `{replicas: 1}`, "spec.replicas is 1: field not allowed"},
		{"another package", `p: rules.#Min & {#min: 3}`, `{replicas: 2}`, "spec.replicas is 2: it must be >=3"},
		{"a set of another package", `rules.set`, `{replicas: 2}`, "spec.replicas is 2: it must be >=7"},
		{"a field of the file", `p: object: spec: replicas: >=Least`, `{replicas: 4}`, "spec.replicas is 4: it must be >=5"},
		{"matchN", `p: object: spec: matchN(1, [{a!: _}, {b!: _}])`, `{a: 1, b: 2}`, "spec invalid value {a:1,b:2} (does not satisfy matchN): 2 matched, expected 1"},
		{
			"violations", `p: {objects: _, violations: [for id, o in objects.Deployment if o.spec.replicas < 2 {kind: "Deployment", "id": id, message: "has \(o.spec.replicas)"}]}`,
			`{replicas: 1}`, "has 1",
		},
		{"no violations", `p: {objects: _, violations: [for id, o in objects.Deployment if o.spec.replicas < 2 {kind: "Deployment", "id": id}]}`, `{replicas: 2}`, ""},
		{"a policy called object", `object: {message: "no", object: spec: replicas: >=2}`, `{replicas: 1}`, "spec.replicas is 1: it must be >=2"},
		{"a kind that is not there", `p: {objects: _, violations: [for id, o in objects.Pod {kind: "Pod", "id": id}]}`, `{}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := "policies: " + test.rule
			if !strings.HasPrefix(test.rule, "object") {
				rule += "\npolicies: p: message: \"no\""
			}
			got := check(t, rulesHead+rule+"\n", policyObject(test.object), "")
			switch {
			case test.want == "" && got != "":
				t.Errorf("fault:\n%s", got)
			case test.want != "" && !strings.HasPrefix(got, "environments/app.cue:7:2: Deployment.apps shop/web: no: "+test.want):
				t.Errorf("fault:\n%s\nwant %s", got, test.want)
			}
		})
	}
}

// rulesHead has definitions for the rules of tests.
const rulesHead = `package fleet

import (
	"strings"
	"example.com/infra/rules"
)

_strings: strings.MinRunes(1)
_rules:   rules.other
_least:   2
let Least = 5
_used: Least
#Spec: {replicas: >=_least, ...}
#Tree: {name?: string, kids?: [...#Tree], ...}
#Closed: {apiVersion: string, kind: string, metadata: {...}, spec: {}}
`

func TestFaultText(t *testing.T) {
	const root = `package fleet

policies: "two-replicas": {
	message: "run two of it"
	match: kinds: ["Deployment"]
	object: spec: {
		replicas: >=2
	}
}
`
	const want = `environments/app.cue:7:2: Deployment.apps shop/web: run two of it: spec.replicas is 1: it must be >=2 (release app, templates/app.yaml) [FL1701]
    environments/fleet0.cue:7:3: and here
    hint: change it, or waive the rule: policies: "two-replicas": waivers: "...": {reason: "...", match: names: ["web"]}
    in eu
`
	if got := check(t, root, policyObject("{replicas: 1}"), ""); got != want {
		t.Errorf("fault:\n%s\nwant:\n%s", got, want)
	}
}

func TestMatch(t *testing.T) {
	for match, faults := range map[string]bool{
		`{}`:                                       true,
		`kinds: ["Deployment"]`:                    true,
		`kinds: ["Deployment.apps", "Pod"]`:        true,
		`kinds: ["Deployment.extensions"]`:         false,
		`{names: ["w?b"], namespaces: ["sh*"]}`:    true,
		`{names: ["w?b"], namespaces: ["kube-*"]}`: false,
		`labels: tier: "*"`:                        true,
		`labels: tier: "silver"`:                   false,
		`releases: ["app"]`:                        true,
		`releases: ["other"]`:                      false,
	} {
		got := check(t, "package fleet\n\npolicies: p: {message: \"no\", match: "+match+", object: spec: replicas: 9}\n", policyObject("{replicas: 1}"), "")
		if (got != "") != faults {
			t.Errorf("match: %s: faults %q", match, got)
		}
	}
}

func TestWaivers(t *testing.T) {
	const head = "package fleet\n\npolicies: p: {message: \"no\", object: spec: replicas: >=2}\n"
	for _, test := range []struct{ name, waiver, today, want string }{
		{"it accepts", `{reason: "r", match: names: ["web"]}`, "2026-11-20", ""},
		{"it accepts all", `{reason: "r"}`, "2026-11-20", ""},
		{"until its last day", `{reason: "r", until: "2026-11-20"}`, "2026-11-20", ""},
		{
			"it has ended", `{reason: "r", until: "2026-11-19"}`, "2026-11-20",
			"environments/fleet0.cue:4:23: policies.p.waivers.w: the waiver ended on 2026-11-19 [FL1704]\n    hint: change the objects, or set a later date in until\n    in eu\n",
		},
		{"nobody asks for the day", `{reason: "r", until: "2026-11-19"}`, "", ""},
		{
			"another object", `{reason: "r", match: names: ["other"]}`, "",
			"environments/app.cue:7:2: Deployment.apps shop/web: no: spec.replicas is 1: it must be >=2 (release app, templates/app.yaml) [FL1701]\n" +
				"    environments/fleet0.cue:3:44: and here\n" +
				"    hint: change it, or waive the rule: policies: p: waivers: \"...\": {reason: \"...\", match: names: [\"web\"]}\n    in eu\n" +
				"environments/fleet0.cue:4:23: policies.p.waivers.w: the waiver is not needed: no object that it matches breaks the rule [FL1704]\n" +
				"    hint: remove it, or write it in the layers that need it\n    in eu\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := check(t, head+"policies: p: waivers: w: "+test.waiver+"\n", policyObject("{replicas: 1}"), test.today); got != test.want {
				t.Errorf("faults:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

func TestRulesInError(t *testing.T) {
	for _, test := range []struct{ name, rule, want string }{
		{
			"violations that never are", `{objects: _, n: int, violations: [if n > 1 {kind: "Deployment", id: "shop/web"}]}`,
			"the rule fails: policies.p.violations: non-concrete value int in operand to > [FL1703]",
		},
		{
			"violations of a field that is not everywhere", `{objects: _, violations: [for id, o in objects.Deployment if o.spec.paused {kind: "Deployment", "id": id}]}`,
			"the rule fails: policies.p.violations: no field is called paused [FL1703]",
		},
		{
			"a violation of nothing", `{objects: _, violations: [{kind: "Deployment", id: "web"}]}`,
			"the rule fails: violations name Deployment web, which is not one of the objects [FL1703]",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := strings.Replace(test.rule, "n: int", "_n: int", 1)
			rule = strings.Replace(rule, "if n >", "if _n >", 1)
			got := check(t, "package fleet\n\npolicies: p: {message: \"no\"} & "+rule+"\n", policyObject("{replicas: 1}"), "")
			want := "environments/fleet0.cue:3:11: policies.p: " + test.want + "\n"
			if !strings.HasPrefix(got, want) {
				t.Errorf("faults:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestSecretsAreNotTold(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2, length: hunter2}\n"
	for _, rule := range []string{
		`{stringData: password: "x"}`, `{stringData: password: =~"^x"}`, `{stringData: password: "x" | error("must be x")}`,
		`{stringData: password: "x" | "y"}`, `matchN(1, [{stringData: x!: _}, {a!: _}])`, `{stringData: length: strings.MinRunes(9)}`,
	} {
		got := check(t, rulesHead+"policies: p: {message: \"no\", object: "+rule+"}\n", secret, "")
		if !strings.Contains(got, "Secret s: no: ") || strings.Contains(got, "hunter") {
			t.Errorf("%s: %s", rule, got)
		}
	}
}

func TestObjectsOfNoUse(t *testing.T) {
	var deep any = "x"
	for range 1000 {
		deep = map[string]any{"a": deep}
	}
	many, wide := make([]any, 3000), map[string]any{}
	for i := range many {
		many[i] = map[string]any{}
	}
	for i := range 100_001 {
		wide[fmt.Sprint(i)] = true
	}
	for name, o := range map[string]map[string]any{
		"many":    {"kind": "A", "metadata": map[string]any{"name": "x"}, "many": many},
		"wide":    {"kind": "A", "metadata": map[string]any{"name": "x"}, "wide": wide},
		"deep":    {"kind": "A", "metadata": map[string]any{"name": "x"}, "deep": deep},
		"large":   {"kind": "A", "metadata": map[string]any{"name": "x"}, "large": strings.Repeat("x", 5<<20)},
		"no JSON": {"kind": "A", "metadata": map[string]any{"name": "x"}, "f": func() {}},
		"NaN":     {"kind": "A", "metadata": map[string]any{"name": "x"}, "f": math.NaN()},
	} {
		for _, rule := range []string{"object: {...}", "{objects: _, violations: []}"} {
			var k validate.PolicyChecker
			err := k.Objects(t.Context(), cluster(t, "package fleet\n\npolicies: p: {message: \"no\"}\npolicies: p: "+rule+"\n"), []fleet.Object{{Unstructured: &unstructured.Unstructured{Object: o}}, {}}, "")
			if all := diag.All(err); len(all) != 1 || !strings.HasPrefix(all[0].Msg, "no: ") || len(all[0].Msg) > 200 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestChecker tests that a Checker finds the same for many clusters
// concurrently, and evaluates each object once.
func TestChecker(t *testing.T) {
	c := cluster(t, "package fleet\n\npolicies: p: {message: \"no\", object: spec: replicas: >=2}\npolicies: q: {message: \"none\", objects: _, violations: [for id, o in objects.Deployment if o.spec.replicas == 1 {kind: \"Deployment\", \"id\": id}]}\n")
	var k validate.PolicyChecker
	var wg sync.WaitGroup
	found := make([]string, 16)
	for i := range found {
		wg.Go(func() {
			var objs []fleet.Object
			for n := range 4 {
				objs = append(objs, policyObjects(t, policyObject(fmt.Sprintf("{replicas: %d, n: %d}", n, n*(i%2))))...)
				objs[n].SetName(fmt.Sprint("web-", n))
			}
			found[i] = text(k.Objects(t.Context(), c, objs, ""))
		})
	}
	wg.Wait()
	for _, f := range found {
		if f != found[0] || strings.Count(f, "shop/web-0: no") != 1 || strings.Count(f, "shop/web-1: no") != 2 {
			t.Fatalf("faults:\n%s\nand\n%s", f, found[0])
		}
	}
}

// TestPlainSource checks a rule in a single file.
func TestPlainSource(t *testing.T) {
	var k validate.PolicyChecker
	c := &fleet.Cluster{ID: "eu", Policies: []fleet.Policy{
		{Name: "p", Message: "no", Source: "object: spec: replicas: >=2"},
		{Name: "q", Message: "none", Source: "objects: _\nviolations: [for id, _ in objects.Deployment {kind: \"Deployment\", \"id\": id}]"},
		{Name: "r", Message: "never", Source: "object: spec: {"},
		{Name: "s", Message: "never", Source: "rule: {}"},
		{Name: "t", Message: "never", Source: "object: {a: 1, a: 2}"},
		{Name: "u", Message: "never", Source: "import \"example.com/x\"\nobject: x"},
	}}
	got := text(k.Objects(t.Context(), c, policyObjects(t, policyObject("{replicas: 1}")), ""))
	for _, want := range []string{
		"shop/web: no: spec.replicas", "shop/web: none (", "policies.r: the rule fails: ", "policies.s: the rule fails: it must have exactly one of",
		"policies.t: the rule fails: object.a: set to two different values", "policies.u: the rule fails: ",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func FuzzObjects(f *testing.F) {
	f.Add(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "image": "b", "securityContext": null}]}}`)
	f.Add(`{"kind": "Deployment", "metadata": {"name": 1, "labels": []}, "spec": {"template": [1, {"_x": 1e400, "#y": 1.0, "\u0000": "a"}]}}`)
	c := cluster(f, benchFleet)
	var k validate.PolicyChecker
	f.Fuzz(func(t *testing.T, data string) {
		var m map[string]any
		d := json.NewDecoder(strings.NewReader(data))
		d.UseNumber()
		if d.Decode(&m) != nil || m == nil {
			return
		}
		objs := []fleet.Object{{Unstructured: &unstructured.Unstructured{Object: m}}}
		first, second := k.Objects(t.Context(), c, objs, ""), k.Objects(t.Context(), c, objs, "")
		if text(first) != text(second) {
			t.Errorf("%s\n%s", text(first), text(second))
		}
	})
}

// TestMisspeltFields has rules with fields that no object can have. A rule applies to
// all objects that it matches, so a field of one of the kinds is fine, and so are fields
// that are not similar to another.
func TestMisspeltFields(t *testing.T) {
	const deployment = `policies: p: {message: "M", match: kinds: ["Deployment"], object: `
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n"
	for _, test := range []struct{ name, rule, objects, want string }{
		{"a field", deployment + `spec: {replica?: <9, ...}}`, policyObject("{}"), "policies.p.object.spec.replica: did you mean replicas?"},
		{"a field that must be set", deployment + `spec: {replica: <9, ...}}`, policyObject("{}"), "policies.p.object.spec.replica: did you mean replicas?"},
		{"a field that exists", deployment + `spec: {replicas?: <9, ...}}`, policyObject("{}"), ""},
		{"in a list", deployment + `spec: template: spec: containers: [...{imge?: !="a", ...}]}`, policyObject("{template: {spec: {containers: []}}}"), "policies.p.object.spec.template.spec.containers[...].imge: did you mean image?"},
		{"a label", deployment + `metadata: labels: {tier?: "gold", teir?: "gold", ...}}`, policyObject("{}"), ""},
		{"no similar field", deployment + `spec: {containers?: [...], ...}}`, policyObject("{}"), ""},
		{"a field of another kind", `policies: p: {message: "M", match: kinds: ["Deployment", "Pod"], object: {spec: {hostNetwork?: false, replicas?: <9, ...}, ...}}`, policyObject("{}") + "\n---\n" + pod, ""},
		{"a custom resource", `policies: p: {message: "M", match: kinds: ["Deployment", "Own.example.com"], object: {spec: {replica?: <9, ...}, ...}}`, policyObject("{}") + "\n---\napiVersion: example.com/v1\nkind: Own\nmetadata: {name: o}\nspec: {}\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := check(t, "package fleet\n\n"+test.rule+"\n", test.objects, "")
			field, hint, _ := strings.Cut(test.want, ": ")
			if test.want == "" && got != "" || !strings.Contains(got, field+": no object that it matches can have this field") && test.want != "" || !strings.Contains(got, hint) {
				t.Errorf("got\n%s\nwant %q", got, test.want)
			}
		})
	}
}
