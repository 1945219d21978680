package unify

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// preamble begins the root layer of every test.
const preamble = `package fleet
import "github.com/fleetc/fleetc/schema"
cluster?:     schema.#Cluster
environment?: string
releases:     schema.#Releases
stages?:      schema.#Stages
#cm: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x"}
`

// cluster evaluates the fleet of a txtar archive. The files are named after
// layers: root.cue, prod.cue and eu.cue are the layers of prod/eu.
func cluster(t *testing.T, archive string) (*fleet.Cluster, error) {
	t.Helper()
	root, layers, instances := loaded(t, archive)
	in := instances[len(instances)-1]
	if in.Err != nil {
		t.Fatalf("load: %v", in.Err)
	}
	return Cluster(root, "prod/eu", layers, in)
}

// loaded returns the fleet of an archive and its layers with the instances
// that end at them.
func loaded(t testing.TB, archive string) (string, []fleet.Layer, []*build.Instance) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "fleet") // it need not exist
	overlay := map[string]load.Source{}
	add := func(name, text string) {
		overlay[filepath.Join(root, filepath.FromSlash(name))] = load.FromString(text)
	}
	add("cue.mod/module.cue", `module: "example.com/infra"`+"\nlanguage: version: \"v0.17.0\"\n")
	names, err := fs.Glob(fleetc.Schema, "*.cue")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		data, err := fs.ReadFile(fleetc.Schema, n)
		if err != nil {
			t.Fatal(err)
		}
		add(path.Join("cue.mod/pkg", fleetc.SchemaPath, n), string(data))
	}
	dirs := map[string]string{"root": "environments", "prod": "environments/prod", "eu": "environments/prod/eu"}
	add("environments/a.cue", preamble)
	add("environments/prod/eu/a.cue", "package fleet\ncluster: {name: \"eu\", kubernetes: \"1.36\"}\n")
	for _, f := range txtar.Parse([]byte(archive)).Files {
		layer := strings.TrimSuffix(f.Name, ".cue")
		add(path.Join(dirs[layer], "fleet.cue"), "package fleet\n"+string(f.Data))
	}
	layers := []fleet.Layer{{Name: "root", Dir: "environments"}, {Name: "prod", Dir: "environments/prod"}, {Name: "eu", Dir: "environments/prod/eu"}}
	var args []string
	for _, l := range layers {
		args = append(args, "./"+l.Dir)
	}
	add("environments/prod/a.cue", "package fleet\n")
	return root, layers, load.Instances(args, &load.Config{Dir: root, ModuleRoot: root, Package: "fleet", Overlay: overlay})
}

