package objects

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue/load"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/unify"
)

// written evaluates a fleet of one cluster whose layer imports the patch
// library, and returns its release.
func written(t *testing.T, layer string) (*fleet.Release, error) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "fleet") // need not exist
	overlay := map[string]load.Source{}
	add := func(files fs.FS, from, to string) {
		names, err := fs.Glob(files, path.Join(from, "*.cue"))
		if err != nil || len(names) == 0 {
			t.Fatalf("no files in %s: %v", from, err)
		}
		for _, n := range names {
			data, err := fs.ReadFile(files, n)
			if err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(root, "cue.mod", "pkg", filepath.FromSlash(to), path.Base(n))] = load.FromBytes(data)
		}
	}
	add(fleetc.Schema, ".", fleetc.SchemaPath)
	add(os.DirFS("../../.."), "lib/patch", "github.com/fleetc/fleetc/lib/patch")
	overlay[filepath.Join(root, "cue.mod", "module.cue")] = load.FromString("module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n")
	overlay[filepath.Join(root, "environments", "fleet.cue")] = load.FromString(`package fleet
import ("github.com/fleetc/fleetc/schema", "github.com/fleetc/fleetc/lib/patch")
cluster: {name: "eu", kubernetes: "1.36"}
releases: schema.#Releases
releases: "my-web": {namespace: "shop", objects: []}
` + layer)
	in := load.Instances([]string{"./environments"}, &load.Config{Dir: root, ModuleRoot: root, Package: "fleet", Overlay: overlay})[0]
	if in.Err != nil {
		t.Fatalf("load: %v", in.Err)
	}
	c, err := unify.Cluster(root, "eu", []fleet.Layer{{Name: "root", Dir: "environments"}}, in)
	if err != nil {
		return nil, err
	}
	return c.Releases[0], nil
}

const pods = `
apiVersion: v1
kind: Pod
metadata: {name: once}
spec: {containers: [{name: a, image: nginx}], imagePullSecrets: [{name: mine}], nodeSelector: {disk: ssd}, tolerations: [{key: x}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: none}}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: "quay.io/acme/web:1"}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: a, image: "m.example/agent"}], tolerations: [{operator: Exists}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: acme/job}]}}}}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: wheel}
spec: {image: nginx}`

// The parts of an object that the library changes, by kind.
var (
	podSpec = map[string]string{"Pod": "/spec", "Deployment": "/spec/template/spec", "DaemonSet": "/spec/template/spec", "CronJob": "/spec/jobTemplate/spec/template/spec"}
	podMeta = map[string]string{"Pod": "/metadata", "Deployment": "/spec/template/metadata", "DaemonSet": "/spec/template/metadata", "CronJob": "/spec/jobTemplate/spec/template/metadata"}
	objMeta = map[string]string{"Pod": "/metadata", "Deployment": "/metadata", "DaemonSet": "/metadata", "CronJob": "/metadata", "Widget": "/metadata"}
)

