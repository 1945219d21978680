package objects

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestTargetFaults(t *testing.T) {
	testFaults(t, []faultTest{
		{"no such kind", []string{`{target: {kinds: [deploymnt]}, merge: {a: 1}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.target: matches nothing: the release has no deploymnt [FL1511]
    hint: did you mean Deployment?
`},
		{"no such group", []string{`{target: {kinds: [Deployment.extensions]}, merge: {a: 1}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.target: matches nothing: the release has no Deployment.extensions [FL1511]
    hint: use one of ConfigMap settings, CronJob nightly, Deployment web, Secret keys, Widget wheel
`},
		{"no such name", []string{`{target: {kinds: [Deployment, Secret], names: [wbe]}, merge: {a: 1}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.target: matches nothing: none of the objects is called wbe [FL1511]
    hint: did you mean web?
`},
		{"no such namespace", []string{`{target: {namespaces: [shopp]}, merge: {a: 1}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.target: matches nothing: none of the objects is in namespace shopp [FL1511]
    hint: did you mean shop?
`},
		{"no such label", []string{`{target: {labels: {app: x, tier: "*"}}, merge: {a: 1}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.target: matches nothing: none of the objects has the labels app=x, tier=* [FL1511]
    hint: use one of ConfigMap settings, CronJob nightly, Deployment web, Secret keys, Widget wheel
`},
		{"another release", []string{`{target: {releases: [other]}, merge: {a: 1}}`}, `
fleet.cue:10:2: releases."my-web".patches.p0.target: matches nothing: a patch applies only to its own release, which is not other [FL1511]
    hint: use one of ConfigMap settings, CronJob nightly, Deployment web, Secret keys, Widget wheel
`},
		{"deleted by an earlier patch", []string{`{target: {names: [settings]}, strategic: {$patch: delete}}`, `{target: {kinds: [ConfigMap]}, merge: {data: {}}}`}, `
fleet.cue:11:2: releases."my-web".patches.p1.target: matches nothing: the release has no ConfigMap [FL1511]
    hint: use one of CronJob nightly, Deployment web, Secret keys, Widget wheel
`},
	})
}

// Suggestions are not computed for a release without objects.
func TestNoObjects(t *testing.T) {
	_, err := PatchRelease(eu, release(t, `{target: {kinds: [Deployment]}, merge: {a: 1}}`), nil)
	want := `fleet.cue:10:2: releases."my-web".patches.p0: matches nothing: the release has no objects [FL1511]
    hint: remove it, or set optional: true
`
	if got := faultText(t, err); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Objects without a namespace are in that of their release, unless their kind
// is cluster-scoped.
func TestNamespaces(t *testing.T) {
	c := *eu
	c.APIs = []fleet.API{{APIVersion: "example.com/v1", Kind: "Mesh"}}
	objs := objects(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: b}}
---
{apiVersion: example.com/v1, kind: Mesh, metadata: {name: c}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: d}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: e, namespace: other}}
---
{apiVersion: v1, kind: ConfigMap, metadata: none}`)
	out, err := PatchRelease(&c, release(t, `{target: {namespaces: [shop]}, merge: {metadata: {labels: {in: shop}}}}`), objs)
	if err != nil {
		t.Fatal(faultText(t, err))
	}
	var in []string
	for _, o := range out {
		if o.GetLabels()["in"] == "shop" {
			in = append(in, o.GetName())
		}
		if ns := o.GetNamespace(); ns == "shop" {
			t.Errorf("%s is put into a namespace", o.GetName())
		}
	}
	if got := strings.Join(in, " "); got != "a d" {
		t.Errorf("in the namespace: %s", got)
	}
}
