package unify

import "testing"

// Layers add to ownership by name, and it is plain data.
func TestOwnership(t *testing.T) {
	c, err := cluster(t, `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], ownership: {
	scaled: {target: kinds: ["Deployment.apps"], fields: ["spec.replicas", "spec.list[name=x].y"], leave: true}
	data: {fields: ["data.\"a.b\""], take: true}
}}
releases: a: replace: ["Job", "Deployment.apps"]
-- eu.cue --
releases: a: ownership: scaled: optional: true
`)
	if err != nil {
		t.Fatal(text(err))
	}
	r := c.Releases[0]
	const want = `[{"Name":"data","Target":{},"Optional":false,"Fields":[{"Path":[{"key":"data"},{"key":"a.b"}]}],"Leave":false},` +
		`{"Name":"scaled","Target":{"kinds":["Deployment.apps"]},"Optional":true,` +
		`"Fields":[{"Path":[{"key":"spec"},{"key":"replicas"}]},{"Path":[{"key":"spec"},{"key":"list"},{"fields":{"name":"x"}},{"key":"y"}]}],"Leave":true}]`
	type field struct{ Path any }
	type ownership struct {
		Name, Target, Optional any
		Fields                 []field
		Leave                  bool
	}
	var got []ownership
	for _, o := range r.Ownership {
		one := ownership{o.Name, o.Target, o.Optional, nil, o.Leave}
		for _, f := range o.Fields {
			one.Fields = append(one.Fields, field{f.Path})
		}
		got = append(got, one)
	}
	if g := encode(t, got); g != want {
		t.Errorf("it is\n%s\nwant\n%s", g, want)
	}
	if p := r.Ownership[0].Fields[0].Pos.String(); p != "environments/fleet.cue:4:18" {
		t.Errorf("the field is at %s", p)
	}
	if len(r.Replace) != 2 || r.Replace[1].Kind != "Deployment.apps" || r.Replace[1].Pos.String() != "environments/fleet.cue:6:31" {
		t.Errorf("replace is %v", r.Replace)
	}
}
