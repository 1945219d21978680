package unify

import (
	"testing"
)

func TestPatches(t *testing.T) {
	c, err := cluster(t, `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], values: replicas: 3}
releases: a: patches: {
	labels: strategic: metadata: labels: team: releases.b.namespace
	z: {
		target: {kinds: ["Deployment.apps"], names: ["web-*", "[ab]"], namespaces: ["n"], releases: ["a"], labels: app: "*"}
		optional:  true
		strategic: spec: {
			replicas: releases.a.values.replicas
			template: spec: containers: [{name: "web", "$patch": "delete"}]
			paused: null
			$retainKeys: ["replicas"]
		}
	}
	"j-son": json: [
		{op: "add", path: "/a~1b/-", value: 12345678901234567},
		{op: "test", path: "", value: null},
		{op: "replace", path: "/f", value: {x: [1.5, 2.0, -3, "4", true]}},
		{op: "move", from: "/a", path: "/b"},
		{op: "remove", path: "/c~0d"},
	]
}
releases: b: {namespace: "m", objects: [#cm], patches: i: images: {"docker.io/": "r.example/hub/", "quay.io/a/b": "r.example/b:1"}}
-- prod.cue --
releases: a: patches: m: merge: data: gone: null
-- eu.cue --
releases: a: patches: m: merge: data: here: "x"
releases: a: patches: none: {optional: true, merge: {}}
`)
	if err != nil {
		t.Fatal(text(err))
	}
	got := map[string]any{}
	for _, r := range c.Releases {
		for _, p := range r.Patches {
			pos := p.Pos.String()
			p.Pos.File = ""
			got[r.Name+" "+p.Name] = map[string]any{"at": pos, "is": []any{p.Target, p.Optional, p.Strategic, p.Merge, p.JSON, p.Images}}
		}
	}
	const all = `{}`
	want := map[string]string{
		"a labels": `{"at":"environments/fleet.cue:4:2","is":[` + all + `,false,{"metadata":{"labels":{"team":"m"}}},null,null,null]}`,
		"a z": `{"at":"environments/fleet.cue:5:2","is":[{"kinds":["Deployment.apps"],"names":["web-*","[ab]"],"namespaces":["n"],"releases":["a"],"labels":{"app":"*"}},true,` +
			`{"spec":{"$retainKeys":["replicas"],"paused":null,"replicas":3,"template":{"spec":{"containers":[{"$patch":"delete","name":"web"}]}}}},null,null,null]}`,
		"a j-son": `{"at":"environments/fleet.cue:15:2","is":[` + all + `,false,null,null,[` +
			`{"Op":"add","Path":"/a~1b/-","From":"","Value":12345678901234567},{"Op":"test","Path":"","From":"","Value":null},` +
			`{"Op":"replace","Path":"/f","From":"","Value":{"x":[1.5,2,-3,"4",true]}},{"Op":"move","Path":"/b","From":"/a","Value":null},` +
			`{"Op":"remove","Path":"/c~0d","From":"","Value":null}],null]}`,
		"a m":    `{"at":"environments/prod/fleet.cue:2:23","is":[` + all + `,false,null,{"data":{"gone":null,"here":"x"}},null,null]}`,
		"a none": `{"at":"environments/prod/eu/fleet.cue:3:23","is":[` + all + `,true,null,{},null,null]}`,
		"b i":    `{"at":"environments/fleet.cue:23:56","is":[` + all + `,false,null,null,null,{"docker.io/":"r.example/hub/","quay.io/a/b":"r.example/b:1"}]}`,
	}
	for name, w := range want {
		if g := encode(t, got[name]); g != w {
			t.Errorf("%s:\n got %s\nwant %s", name, g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d patches, want %d", len(got), len(want))
	}
	var names []string
	for _, p := range c.Releases[0].Patches {
		names = append(names, p.Name)
	}
	if g := encode(t, names); g != `["j-son","labels","m","none","z"]` {
		t.Errorf("the order is %s", g)
	}
	// Integers stay integers in operations.
	if v, ok := c.Releases[0].Patches[0].JSON[0].Value.(int64); !ok || v != 12345678901234567 {
		t.Errorf("a whole number is %T", c.Releases[0].Patches[0].JSON[0].Value)
	}
}

func TestPatchFaults(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"none and several", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: patches: none: {}
releases: a: patches: two: merge: a: 1
-- eu.cue --
releases: a: patches: two: images: "a/": "b/"`, `
environments/fleet.cue:3:23: releases.a.patches.none: a patch requires exactly one of strategic, merge, json and images, but has none [FL1510]
    hint: write what changes, as in strategic: spec: replicas: 2
    in prod/eu
environments/prod/eu/fleet.cue:2:28: releases.a.patches.two.images: a patch requires exactly one of strategic, merge, json and images, but has merge and images [FL1510]
    hint: write one patch for each
    in prod/eu
`},
		{"empty", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: patches: {p: strategic: {}, q: merge: {}, r: json: [], s: images: {}}`, `
environments/fleet.cue:3:27: releases.a.patches.p.strategic: is empty: the patch changes nothing [FL1510]
    hint: write what changes, or set optional: true
    in prod/eu
environments/fleet.cue:3:45: releases.a.patches.q.merge: is empty: the patch changes nothing [FL1510]
    hint: write what changes, or set optional: true
    in prod/eu
environments/fleet.cue:3:59: releases.a.patches.r.json: is empty: the patch changes nothing [FL1510]
    hint: write what changes, or set optional: true
    in prod/eu
environments/fleet.cue:3:72: releases.a.patches.s.images: is empty: the patch changes nothing [FL1510]
    hint: write what changes, or set optional: true
    in prod/eu
`},
		{"patterns", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: patches: "my-p": {
	target: names: ["ok", "[a"]
	merge: a: 1
}`, `
environments/fleet.cue:4:24: releases.a.patches."my-p".target.names.1: malformed pattern [a [FL1510]
    hint: write \ before a literal bracket
    in prod/eu
`},
		{"operations", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: patches: p: json: [
	{op: "add", path: "/a"},
	{op: "move", path: "/a"},
	{op: "remove", path: "/a~2"},
	{op: "copy", from: "/~", path: "/a"},
]`, `
environments/fleet.cue:4:2: releases.a.patches.p.json.0: add requires a value [FL1510]
    hint: set value, which may be null
    in prod/eu
environments/fleet.cue:5:2: releases.a.patches.p.json.1: move requires from [FL1510]
    hint: set from to the path of the value, as in from: "/metadata/labels/app"
    in prod/eu
environments/fleet.cue:6:17: releases.a.patches.p.json.2.path: /a~2 is not a valid JSON pointer: ~ is written as ~0, and / in a name as ~1 [FL1510]
    hint: write ~0 for ~
    in prod/eu
environments/fleet.cue:7:15: releases.a.patches.p.json.3.from: /~ is not a valid JSON pointer: ~ is written as ~0, and / in a name as ~1 [FL1510]
    hint: write ~0 for ~
    in prod/eu
`},
		{"what the schema says", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: patches: p: json: [{op: "add", path: "a", value: 1}, {path: "/a"}, {op: "ad", path: "/a", value: 1}]
releases: a: patches: q: {merg: a: 1}
releases: a: patches: r: {target: kind: ["Pod"], merge: a: string}`, `
environments/fleet.cue:3:51: releases.a.patches.p.json.0.path: invalid value "a": it must be a path that begins with / [FL1211]
    hint: write it as in "/spec/replicas"
    in prod/eu
environments/fleet.cue:3:86: releases.a.patches.p.json.2.op: "ad" is not one of "add", "copy", "move", "remove", "replace", "test" [FL1201]
    environments/a.cue:5:15: and here
    hint: did you mean "add"?
    in prod/eu
environments/fleet.cue:4:27: releases.a.patches.q.merg: field not allowed [FL1204]
    hint: did you mean merge?
    in prod/eu
environments/fleet.cue:5:35: releases.a.patches.r.target.kind: field not allowed [FL1204]
    hint: did you mean kinds?
    in prod/eu
`},
		{"what is not concrete", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: patches: r: merge: a: string`, `
environments/fleet.cue:3:36: releases.a.patches.r.merge.a: has no value: it must be a string [FL1205]
    hint: set a to a value
    in prod/eu
`},
		{"images", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm]}
releases: a: patches: p: images: {"10.0.0.1:5000/": "r.example", "quay.io": "r.example/", "gcr.io/": "", "": "r.example/"}`, `
environments/fleet.cue:3:35: releases.a.patches.p.images."10.0.0.1:5000/": "10.0.0.1:5000/" and "r.example" do not both end with a slash, which would be lost or doubled [FL1510]
    hint: end both with a slash, or neither
    in prod/eu
environments/fleet.cue:3:66: releases.a.patches.p.images."quay.io": "quay.io" and "r.example/" do not both end with a slash, which would be lost or doubled [FL1510]
    hint: end both with a slash, or neither
    in prod/eu
environments/fleet.cue:3:91: releases.a.patches.p.images."gcr.io/": is empty [FL1510]
    hint: write the new beginning of the image names
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
