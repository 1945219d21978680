package unify

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cuelang.org/go/cue/load"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestPolicies(t *testing.T) {
	c, err := cluster(t, `
-- root.cue --
policies: {
	"two-replicas": {
		message: "run two"
		match: {kinds: ["Deployment"], names: ["web-*"], namespaces: ["shop"], releases: ["a"], labels: tier: "*"}
		object: spec: replicas: >=2
	}
	named: {message: "for \(cluster.name)", objects: _, violations: [for id, _ in objects.Pod {kind: "Pod", "id": id}]}
}
-- eu.cue --
policies: "two-replicas": waivers: {
	old: {reason: "no state", until: "2026-12-31", match: names: ["web-old"]}
	all: reason: "none"
}`)
	if err != nil {
		t.Fatal(text(err))
	}
	if len(c.Policies) != 2 {
		t.Fatalf("policies: %+v", c.Policies)
	}
	named, two := c.Policies[0], c.Policies[1]
	if named.Name != "named" || named.Message != "for eu" || named.Pos != (diag.Pos{File: "environments/fleet.cue", Line: 8, Col: 2}) {
		t.Errorf("named: %+v", named)
	}
	if two.Pos != (diag.Pos{File: "environments/fleet.cue", Line: 3, Col: 2}) || two.Message != "run two" {
		t.Errorf("two-replicas: %+v", two)
	}
	m := two.Match
	if m.Kinds[0] != "Deployment" || m.Names[0] != "web-*" || m.Namespaces[0] != "shop" || m.Releases[0] != "a" || m.Labels["tier"] != "*" {
		t.Errorf("match: %+v", m)
	}
	if len(two.Waivers) != 2 || two.Waivers[0].Name != "all" {
		t.Fatalf("waivers: %+v", two.Waivers)
	}
	want := fleet.PolicyWaiver{
		Name: "old", Reason: "no state", Until: "2026-12-31", Match: fleet.Selector{Names: []string{"web-old"}},
		Pos: diag.Pos{File: "environments/prod/eu/fleet.cue", Line: 3, Col: 2},
	}
	if got := two.Waivers[1]; got.Name != want.Name || got.Reason != want.Reason || got.Until != want.Until || got.Pos != want.Pos || got.Match.Names[0] != "web-old" {
		t.Errorf("waiver: %+v\nwant %+v", got, want)
	}
}

// TestRuleSource checks the content of a rule's text.
func TestRuleSource(t *testing.T) {
	c, err := cluster(t, `
-- root.cue --
import "strings"
_min: 2
_most: *9 | int
_labels: {tier: "gold", [string]: string}
#Strict: {replicas: >=_min & <=_most, ...}
#Tree: {name?: string, kids?: [...#Tree], ...}
let Prefix = strings.ToLower("REG/")
releases: a: {namespace: "n", objects: [#cm], defaults: root: n: 2}
policies: {
	none: {message: "m \(cluster.kubernetes)", object: {}}
	refs: {message: "m", object: {spec: #Strict, metadata: {name: =~"^\(Prefix)", labels: _labels}}, match: kinds: ["Deployment"]}
	tree: {message: "m", object: #Tree}
	late: {message: "m", object: spec: replicas: <=releases.a.values.n}
	where: {message: "m", object: metadata: labels: {tier: cluster.labels.tier, if cluster.labels.none != _|_ {none: "x"}}}
}
policies: where: waivers: w: reason: "r"
-- prod.cue --
if cluster.labels.tier == "gold" {
	policies: gold: {message: "m", object: {}}
	policies: shiny: {message: "m", object: {}}
}
-- eu.cue --
cluster: labels: tier: "gold"
releases: a: defaults: eu: n: 5
`)
	if err != nil {
		t.Fatal(text(err))
	}
	for _, test := range []struct{ name, contains, not string }{
		{"none", `policies.none|none: object: {}`, "message|kubernetes|Strict|strings|.data.cue"},
		{"refs", `#Strict|_min: 2|_most: *9 \| int|[string]: string|let Prefix|import "strings"|object.spec	environments/fleet.cue:12:32`, "match|kubernetes|tree|Tree"},
		{"tree", "kids?: [...#Tree]", "Strict"},
		{"late", `"n": 5`, "namespace|defaults"},
		{"where", `"tier": "gold"`, "waivers|kubernetes"},
		{"gold", `"tier": "gold"`, "shiny|kubernetes"},
	} {
		var source string
		for _, p := range c.Policies {
			if p.Name == test.name {
				source = p.Source
			}
		}
		for _, s := range strings.Split(strings.ReplaceAll(test.contains, `\|`, "\x00"), "|") {
			if s = strings.ReplaceAll(s, "\x00", "|"); !strings.Contains(source, s) {
				t.Errorf("%s: no %q in\n%s", test.name, s, source)
			}
		}
		for _, s := range strings.Split(test.not, "|") {
			if strings.Contains(source, s) {
				t.Errorf("%s: %q in\n%s", test.name, s, source)
			}
		}
	}
}