func TestClusterValues(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{
			"nothing", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}`,
			`{"a":{}}`,
		},
		{
			"defaults of every layer, and values", `
-- root.cue --
releases: [string]: {namespace: "n", objects: [#cm]}
releases: a: {defaults: root: n: 2}
releases: b: {defaults: root: n: 2}
releases: c: {defaults: root: n: 2}
-- prod.cue --
releases: b: defaults: prod: n: 3
releases: c: defaults: prod: n: 3
-- eu.cue --
releases: c: values: n: 5`,
			`{"a":{"n":2},"b":{"n":3},"c":{"n":5}}`,
		},
		{
			"maps merge, lists and scalars replace, null stays for the chart", `
-- root.cue --
releases: a: {namespace: "n", chart: path: "charts/a", defaults: root: {m: {x: 1, y: {z: 1}}, l: [1, 2], s: "a", gone: q: 1}}
-- prod.cue --
releases: a: defaults: prod: {m: {y: z: 2, w: true}, l: [3], gone: null}
-- eu.cue --
releases: a: defaults: eu: {s: m: -1.5}`,
			`{"a":{"gone":null,"l":[3],"m":{"w":true,"x":1,"y":{"z":2}},"s":{"m":-1.5}}}`,
		},
		{
			"two files of one layer unify", `
-- prod.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: defaults: prod: x: 1
releases: a: defaults: prod: y: 1`,
			`{"a":{"x":1,"y":1}}`,
		},
		{
			"a value wins over defaults of any shape", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: {x: 1, y: ["p"], z: {q: "pin"}}}
-- eu.cue --
releases: a: defaults: eu: {x: 2, y: ["d", "e"], z: {q: "d", r: "d"}}`,
			`{"a":{"x":1,"y":["p"],"z":{"q":"pin","r":"d"}}}`,
		},
		{
			"a constraint takes a default", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: {x: >=1, y: [...string], z?: int, w: *"cue" | string, v: *"cue" | string}}
-- eu.cue --
releases: a: defaults: eu: {x: 2, y: ["d", "e"], z: 3, w: "said"}`,
			`{"a":{"v":"cue","w":"said","x":2,"y":["d","e"],"z":3}}`,
		},
		{
			"references see final values", `
-- root.cue --
releases: [string]: objects: [#cm]
releases: es: {namespace: "efk", defaults: root: {port: 9200, host: "es.\(releases.es.namespace).svc"}}
releases: kibana: {namespace: "kibana", defaults: root: url: "http://\(releases.es.values.host):\(releases.es.values.port)"}
releases: agent: {namespace: "agent", values: {url: releases.kibana.values.url, port: releases.es.values.port}}
-- prod.cue --
releases: es: defaults: prod: port: 9201`,
			`{"agent":{"port":9201,"url":"http://es.efk.svc:9201"},"es":{"host":"es.efk.svc","port":9201},"kibana":{"url":"http://es.efk.svc:9201"}}`,
		},
		{
			"a value that refers wins over a default, also where CUE has a default of its own", `
-- root.cue --
releases: [string]: {namespace: "n", objects: [#cm]}
releases: a: values: {p: *1 | int, q?: int}
releases: a: defaults: root: q: 4
releases: b: {values: {p: releases.a.values.p, q: releases.a.values.q}, defaults: root: {p: 7, q: 7}}
-- eu.cue --
releases: a: defaults: eu: p: 2`,
			`{"a":{"p":2,"q":4},"b":{"p":2,"q":4}}`,
		},
		{
			"a long chain of references", `
-- root.cue --
releases: {for i in [0,1,2,3,4,5,6,7,8,9] {"r\(i)": {namespace: "n", objects: [#cm], defaults: root: {
	if i == 0 {v: 1}
	if i > 0 {v: releases["r\(i-1)"].values.v + 1}
}}}}`,
			`{"r0":{"v":1},"r1":{"v":2},"r2":{"v":3},"r3":{"v":4},"r4":{"v":5},"r5":{"v":6},"r6":{"v":7},"r7":{"v":8},"r8":{"v":9},"r9":{"v":10}}`,
		},
		{
			"a value from all releases", `
-- root.cue --
releases: [string]: objects: [#cm]
releases: a: {namespace: "a", defaults: root: logging: false}
releases: b: {namespace: "b", defaults: root: logging: true}
releases: log: {namespace: "l", defaults: root: exclude: [for n, r in releases if n != "log" if r.values.logging != _|_ if !r.values.logging {r.namespace}]}
-- eu.cue --
releases: b: defaults: eu: logging: false`,
			`{"a":{"logging":false},"b":{"logging":false},"log":{"exclude":["a","b"]}}`,
		},
		{
			"numbers keep their text", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], defaults: root: {i: 1000000, f: 0.5, big: 12345678901234567890, neg: -3}, values: {j: 1000000}}`,
			`{"a":{"big":12345678901234567890,"f":0.5,"i":1000000,"j":1000000,"neg":-3}}`,
		},
		{
			"elements of lists take types", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: l?: [...{p: int, q: *1 | int}], defaults: root: l: [{p: 3}]}`,
			`{"a":{"l":[{"p":3,"q":1}]}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := cluster(t, test.in)
			if err != nil {
				t.Fatal(text(err))
			}
			got := map[string]any{}
			for _, r := range c.Releases {
				got[r.Name] = exact(r.Values)
			}
			if g := encode(t, got); g != test.want {
				t.Errorf("values:\n got %s\nwant %s", g, test.want)
			}
		})
	}
}

func TestClusterFaults(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"policy", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], defaults: root: n: 2}
-- prod.cue --
releases: a: {defaults: prod: n: 3, values: n?: >=3}
-- eu.cue --
releases: a: defaults: eu: n: 1`, `
environments/prod/eu/fleet.cue:2:31: releases.a.values.n: invalid value 1: it must be >=3 [FL1201]
    environments/prod/fleet.cue:2:49: and here
    hint: change the value, or the rule
    in prod/eu
`},
		{"pins conflict", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: k: "Deployment"}
-- eu.cue --
releases: a: values: k: "DaemonSet"`, `
environments/prod/eu/fleet.cue:2:25: releases.a.values.k: set to two different values, "DaemonSet" and "Deployment" [FL1202]
    environments/fleet.cue:2:58: and here
    hint: keep one of them; write a value that lower layers may change in defaults: LAYER, not in values
    in prod/eu
`},
		{"unknown layer", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
-- prod.cue --
releases: a: defaults: prd: n: 3`, `
environments/prod/fleet.cue:2:24: releases.a.defaults.prd: no layer is called prd [FL1105]
    hint: did you mean prod?
    in prod/eu
`},
		{"layer of another file", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: defaults: prod: n: 3
-- prod.cue --
releases: a: defaults: prod: m: 3`, `
environments/fleet.cue:3:24: releases.a.defaults.prod: defaults of the layer prod are set in a file of the layer root [FL1105]
    hint: write defaults: root, or move this into a file of prod
    in prod/eu
`},
		{"typo at the top", `
-- root.cue --
relases: a: {namespace: "n", objects: [#cm]}`, `
environments/fleet.cue:2:1: relases: field not allowed [FL1204]
    hint: did you mean releases?
    in prod/eu
`},
		{"typo in a release", `
-- root.cue --
releases: "my-app": {namespac: "n", namespace: "m", objects: [#cm]}`, `
environments/fleet.cue:2:22: releases."my-app".namespac: field not allowed [FL1204]
    hint: did you mean namespace?
    in prod/eu
`},
		{"typo of a struct", `
-- root.cue --
releases: a: {namespace: "n", chrt: {path: "x", y: 1}, objects: [#cm]}
releases: b: {namespace: "n", chart: {paht: "x"}}`, `
environments/fleet.cue:2:31: releases.a.chrt: field not allowed [FL1204]
    hint: did you mean chart?
    in prod/eu
environments/fleet.cue:3:39: releases.b.chart.paht: field not allowed [FL1204]
    hint: did you mean path?
    in prod/eu
`},
		{"missing", `
-- root.cue --
releases: a: objects: [#cm]
releases: b: {namespace: "x", objects: [#cm], values: n: int}`, `
environments/fleet.cue:2:11: releases.a.namespace: field is required but not present [FL1205]
    hint: add namespace: "NAME"
    in prod/eu
environments/fleet.cue:3:58: releases.b.values.n: has no value: it must be an integer [FL1205]
    hint: set n, or declare it as n? if it is optional
    in prod/eu
`},
		{"no source", `
-- root.cue --
releases: a: namespace: "n"`, `
environments/fleet.cue:2:11: releases.a: a release must have exactly one source [FL1107]
    hint: set one of chart, jsonnet, kustomize, manifests, objects
    in prod/eu
`},
		{"two sources", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], chart: path: "x"}`, `
