package deliver

import (
	"encoding/base64"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// secretsChart is a chart with a Secret.
var secretsChart = map[string]string{
	"chart/Chart.yaml":           "apiVersion: v2\nname: secrets\nversion: 1.0.0\n",
	"chart/values.yaml":          "password: \"\"\n",
	"chart/templates/secret.yml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: {{ .Values.password | b64enc | quote }}}\n",
	"chart/templates/map.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: x}\n",
}

// refusal is a layer of a fleet that an export refuses.
type refusal struct {
	layer string
	want  string            // a fault of the export
	files map[string]string // more files
	only  fleet.Layout      // the layout that refuses; empty for all
	also  []string          // more faults that vet shows beside it
}

// refusals has a case for each check of an export, a build or a plan that needs no cluster.
// It leaves out checks of flags, such as --last of a build, of the place that an export
// writes to, and of names that a loaded fleet cannot have.
var refusals = map[string]refusal{
	"a value that can be read": {
		layer: `releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "Secret", metadata: name: "a", stringData: a: "x"}}`,
		want:  "anyone who reads the export can read stringData.a",
	},
	"a reference to a secret": {
		layer: `secrets: db: env: "DB_PASSWORD"
releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "Secret", metadata: name: "a", stringData: a: secrets.db.ref}}`,
		want: "an export cannot contain the secret db",
	},
	"an unused waiver": {
		layer: `releases: app: {namespace: "a", objects: b: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "b"}, plaintext: "Secret/a": "none"}`,
		want:  "Secret/a has no readable value, or does not exist",
	},
	"a generated name": {
		layer: `releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: generateName: "a-"}}`,
		want:  "metadata.generateName is set instead of metadata.name",
	},
	"fields, names and ownership at once": {
		layer: `releases: app: {
	namespace: "a"
	objects: {
		a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", dat: a: "x"}
		b: {apiVersion: "v1", kind: "Secret", metadata: name: "b", stringData: a: "x"}
	}
	ownership: a: {target: kinds: ["ConfigMap"], fields: ["spec.replicas"], leave: true}
	ownership: b: {target: kinds: ["Deployment"], fields: ["spec.replicas"], take: true}
}`,
		want: "ConfigMap a cannot have a field spec",
		also: []string{"dat is not a field", "anyone who reads the export can read stringData.a", "the release has no Deployment"},
	},
	"an object that two releases have": {
		layer: `releases: {for name in ["a", "b"] {(name): {namespace: "a", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"}}}}`,
		want:  "the cluster has it twice",
	},
	"a patch that matches nothing": {
		layer: `releases: app: {namespace: "a", objects: b: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "b"}, patches: a: {target: kinds: ["Deployment"], merge: spec: replicas: 1}}`,
		want:  "match",
	},
	"a stage that does not exist": {
		layer: `stages: [{name: "first"}]` + "\n" + `releases: app: {namespace: "a", stage: "second", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"}}`,
		want:  "second",
	},
	"a custom resource that its CRD refuses": {
		layer: `releases: app: {
	namespace: "a"
	objects: crd: {
		apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: name: "apples.example.com"
		spec: {group: "example.com", scope: "Namespaced", names: {kind: "Apple", plural: "apples"}, versions: [{
			name: "v1", served: true, storage: true, schema: openAPIV3Schema: {type: "object", properties: spec: {type: "object", properties: size: {type: "integer", maximum: 3}}}
		}]}
	}
	objects: a: {apiVersion: "example.com/v1", kind: "Apple", metadata: name: "a", spec: size: 4}
}`,
		want: "spec.size",
	},
	"a label that Kubernetes refuses": {
		layer: `releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "a", labels: team: "a b"}}}`,
		want:  "metadata.labels",
	},
	"a name that Kubernetes refuses": {
		layer: `releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "A_b"}}`,
		want:  "metadata.name",
	},
	"a rule for health that is not CEL": {
		layer: `releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"}, health: ConfigMap: ready: [{expression: "data.a =="}]}`,
		want:  "health",
	},
	"an image patch without an image": {
		layer: `releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"}, patches: a: images: "nginx": "mirror"}`,
		want:  "image",
	},
	"a policy": {
		layer: `policies: a: {message: "no data", match: kinds: ["ConfigMap"], object: data?: _|_}` + "\n" +
			`releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", data: a: "x"}}`,
		want: "no data",
	},
	"a chart that does not render": {
		layer: `releases: app: {namespace: "a", chart: path: "chart"}`, want: "broken on purpose",
		files: map[string]string{"chart/templates/fail.yaml": `{{ fail "broken on purpose" }}`},
	},
	"an action": {
		layer: `actions: a: {stage: "default", at: "before", manual: "look"}`, only: fleet.FluxLayout,
		want: "actions are not supported with --layout flux or argocd",
	},
	"an action with Argo CD": {
		layer: `actions: a: {stage: "default", at: "before", manual: "look"}` + "\n" + `gitops: argocd: repoURL: "https://example.com/a"`, only: fleet.ArgoLayout,
		want: "actions are not supported with --layout flux or argocd",
	},
	"rules for health": {
		layer: `releases: {for name in ["a", "b"] {(name): {
	namespace: "a"
	objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: "name": name}
	health: ConfigMap: ready: [{expression: "data.a == '\(name)'"}]
}}}`, only: fleet.FluxLayout,
		want: "the health rules for it and for",
	},
	"the values of a Helm release": {
		layer: `releases: app: {namespace: "a", delivery: "helm", chart: path: "chart", values: password: "x", plaintext: "Secret/a": "test"}`, only: fleet.FluxLayout,
		want: "anyone who reads the export can read the values", also: []string{"Flux cannot fetch a chart that is stored in the repository of the fleet"},
	},
	"a chart that Argo CD does not get": {
		layer: `releases: app: {namespace: "a", delivery: "helm", chart: path: "chart"}` + "\n" + `gitops: argocd: repoURL: "https://example.com/a"`, only: fleet.ArgoLayout,
		want: "Argo CD cannot fetch a chart that is stored in the repository of the fleet",
	},
	"a release that does not wait": {
		layer: `releases: app: {namespace: "a", delivery: "helm", chart: path: "chart"}` + "\n" +
			`releases: next: {namespace: "a", depends: app: true, objects: b: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "c"}}` + "\n" + `gitops: argocd: repoURL: "https://example.com/a"`, only: fleet.ArgoLayout,
		want: "Argo CD would not wait for release app",
	},
	"an unknown repository": {only: fleet.ArgoLayout, layer: `gitops: argocd: project: "a"`, want: "the URL of the repository that Argo CD reads is required"},
	"a Secret that Argo CD does not decrypt": {
		layer: `gitops: argocd: repoURL: "https://example.com/a"` + "\n" + `releases: app: {namespace: "a", objects: a: {
	apiVersion: "v1", kind: "Secret", metadata: name: "sops"
	data: a: "ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc,type:str]"
	sops: {mac: "ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc,type:str]", version: "3.10.2", lastmodified: "2026-01-01T00:00:00Z"}
}}`, only: fleet.ArgoLayout,
		want: "Argo CD cannot decrypt values encrypted with SOPS",
	},
}

// TestVetHasFaultsOfExport checks that vet --render finds all faults of an export in a
// layout of the fleet, and of a build.
func TestVetHasFaultsOfExport(t *testing.T) {
	for name, test := range refusals {
		t.Run(name, func(t *testing.T) {
			layouts := []fleet.Layout{test.only}
			if test.only == "" {
				layouts = fleet.Layouts()
			}
			for _, layout := range layouts {
				layer := test.layer
				if layout != fleet.PlainLayout || test.only != "" {
					layer += "\ngitops: layouts: [\"" + string(layout) + "\"]\n"
				}
				if layout == fleet.ArgoLayout && test.only == "" {
					layer += "gitops: argocd: repoURL: \"https://example.com/a\"\n"
				}
				c := refusedFleet(t, test.files, layer)
				vetted, exported, built := vetText(t, c, ""), exportText(t, c, layout), buildText(t, c)
				if !strings.Contains(strings.Join(exported, "\n"), test.want) {
					t.Errorf("%s: the export has %q, want %q", layout, exported, test.want)
				}
				for _, fault := range slices.Concat(exported, built) {
					if !slices.Contains(vetted, fault) {
						t.Errorf("%s: vet lacks the fault %q, and has %q", layout, fault, vetted)
					}
				}
				for _, want := range append(test.also, test.want) {
					if !strings.Contains(strings.Join(vetted, "\n"), want) {
						t.Errorf("%s: vet has %q, want %q", layout, vetted, want)
					}
				}
				// The flag overrides the layouts of the fleet.
				if flagged := vetText(t, refusedFleet(t, test.files, test.layer+"\ngitops: layouts: []\n"), layout); layout == test.only && !slices.Equal(flagged, vetted) {
					t.Errorf("%s: vet --layout has %q, want %q", layout, flagged, vetted)
				}
			}
		})
	}
}

// applyRefusals has a case for each check of a first apply that needs no cluster, beside
// those that an export has too, and layers that differ a little and pass.
var applyRefusals = map[string]struct {
	layer, passes, want string
	files               map[string]string
	exports             bool // whether exports pass, which do not apply
}{
	"no context": {
		layer: `gitops: layouts: []`, exports: true, passes: `gitops: layouts: ["plain"]`,
		want: "cluster.context: the cluster has no kubeconfig context, and is only applied to",
	},
	"a CRD of a later stage": {
		layer: laterCRD, want: "its CRD comes with release crd of the later stage second",
		passes: laterCRD + "\n" + `cluster: apis: "example.com/v1": Apple: "Namespaced"`,
	},
	"a CRD of a release that applies later": {
		layer:  sameStage + `releases: crd: depends: apple: true`,
		passes: sameStage + `releases: apple: depends: crd: true`,
		want:   "its CRD comes with release crd, which applies later in stage first",
	},
	"a namespace of a later stage": {
		layer:  laterNamespace,
		passes: laterNamespace + `releases: space: stage: "first"`,
		want:   "ConfigMap late/a: its namespace comes with release space of the later stage second",
	},
	"a record that is too large for Helm": {
		layer: `releases: app: {namespace: "a", delivery: "helm", chart: path: "chart"}`, exports: true,
		passes: `releases: app: {namespace: "a", chart: path: "chart"}`,
		files: map[string]string{
			"chart/files/noise.txt":      noise(1 << 19),
			"chart/templates/noise.yaml": "{{ range tuple 1 2 3 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a{{ . }}}\ndata: {a: {{ $.Files.Get \"files/noise.txt\" | sha256sum }}, b: {{ $.Files.Get \"files/noise.txt\" | b64enc | quote }}}\n{{ end }}\n",
		},
		want: "Helm stores the chart and its objects in a Secret, where they have",
	},
	"a chart that is too large for Helm": {
		layer: `releases: app: {namespace: "a", delivery: "helm", chart: path: "chart"}`, exports: true,
		passes: `releases: app: {namespace: "a", chart: path: "chart"}`,
		files:  map[string]string{"chart/files/noise.txt": noise(1 << 20)},
		want:   "Helm stores the chart in a Secret, where it has",
	},
}

const (
	appleAndCRD = `releases: apple: {namespace: "a", stage: "first", objects: a: {apiVersion: "example.com/v1", kind: "Apple", metadata: name: "a"}}
releases: crd: {
	namespace: "a"
	objects: crd: {
		apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: name: "apples.example.com"
		spec: {group: "example.com", scope: "Namespaced", names: {kind: "Apple", plural: "apples"}, versions: [{
			name: "v1", served: true, storage: true, schema: openAPIV3Schema: type: "object"
		}]}
	}
}
stages: [{name: "first"}, {name: "second"}]
`
	laterNamespace = `releases: early: {namespace: "late", stage: "first", objects: a: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"}}
releases: space: {namespace: "late", objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "late"}}
releases: space: stage: string | *"second"
stages: [{name: "first"}, {name: "second"}]
`
	laterCRD  = appleAndCRD + `releases: crd: stage: "second"` + "\n"
	sameStage = appleAndCRD + `releases: crd: stage: "first"` + "\n"
)

// noise returns text of a size that cannot be compressed.
func noise(size int) string {
	out := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(out)
	return base64.StdEncoding.EncodeToString(out)
}

// TestVetHasFaultsOfApply checks that vet --render finds the faults of a first apply.
func TestVetHasFaultsOfApply(t *testing.T) {
	for name, test := range applyRefusals {
		t.Run(name, func(t *testing.T) {
			got := vetText(t, refusedFleet(t, test.files, test.layer), "")
			if len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if exported := exportText(t, refusedFleet(t, test.files, test.layer), fleet.PlainLayout); test.exports != (len(exported) == 0) {
				t.Errorf("the export has %q", exported)
			}
			if got := vetText(t, refusedFleet(t, test.files, test.passes), ""); len(got) > 0 {
				t.Errorf("%s\ngot %q, want none", test.passes, got)
			}
		})
	}
}

// TestVetOfLayouts checks that vet uses the layouts in which a cluster is exported.
func TestVetOfLayouts(t *testing.T) {
	const secret = `releases: app: {namespace: "a", objects: a: {apiVersion: "v1", kind: "Secret", metadata: name: "a", stringData: a: "x"}}` + "\n"
	const action = `actions: a: {stage: "default", at: "before", manual: "look"}` + "\n"
	for layer, want := range map[string]string{
		secret: "anyone who reads",
		secret + `cluster: context: "a"` + "\n" + `gitops: layouts: []`: "",
		action:                               "",
		action + `gitops: flux: prefix: "a"`: "actions are not supported",
		action + `gitops: argocd: repoURL: "https://example.com/a"`:                     "actions are not supported",
		action + `gitops: {layouts: ["plain"], argocd: repoURL: "https://example.com"}`: "",
		action + `gitops: layouts: ["plain", "flux"]`:                                   "actions are not supported",
		`gitops: layouts: ["fluxx"]`:                                                    "gitops.layouts",
	} {
		got := vetText(t, refusedFleet(t, nil, layer), "")
		if (want == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s\ngot %q, want %q", layer, got, want)
		}
	}
}

// refusedFleet returns a compiler of a fleet with one cluster and the layer.
func refusedFleet(t *testing.T, files map[string]string, layer string) *compiler.Compiler {
	t.Helper()
	c := &compiler.Compiler{Dir: t.TempDir(), Cache: t.TempDir(), Offline: true}
	all := maps.Clone(secretsChart)
	maps.Copy(all, map[string]string{
		"cue.mod/module.cue":     fleets.Small["cue.mod/module.cue"],
		"environments/fleet.cue": fleets.Small["environments/fleet.cue"],
		"environments/dev/a.cue": "package fleet\n\ncluster: {name: \"dev\", kubernetes: \"1.36\"}\n" + layer + "\n",
	})
	maps.Copy(all, files)
	fleets.Write(t, c.Dir, all)
	return c
}

// loadRefused loads the fleet and returns the faults.
func loadRefused(t *testing.T, c *compiler.Compiler) (*compiler.Fleet, []string) {
	t.Helper()
	f, err := c.Load(t.Context())
	return f, diag.Texts(err)
}

func vetText(t *testing.T, c *compiler.Compiler, layout fleet.Layout) []string {
	t.Helper()
	f, faults := loadRefused(t, c)
	if len(faults) == 0 {
		for _, err := range Vet(t.Context(), f, VetOptions{Layout: layout}) {
			faults = append(faults, diag.Texts(err)...)
		}
	}
	return faults
}

func exportText(t *testing.T, c *compiler.Compiler, layout fleet.Layout) []string {
	t.Helper()
	f, faults := loadRefused(t, c)
	if len(faults) > 0 {
		return faults
	}
	session, err := (&export.Tree{Dir: t.TempDir(), Fleet: f.Module}).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for b, err := range Exports(t.Context(), f, layout, f.Clusters, false, nil) {
		if err == nil {
			_, err = session.Stage(b)
		}
		faults = append(faults, diag.Texts(err)...)
	}
	return faults
}

func buildText(t *testing.T, c *compiler.Compiler) []string {
	t.Helper()
	f, faults := loadRefused(t, c)
	if len(faults) == 0 {
		for _, err := range f.Bundles(t.Context()) {
			faults = append(faults, diag.Texts(err)...)
		}
	}
	return faults
}
