package source

import (
	"strings"
	"testing"
)

// unmatchedFiles have a base with a Deployment and a ConfigMap, and
// kustomizations that include it.
const unmatchedFiles = `
-- base/kustomization.yaml --
resources: [objects.yaml]
configMapGenerator:
  - {name: made, literals: [a=b]}
namePrefix: base-
-- base/objects.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}, annotations: {team: shop}}
spec: {template: {spec: {containers: [{name: web}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
-- component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - {target: {kind: StatefulSet}, patch: '- {op: add, path: /metadata/labels, value: {a: b}}'}
`

func TestUnmatchedTargets(t *testing.T) {
	const label = `patch: '- {op: add, path: /metadata/labels, value: {patched: "yes"}}'`
	for name, test := range map[string]struct{ top, want string }{
		"kind":         {"patches: [{target: {kind: Deployment}, " + label + "}]", ""},
		"another kind": {"patches: [{target: {kind: DaemonSet}, " + label + "}]", "app/kustomization.yaml:2:12"},
		"one of two":   {"patches:\n  - {target: {kind: ConfigMap}, " + label + "}\n  - {target: {kind: Secret}, " + label + "}", "app/kustomization.yaml:4:6"},
		"pattern":      {"patches: [{target: {name: .*web}, " + label + "}]", ""},
		"its old name": {"patches: [{target: {name: web}, " + label + "}]", ""},
		"group":        {"patches: [{target: {group: apps, version: v1, kind: Deployment, name: base-web}, " + label + "}]", ""},
		"no group":     {"patches: [{target: {group: batch}, " + label + "}]", "app/kustomization.yaml:2:12"},
		"labels":       {"patches: [{target: {labelSelector: 'tier in (front, back)'}, " + label + "}]", ""},
		"no labels":    {"patches: [{target: {labelSelector: tier=back}, " + label + "}]", "app/kustomization.yaml:2:12"},
		"annotations":  {"patches: [{target: {annotationSelector: team=shop}, " + label + "}]", ""},
		"generated":    {"patches: [{target: {kind: ConfigMap, name: made}, " + label + "}]", ""},
		"what an earlier patch makes": {
			"patches:\n  - {target: {kind: Deployment}, " + label + "}\n  - {target: {labelSelector: patched=yes}, " + label + "}", "",
		},
		"what a later field makes": {"namePrefix: top-\npatches: [{target: {name: top-base-web}, " + label + "}]", "app/kustomization.yaml:3:12"},
		"old words":                {"patchesJson6902: [{target: {version: v1, kind: Secret, name: none}, " + label + "}]", "app/kustomization.yaml:2:20"},
		"a component's":            {"components: [../component]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := unpack(t, []byte(unmatchedFiles+"-- app/kustomization.yaml --\nresources: [../base]\n"+test.top+"\n"))
			objs, _, err := BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{})
			got := ""
			if err != nil {
				got = faults(t, err)
			}
			switch {
			case test.want == "" && (err != nil || len(objs) != 3):
				t.Errorf("%d objects, %s", len(objs), got)
			case test.want != "" && !strings.HasPrefix(got, test.want+": releases.web.kustomize: the target of this patch matches nothing [FL1403]\n"):
				t.Errorf("%s, want it at %s", got, test.want)
			}
		})
	}
}
