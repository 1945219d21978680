package unify

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestOwnership checks that layers add ownership entries by name.
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

// TestReplaceOfProtectedKinds checks that kinds that hold other objects or
// data cannot be recreated.
func TestReplaceOfProtectedKinds(t *testing.T) {
	for kind, refused := range map[string]bool{
		"CustomResourceDefinition": true, "CustomResourceDefinition.apiextensions.k8s.io": true, "Namespace": true,
		"PersistentVolume": true, "PersistentVolumeClaim": true, "Job": false, "CustomResourceDefinition.example.com": false,
	} {
		c, err := cluster(t, "-- root.cue --\nreleases: a: {namespace: \"n\", objects: [#cm], replace: [\""+kind+"\"]}\n")
		if !refused {
			if err != nil || len(c.Releases[0].Replace) != 1 {
				t.Errorf("%s: got %v", kind, err)
			}
			continue
		}
		if err == nil || !strings.Contains(text(err), "releases.a.replace.0: a ") || !strings.Contains(text(err), "cannot be recreated") {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

// TestFaultsOfUnselectedReleases checks that faults of a release are only
// reported for clusters that select it.
func TestFaultsOfUnselectedReleases(t *testing.T) {
	const wrong = `{namespace: "n", stage: "none", objects: [#cm], values: a: int, values: a: "x", depends: nothing: true}`
	for name, layer := range map[string]string{
		"a field":     `releases: a: ` + wrong,
		"beside more": "releases: b: {namespace: \"n\", objects: [#cm]}\nreleases: a: " + wrong,
	} {
		for selector, faults := range map[string]bool{`ids: ["dev"]`: false, `ids: ["prod"]`: true} {
			c, err := cluster(t, "-- root.cue --\n"+layer+"\nreleases: a: clusters: {"+selector+"}\n")
			if (err != nil) != faults {
				t.Errorf("%s, %s: got %v", name, selector, err)
			}
			if !faults && (c == nil || slices.ContainsFunc(c.Releases, func(r *fleet.Release) bool { return r.Name == "a" })) {
				t.Errorf("%s: the release is in the cluster", name)
			}
		}
	}
}