environments/fleet.cue:2:47: releases.a: a release must have exactly one source [FL1107]
    environments/fleet.cue:2:31: and here
    hint: keep one of chart, objects
    in prod/eu
`},
		{"half a chart", `
-- root.cue --
releases: a: {namespace: "n", chart: {repo: "https://example.com", name: "x"}}
`, `
environments/fleet.cue:2:31: releases.a.chart: a chart must have exactly one of path; repo, name, version and digest; git and digest [FL1303]
    hint: run fleetc chart add, which writes all of a chart's fields
    in prod/eu
`},
		{"two charts in one", `
-- root.cue --
releases: b: {namespace: "n", chart: {repo: "https://example.com", path: "x"}}`, `
environments/fleet.cue:2:31: releases.b.chart: a chart must have exactly one of path; repo, name, version and digest; git and digest [FL1303]
    hint: run fleetc chart add, which writes all of a chart's fields
    in prod/eu
`},
		{"circle of plain references", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: {host: img.tag, img: tag: host}}`, `
environments/fleet.cue:2:62: releases.a.values.host: refers to itself: releases.a.values.host -> releases.a.values.img.tag -> releases.a.values.host [FL1011]
    environments/fleet.cue:2:81: and here
    hint: set one of them to a value
    in prod/eu
`},
		{"cycle inside of values", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: {p: q + 1, q: p + 1}}`, `