// TestRuleSourceShared checks that clusters have the same rule text if they
// differ only in fields that the rule does not read.
func TestRuleSourceShared(t *testing.T) {
	const root = `
-- root.cue --
policies: x: {message: "m of \(cluster.name)", object: metadata: labels: tier: cluster.labels.tier}
policies: y: {message: "m", object: {}}
-- eu.cue --
`
	var sources []string
	for _, eu := range []string{
		`cluster: labels: {tier: "gold", team: "a"}`,
		"policies: x: waivers: w: reason: \"r\"\ncluster: {context: \"c\", labels: {tier: \"gold\", team: \"b\"}}",
	} {
		c, err := cluster(t, root+eu)
		if err != nil {
			t.Fatal(text(err))
		}
		sources = append(sources, c.Policies[0].Source)
	}
	if sources[0] != sources[1] {
		t.Errorf("sources differ:\n%s\n%s", sources[0], sources[1])
	}
}

func TestPolicyFaults(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"two rules, and none", `
-- root.cue --
policies: a: {message: "m", object: {}, violations: []}
policies: b: {message: "m", objects: _}
`, `
environments/fleet.cue:2:11: policies.a: a policy must have exactly one rule [FL1702]
    hint: set either object, or objects and violations
    in prod/eu
environments/fleet.cue:3:11: policies.b: a policy must have exactly one rule [FL1702]
    hint: set either object, or objects and violations
    in prod/eu
`},
		{"a name that nobody gave", `
-- root.cue --
policies: "two-replicas": {message: "m", object: {}}
-- eu.cue --
policies: "two-replica": waivers: x: reason: "r"
`, `
environments/prod/eu/fleet.cue:2:11: policies."two-replica": no rule is called two-replica [FL1702]
    hint: did you mean two-replicas?
    in prod/eu
`},
		{"a rule without a name", `
-- root.cue --
policies: {message: "m", match: kinds: ["Deployment"], object: spec: replicas: >1}
-- eu.cue --
`, `
environments/fleet.cue:2:21: policies.message: "m" is a string, and must be a map [FL1203]
    hint: set it to a map
    in prod/eu
environments/fleet.cue:2:26: policies.match: a policy must have a name [FL1702]
    hint: write policies: NAME: match: ...
    in prod/eu
environments/fleet.cue:2:33: policies.match.kinds: field not allowed [FL1204]
    hint: use one of match, message, object, objects, violations, waivers
    in prod/eu
environments/fleet.cue:2:64: policies.object.spec: field not allowed [FL1204]
    hint: use one of match, message, object, objects, violations, waivers
    in prod/eu
`},
		{"a name without any rule", `
-- root.cue --
policies: a: match: kinds: ["Deployment"]
-- eu.cue --
`, `
environments/fleet.cue:2:11: policies.a: no rule is called a [FL1702]
    hint: add a message and a rule: object, or objects and violations
    in prod/eu
`},
		{"fields that are missing", `
-- root.cue --
policies: a: {object: {}, waivers: w: match: names: ["x"]}
`, `
environments/fleet.cue:2:11: policies.a.message: field is required but not present [FL1205]
    hint: say what is wrong with an object that breaks the rule, and what to do
    in prod/eu
environments/fleet.cue:2:36: policies.a.waivers.w.reason: field is required but not present [FL1205]
    hint: add reason: "..."
    in prod/eu
`},
		{"typos", `
-- root.cue --
policies: a: {message: "m", objct: {}, object: {}, match: kind: ["Pod"]}
`, `
environments/fleet.cue:2:29: policies.a.objct: field not allowed [FL1204]
    hint: did you mean object?
    in prod/eu
environments/fleet.cue:2:59: policies.a.match.kind: field not allowed [FL1204]
    hint: did you mean kinds?
    in prod/eu
`},
		{"patterns and dates", `
-- root.cue --
policies: a: {message: "m", object: {}, match: names: ["[x"], waivers: w: {reason: "r", until: "2026-02-30", match: namespaces: ["a[", "b"]}}
policies: b: {message: "m", object: {}, waivers: w: {reason: "r", until: "tomorrow"}}
`, `
environments/fleet.cue:2:48: policies.a.match.names: malformed pattern [x [FL1211]
    hint: write \ before a literal bracket
    in prod/eu
environments/fleet.cue:2:89: policies.a.waivers.w.until: 2026-02-30 is not a valid date [FL1211]
    hint: write it as in 2026-12-31
    in prod/eu
environments/fleet.cue:2:117: policies.a.waivers.w.match.namespaces: malformed pattern a[ [FL1211]
    hint: write \ before a literal bracket
    in prod/eu
environments/fleet.cue:3:74: policies.b.waivers.w.until: invalid value "tomorrow": it must be a date [FL1211]
    hint: write it as in "2026-12-31"
    in prod/eu
`},
		{"a rule that no object can keep, and the rest is still checked", `
-- root.cue --
policies: a: {message: "m", object: {a: 1, a: 2, b: string}}
releases: r: {namespace: "n", objects: [#cm], values: n: int}
-- eu.cue --
cluster: labels: a: string
`, `
environments/fleet.cue:2:47: policies.a.object.a: set to two different values, 2 and 1 [FL1202]
    environments/fleet.cue:2:41: and here
    hint: keep one of the two lines
    in prod/eu
environments/fleet.cue:3:58: releases.r.values.n: has no value: it must be an integer [FL1205]
    hint: set n, or declare it as n? if it is optional
    in prod/eu
environments/prod/eu/fleet.cue:2:21: cluster.labels.a: has no value: it must be a string [FL1205]
    hint: set a to a value
    in prod/eu
`},
		{"what is required at the top", `
-- root.cue --
policies: a: {message: string, object: {}}
environment!: string
`, `
environments/a.cue:4:1: environment: field is required but not present [FL1205]
    hint: set it
    in prod/eu
environments/fleet.cue:2:15: policies.a.message: has no value: it must be !="" [FL1205]
    hint: set message to a value
    in prod/eu
`},
		{"a reference to nothing", `
-- root.cue --
policies: a: {message: "m", object: spec: #Nothing}
`, `
environments/fleet.cue:2:43: policies.a.object.spec: no field or definition is called #Nothing [FL1005]
    hint: correct the name, or declare it: #Nothing: ...
    in prod/eu
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := cluster(t, test.in)
			if got := "\n" + text(err); got != test.want {
				t.Errorf("faults:%s\nwant:%s", got, test.want)
			}
		})
	}
}

// TestPoliciesApart checks that policies in separate files do not change the
// values of a fleet.
func TestPoliciesApart(t *testing.T) {
	const rest = `
releases: [string]: {namespace: "n", objects: [#cm]}
releases: a: defaults: root: n: 1
releases: b: {defaults: root: n: releases.a.values.n + 1, values: n?: <=5}
`
	const policies = `
policies: p: {message: "m", object: spec: replicas: <=releases.b.values.n}
`
	for _, n := range []string{"3", "9"} {
		eu := "\n-- eu.cue --\nreleases: a: defaults: eu: n: " + n + "\n"
		together, err1 := cluster(t, "-- root.cue --"+rest+eu+policies)
		apart, err2 := cluster(t, "-- root.cue --"+rest+eu+"-- prod.cue --"+policies)
		if text(err1) != text(err2) || (err1 == nil) != (n == "3") {
			t.Errorf("faults differ:\n%s\n%s", text(err1), text(err2))
		}
		if err1 != nil || err2 != nil {
			continue
		}
		if a, b := together.Policies[0].Source, apart.Policies[0].Source; !strings.Contains(a, `"n": 4`) || !strings.Contains(b, `"n": 4`) {
			t.Errorf("sources:\n%s\n%s", a, b)
		}
		if a, b := exact(together.Releases[1].Values), exact(apart.Releases[1].Values); encode(t, a) != encode(t, b) {
			t.Errorf("values differ: %v and %v", a, b)
		}
	}
	_, err := cluster(t, "-- root.cue --"+rest+"-- prod.cue --\npolicies: a: {message: \"m\", object: spec: #Nothing}\n")
	if want := "environments/prod/fleet.cue:2:43: policies.a.object.spec: no field or definition is called #Nothing [FL1005]\n    hint: correct the name, or declare it: #Nothing: ...\n    in prod/eu\n"; text(err) != want {
		t.Errorf("faults:\n%s\nwant:\n%s", text(err), want)
	}
}

// TestPoliciesAtOnce evaluates several clusters that share loaded layers in
// parallel.
func TestPoliciesAtOnce(t *testing.T) {
	root := filepath.Join(t.TempDir(), "fleet") // it need not exist
	overlay := map[string]load.Source{}
	add := func(name, text string) {
		overlay[filepath.Join(root, filepath.FromSlash(name))] = load.FromString(text)
	}
	add("cue.mod/module.cue", `module: "example.com/infra"`+"\nlanguage: version: \"v0.17.0\"\n")
	add("rules/rules.cue", "package rules\nimport \"strings\"\n#Named: {#prefix: string, object: {metadata: {name: strings.HasPrefix(#prefix), ...}, ...}, ...}\n")
	add("environments/a.cue", "package fleet\nreleases: a: {namespace: \"n\", objects: [], defaults: root: n: 1}\n#Spec: {replicas: <=releases.a.values.n, ...}\n")
	add("environments/policies.cue", "package fleet\nimport \"example.com/infra/rules\"\npolicies: {n: {message: \"m\", object: spec: #Spec}, p: rules.#Named & {message: \"m\", #prefix: cluster.name}}\n")
	const clusters = 6
	for i := range clusters {
		add(fmt.Sprintf("environments/c%d/a.cue", i), fmt.Sprintf("package fleet\ncluster: {name: \"c%d\", kubernetes: \"1.36\"}\nreleases: a: defaults: c%d: n: %d\n", i, i, 10+i))
	}
	instances := load.Instances([]string{"./environments/..."}, &load.Config{Dir: root, ModuleRoot: root, Package: "fleet", Overlay: overlay})
	var wg sync.WaitGroup
	found := map[string]bool{}
	var mu sync.Mutex
	for _, in := range instances {
		name := filepath.Base(in.Dir)
		if name == "environments" {
			continue
		}
		wg.Go(func() {
			c, err := Cluster(root, name, []fleet.Layer{{Name: "root", Dir: "environments"}, {Name: name, Dir: "environments/" + name}}, in)
			mu.Lock()
			defer mu.Unlock()
			n := strings.TrimPrefix(name, "c")
			if err != nil || len(c.Policies) != 2 || !strings.Contains(c.Policies[0].Source, `"n": 1`+n) || !strings.Contains(c.Policies[1].Source, `"name": "c`+n) {
				t.Errorf("%s: %v", name, err)
			}
			found[name] = true
		})
	}
	wg.Wait()
	if len(found) != clusters {
		t.Errorf("clusters: %v", found)
	}
}