func TestLibrary(t *testing.T) {
	for _, test := range []struct {
		name, layer string
		at          map[string]string
		field       string
		want        string
	}{
		{
			"labels of objects", `#CommonLabels & {#labels: team: "shop"}`, objMeta, "/labels",
			`CronJob {"team":"shop"} DaemonSet {"team":"shop"} Deployment {"team":"shop"} Pod {"team":"shop"} Widget {"team":"shop"}`,
		},
		{
			"labels of pods", `#CommonLabels & {#labels: team: "shop"}`, podMeta, "/labels",
			`CronJob {"team":"shop"} DaemonSet {"app":"agent","team":"shop"} Deployment {"app":"web","team":"shop"} Pod {"team":"shop"}`,
		},
		{"selectors", `#CommonLabels & {#labels: team: "shop"}`, map[string]string{"Deployment": "/spec"}, "/selector", `Deployment {"matchLabels":{"app":"web"}}`},
		{
			"annotations of objects", `#CommonAnnotations & {#annotations: a: "b"}`, objMeta, "/annotations",
			`CronJob {"a":"b"} DaemonSet {"a":"b"} Deployment {"a":"b"} Pod {"a":"b"} Widget {"a":"b"}`,
		},
		{
			"annotations of pods", `#CommonAnnotations & {#annotations: a: "b"}`, podMeta, "/annotations",
			`CronJob {"a":"b"} DaemonSet {"a":"b"} Deployment {"a":"b"} Pod {"a":"b"}`,
		},
		{"without", `#Without & {#objects: {kinds: ["Pod", "Deployment", "CronJob"], names: ["*e*", "nightly"]}}`, objMeta, "/name", `DaemonSet "agent" Widget "wheel"`},
		{
			"registries", `#ImageRegistries & {#images: {"docker.io/": "m.example/hub/", "quay.io/acme/": "m.example/"}}`, podSpec, "/containers/0/image",
			`CronJob "m.example/hub/acme/job" DaemonSet "m.example/agent" Deployment "m.example/web:1" Pod "m.example/hub/library/nginx"`,
		},
		{
			"mirror", `#ImageMirror & {#mirror: "m.example"}`, podSpec, "/containers/0/image",
			`CronJob "m.example/docker.io/acme/job" DaemonSet "m.example/agent" Deployment "m.example/quay.io/acme/web:1" Pod "m.example/docker.io/library/nginx"`,
		},
		{
			"mirror of one", `#ImageMirror & {#mirror: "m.example/pull", #registries: ["quay.io"]}`, podSpec, "/containers/0/image",
			`CronJob "acme/job" DaemonSet "m.example/agent" Deployment "m.example/pull/quay.io/acme/web:1" Pod "nginx"`,
		},
		{
			"pull secrets", `#ImagePullSecrets & {#pullSecrets: ["a", "mine"]}`, podSpec, "/imagePullSecrets",
			`CronJob [{"name":"a"},{"name":"mine"}] DaemonSet [{"name":"a"},{"name":"mine"}] Deployment [{"name":"a"},{"name":"mine"}] Pod [{"name":"a"},{"name":"mine"}]`,
		},
		{
			"node selector", `#NodeSelector & {#nodeSelector: zone: "a"}`, podSpec, "/nodeSelector",
			`CronJob {"zone":"a"} DaemonSet {"zone":"a"} Deployment {"zone":"a"} Pod {"disk":"ssd","zone":"a"}`,
		},
		{
			"tolerations", `#Tolerations & {#tolerations: [{key: "gpu", effect: "NoSchedule"}]}`, podSpec, "/tolerations",
			`CronJob [{"effect":"NoSchedule","key":"gpu"}] DaemonSet [{"operator":"Exists"}] Deployment [{"effect":"NoSchedule","key":"gpu"}] Pod [{"effect":"NoSchedule","key":"gpu"}]`,
		},
		{"priority", `#PriorityClass & {#priorityClass: "high"}`, podSpec, "/priorityClassName", `CronJob "high" DaemonSet "high" Deployment "high" Pod "high"`},
		{
			"any pod spec", `#PodSpec & {#podSpec: {nodeSelector: {zone: "a", disk: null}, enableServiceLinks: false}}`, podSpec, "/nodeSelector",
			`CronJob {"zone":"a"} DaemonSet {"zone":"a"} Deployment {"zone":"a"} Pod {"zone":"a"}`,
		},
		{
			"several, with one of one's own and one kept to some objects", `#CommonLabels & {#labels: team: "shop"}
releases: [string]: patches: patch.#CommonLabels & {#labels: tier: "front"}
releases: [string]: patches: patch.#NodeSelector & {#nodeSelector: zone: "a"}
releases: "my-web": patches: "common-labels": target: kinds: ["Deployment", "Pod"]
releases: "my-web": patches: zz: {target: kinds: ["Pod"], merge: metadata: labels: tier: "back"}`, objMeta, "/labels",
			`Deployment {"team":"shop","tier":"front"} Pod {"team":"shop","tier":"back"}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := written(t, `releases: "my-web": patches: patch.`+test.layer)
			if err != nil {
				t.Fatal(faultText(t, err))
			}
			out, err := PatchRelease(eu, r, objects(t, pods))
			if err != nil {
				t.Fatal(faultText(t, err))
			}
			var got []string
			for _, kind := range []string{"CronJob", "DaemonSet", "Deployment", "Pod", "Widget"} {
				for _, o := range out {
					if test.at[kind] == "" || o.GetKind() != kind {
						continue
					}
					d := &document{root: o.Object}
					if v, p := d.get(test.at[kind] + test.field); p == nil {
						got = append(got, kind+" "+text(t, v))
					}
				}
			}
			if g := strings.Join(got, " "); g != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.field, g, test.want)
			}
			// A release without pods is not a fault for the library.
			if test.name == "without" {
				return
			}
			for i := range r.Patches {
				if r.Patches[i].Name == "zz" {
					r.Patches[i].Optional = true
				}
			}
			if _, err := PatchRelease(eu, r, objects(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")); err != nil {
				t.Error(faultText(t, err))
			}
		})
	}
}

// Faults have the line that uses the library.
func TestLibraryFaults(t *testing.T) {
	for _, test := range []struct{ name, layer, want string }{
		{"missing", `#CommonLabels`, `
environments/fleet.cue:6:21: releases."my-web".patches.#labels: field is required but not present [FL1205]
    hint: add #labels: ...
    in eu
`},
		{"misspelt", `#CommonLabels & {#lables: a: "b"}`, `
environments/fleet.cue:6:30: releases."my-web".patches.#labels: field is required but not present [FL1205]
    hint: add #labels: ...
    in eu
`},
		{"no label", `#CommonLabels & {#labels: a: "b c"}`, `
environments/fleet.cue:6:65: releases."my-web".patches.#labels.a: invalid value "b c": it must be at most 63 letters and digits, with -, _ and . between them [FL1211]
    hint: write it as in "blue"
    in eu
`},
		{"another type", `#ImageMirror & {#mirror: "m.example/"}`, `
environments/fleet.cue:6:61: releases."my-web".patches.#mirror: invalid value "m.example/": it must match "^[a-z0-9].*[^/]$" [FL1211]
    hint: change the value, or the rule
    in eu
`},
		{"none", `#ImagePullSecrets & {#pullSecrets: []}`, `
environments/fleet.cue:6:57: releases."my-web".patches.#pullSecrets: the list is empty [FL1201]
    hint: add at least one element
    in eu
`},
		{"toleration", `#Tolerations & {#tolerations: [{kye: "a"}]}`, `
environments/fleet.cue:6:68: releases."my-web".patches.#tolerations.0.kye: field not allowed [FL1204]
    hint: did you mean key?
    in eu
`},
		{"no match", `#Without & {#objects: kinds: ["Ingres"]}`, `
environments/fleet.cue:6:30: releases."my-web".patches.without.target: matches nothing: the release has no Ingres [FL1511]
    hint: use one of CronJob nightly, DaemonSet agent, Deployment web, Pod once, Widget wheel
`},
		{"no field", `#PodSpec & {#podSpec: nodeSelectr: {}}`, `
environments/fleet.cue:6:58: releases."my-web".patches."pod-spec-cronjobs".strategic.spec.jobTemplate.spec.template.spec.nodeSelectr: CronJob.batch nightly: PodSpec has no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean nodeSelector?
environments/fleet.cue:6:58: releases."my-web".patches."pod-spec-pods".strategic.spec.nodeSelectr: Pod once: PodSpec has no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean nodeSelector?
environments/fleet.cue:6:58: releases."my-web".patches."pod-spec-templates".strategic.spec.template.spec.nodeSelectr: Deployment.apps web, DaemonSet.apps agent: PodSpec has no such field in Kubernetes 1.36 [FL1512]
    hint: did you mean nodeSelector?
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := written(t, `releases: "my-web": patches: patch.`+test.layer)
			if err == nil {
				_, err = PatchRelease(eu, r, objects(t, pods))
			}
			if got := "\n" + faultText(t, err); got != test.want {
				t.Errorf("faults:%s\nwant:%s", got, test.want)
			}
		})
	}
}