environments/fleet.cue:2:59: releases.a.values.p: refers to itself through q [FL1011]
    hint: set one of them to a value
    in prod/eu
environments/fleet.cue:2:69: releases.a.values.q: refers to itself through p [FL1011]
    hint: set one of them to a value
    in prod/eu
`},
		{"typo in defaults of closed values", `
-- root.cue --
#Values: {replicas?: int, img?: {repo?: string, tag?: string}}
releases: a: {namespace: "n", objects: [#cm], values: #Values, defaults: root: {replcas: 3, img: tga: "x"}}`, `
environments/fleet.cue:3:90: releases.a.values.replcas: field not allowed [FL1204]
    hint: did you mean replicas?
    in prod/eu
environments/fleet.cue:3:103: releases.a.values.img.tga: field not allowed [FL1204]
    hint: did you mean tag?
    in prod/eu
`},
		{"one of several", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: mode: "x" | "y"}
-- eu.cue --
releases: a: defaults: eu: mode: "z"`, `
environments/prod/eu/fleet.cue:2:34: releases.a.values.mode: "z" is not one of "x", "y" [FL1201]
    environments/fleet.cue:2:61: and here
    environments/fleet.cue:2:67: and here
    hint: did you mean "x"?
    in prod/eu
`},
		{"objects that are none", `
-- root.cue --
releases: a: {namespace: "n", objects: {apiVersion: "v1", kind: "ConfigMap"}}
releases: b: {namespace: "n", objects: null}
releases: c: {namespace: "n", objects: [1]}`, `
environments/fleet.cue:2:41: releases.a.objects.apiVersion: objects must be a map or a list, and each object a map [FL1503]
    hint: write objects: app: {apiVersion: ..., kind: ...}
    in prod/eu
environments/fleet.cue:3:31: releases.b.objects: objects must be a map or a list, and each object a map [FL1503]
    hint: write objects: app: {apiVersion: ..., kind: ...}
    in prod/eu
environments/fleet.cue:4:41: releases.c.objects[0]: objects must be a map or a list, and each object a map [FL1503]
    hint: write objects: app: {apiVersion: ..., kind: ...}
    in prod/eu
`},
		{"several faults of a release, and of others", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], stag: "x", values: {x?: >=3, y?: string}, defaults: root: {x: 1, y: 2}}
releases: b: objects: [#cm]
releases: c: namespace: "n"`, `
environments/fleet.cue:2:47: releases.a.stag: field not allowed [FL1204]
    hint: did you mean stage?
    in prod/eu
environments/fleet.cue:2:71: releases.a.values.x: invalid value 1: it must be >=3 [FL1201]
    environments/fleet.cue:2:109: and here
    hint: change the value, or the rule
    in prod/eu
environments/fleet.cue:2:80: releases.a.values.y: 2 is an integer, and must be a string [FL1203]
    environments/fleet.cue:2:115: and here
    hint: write "2"
    in prod/eu
environments/fleet.cue:3:11: releases.b.namespace: field is required but not present [FL1205]
    hint: add namespace: "NAME"
    in prod/eu
environments/fleet.cue:4:11: releases.c: a release must have exactly one source [FL1107]
    hint: set one of chart, jsonnet, kustomize, manifests, objects
    in prod/eu
`},
		{"a policy by reference", `
-- root.cue --
#Policy: {min: >=3, computed: <10}
releases: [string]: {namespace: "n", objects: [#cm]}
releases: a: {values: {x?: #Policy.min, y?: string}, defaults: root: {x: 1, y: "d"}}
releases: b: {values: y: "\(releases.b.namespace)-z", defaults: root: y: "d"}`, `
environments/fleet.cue:2:16: releases.a.values.x: invalid value 1: it must be >=3 [FL1201]
    environments/fleet.cue:4:74: and here
    hint: change the value, or the rule
    in prod/eu
`},
		{"release name", `
-- root.cue --
releases: "My_App": {namespace: "n", objects: [#cm]}`, `
environments/fleet.cue:2:11: releases.My_App: "My_App" is not a valid release name [FL1114]
    hint: use at most 53 lower-case letters and digits, with dashes between them
    in prod/eu
`},
		{"stages", `
-- root.cue --
stages: [{name: "crds"}, {name: "apps"}]
releases: a: {namespace: "n", objects: [#cm], stage: "app"}`, `
environments/fleet.cue:3:54: releases.a.stage: no stage is called app [FL1109]
    hint: did you mean apps?
    in prod/eu
`},
		{"two stages of one name", `
-- root.cue --
stages: [{name: "crds"}, {name: "crds"}]`, `
environments/fleet.cue:2:27: stages: two stages are called crds [FL1109]
    environments/fleet.cue:2:11: and here
    hint: rename one of them
    in prod/eu
`},
		{"circle", `
-- root.cue --
releases: [string]: {namespace: "n", objects: [#cm]}
releases: a: defaults: root: x: "\(releases.b.values.y)-1"
releases: b: defaults: root: y: "\(releases.a.values.x)-2"`, `
environments/fleet.cue:3:33: releases.a.values.x: refers to itself: releases.a.values.x -> releases.b.values.y -> releases.a.values.x [FL1011]
    environments/fleet.cue:4:33: and here
    hint: set one of them to a value
    in prod/eu
`},
		{"a list that adds to itself", `
-- root.cue --
releases: [string]: {namespace: "n", objects: [#cm]}
releases: a: {values: args?: [...string], defaults: root: args: ["x"]}
-- eu.cue --
import "list"
releases: a: defaults: eu: {args: list.Concat([releases.a.values.args, ["y"]]), y: "z"}`, `
environments/prod/eu/fleet.cue:3:35: releases.a.values.args: depends on itself: each evaluation changes the value [FL1011]
    hint: refer to a default of a layer above, as in releases.NAME.defaults.root.FIELD, and not to the value
    in prod/eu
`},
		{"reference to nothing", `
-- root.cue --
releases: [string]: {namespace: "n", objects: [#cm]}
releases: a: defaults: root: x: releases.b.values.y
releases: b: {}`, `
environments/fleet.cue:3:51: releases.a.defaults.root.x: no field is called y [FL1204]
    hint: correct the name, or set the field
    in prod/eu
`},
		{"kubernetes version", `
-- eu.cue --
cluster: kubernetes: 1.36`, `
environments/prod/eu/a.cue:2:35: cluster.kubernetes: set to two different values, "1.36" and 1.36 [FL1202]
    environments/prod/eu/fleet.cue:2:22: and here
    hint: keep one of them
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

func text(err error) string {
	var b bytes.Buffer
	if err := diag.WriteText(&b, err, nil); err != nil {
		return err.Error()
	}
	return b.String()
}

// exact returns the tree with the original text of numbers.
func exact(t *fleet.Tree) any {
	switch {
	case t.IsMap():
		m := map[string]any{}
		for k, v := range t.Fields {
			m[k] = exact(v)
		}
		return m
	case t.List != nil:
		l := []any{}
		for _, v := range t.List {
			l = append(l, exact(v))
		}
		return l
	}
	return t.Scalar
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
