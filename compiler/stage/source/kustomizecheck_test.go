package source

import (
	"fmt"
	"strings"
	"testing"
)

// base is a kustomization that others include.
const base = `
-- base/kustomization.yaml --
resources: [d.yaml]
-- base/d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
-- app/x.txt --
text
`

// at is the second line of faults in a file.
const at = "    environments/fleet.cue:7:2: and here\n"

func TestKustomizeFaults(t *testing.T) {
	for _, test := range []struct{ name, archive, want string }{
		{
			"no match", "-- app/kustomization.yaml --\nresources: [../base]\npatches:\n- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, spec: {replicas: 2}}'\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: the patch of Deployment b matches nothing [FL1403]\n" + at +
				"    hint: name an object as its file does, without prefixes, or give the patch a target\n",
		},
		{
			"no match in a base", "-- app/kustomization.yaml --\nresources: [../mid]\n-- mid/kustomization.yaml --\nresources: [../base]\npatches:\n- path: p.yaml\n-- mid/p.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: n}\n",
			"mid/kustomization.yaml:3:3: releases.web.kustomize: the patch of Deployment n/b matches nothing [FL1403]\n" + at +
				"    hint: name an object as its file does, without prefixes, or give the patch a target\n",
		},
		{
			"no match in a component of a base", "-- app/kustomization.yaml --\nresources: [../mid]\n-- mid/kustomization.yaml --\nresources: [../base]\ncomponents: [../comp]\n-- comp/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatchesStrategicMerge:\n- |-\n  apiVersion: v1\n  kind: Service\n  metadata: {name: b}\n",
			"comp/kustomization.yaml:4:3: releases.web.kustomize: the patch of Service b matches nothing [FL1403]\n" + at +
				"    hint: name an object as its file does, without prefixes, or give the patch a target\n",
		},
		{
			"patch of a field that is not there", "-- app/kustomization.yaml --\nresources: [../base]\npatches:\n- target: {kind: Deployment}\n  patch: |\n    - {op: replace, path: /spec/x, value: 1}\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: a JSON patch changes /spec/x, which is not there [FL1403]\n" + at + "    hint: correct the path, or use op: add\n",
		},
		{
			"no patch", "-- app/kustomization.yaml --\nresources: [../base]\npatches:\n- patch: 'foo'\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: the patch is neither an object in YAML nor a list of operations in JSON [FL1403]\n" + at +
				"    hint: write apiVersion, kind and metadata.name of the object, or a list of operations with op, path and value\n",
		},
		{
			"JSON patch without quotes", "-- app/kustomization.yaml --\nresources: [../base]\npatches:\n- target: {kind: Deployment}\n  patch: '[{op: add, path: /metadata/labels, value: {}}]'\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: the patch is neither an object in YAML nor a list of operations in JSON [FL1403]\n" + at +
				"    hint: put keys and strings of a list in [] into quotes, as in [{\"op\": \"add\", \"path\": \"/data/a\", \"value\": \"b\"}]\n",
		},
		{
			"twice", "-- app/kustomization.yaml --\nresources: [../base, ../base]\n",
			"app/kustomization.yaml:1:1: releases.web.kustomize: Deployment a occurs twice [FL1403]\n" + at + "    hint: name it in one place, or give one of them another name\n",
		},
		{
			"merges into nothing", "-- app/kustomization.yaml --\nconfigMapGenerator:\n- name: x\n  behavior: merge\n  literals: [a=b]\n",
			"app/kustomization.yaml:2:3: releases.web.kustomize: ConfigMap x does not exist, and a generator merges into it or replaces it [FL1403]\n" + at + "    hint: correct the name, or write behavior: create\n",
		},
		{
			"no source", "-- app/kustomization.yaml --\nresources: [../base]\nreplacements:\n- source: {kind: Service, name: x}\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.name]}]\n",
			"app/kustomization.yaml:2:1: releases.web.kustomize: the source of a replacement matches nothing: Service x [FL1403]\n" + at + "    hint: correct the source, or add the object\n",
		},
		{
			"no field", "-- app/kustomization.yaml --\nresources: [../base]\nreplacements:\n- source: {kind: Deployment, name: a}\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.foo.bar]}]\n",
			"app/kustomization.yaml:2:1: releases.web.kustomize: unable to find field \"spec.foo.bar\" in replacement target [FL1403]\n" + at + "    hint: correct the fieldPaths, or set options: {create: true}\n",
		},

		{
			"bad YAML", "-- app/kustomization.yaml --\nresources: [../mid]\n-- mid/kustomization.yaml --\nresources: [x.yaml]\n-- mid/x.yaml --\na: b\n c: d\n",
			"mid/x.yaml:2: releases.web.kustomize: YAML that does not parse: mapping values are not allowed in this context [FL1403]\n" + at + "    hint: correct the YAML here, for example its indentation or quotes\n",
		},
		{
			"key twice", "-- app/kustomization.yaml --\nresources: [x.yaml]\n-- app/x.yaml --\nkind: X\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n  a: c\n",
			"app/x.yaml:8: releases.web.kustomize: YAML that does not parse: mapping key \"a\" already defined at line 7 [FL1403]\n" + at + "    hint: correct the YAML here, for example its indentation or quotes\n",
		},
		{
			"no kind", "-- app/kustomization.yaml --\nresources: [x.yaml]\n-- app/x.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# b\na: b\n",
			"app/x.yaml:6: releases.web.kustomize: a document without apiVersion, kind and metadata [FL1403]\n" + at + "    hint: correct the object here\n",
		},
		{
			"no name", "-- app/kustomization.yaml --\nresources: [x.yaml]\n-- app/x.yaml --\napiVersion: v1\nkind: X\n",
			"app/x.yaml:1: releases.web.kustomize: an object without metadata.name [FL1403]\n" + at + "    hint: correct the object here\n",
		},

		{
			"misspelt", "-- app/kustomization.yaml --\nnamePrefix: x-\nresourcess: [x.yaml]\n",
			"app/kustomization.yaml:2:1: releases.web.kustomize: kustomizations have no field resourcess [FL1403]\n" + at + "    hint: did you mean resources?\n",
		},
		{
			"misspelt below", "-- app/kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  literal: [a=b]\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: kustomizations have no field literal [FL1403]\n" + at + "    hint: remove it\n",
		},
		{
			"of another type", "-- app/kustomization.yaml --\nresources: x.yaml\n",
			"app/kustomization.yaml:1:1: releases.web.kustomize: resources is a string, where kustomize expects a list [FL1403]\n" + at + "    hint: write a list\n",
		},
		{
			"a list", "-- app/kustomization.yaml --\n- a\n",
			"app/kustomization.yaml: releases.web.kustomize: a list, where kustomize expects a map [FL1403]\n" + at + "    hint: write a map\n",
		},
		{
			"empty", "-- app/kustomization.yaml --\n# nothing\n",
			"app/kustomization.yaml: releases.web.kustomize: an empty kustomization [FL1403]\n" + at + "    hint: name the files of its objects under resources\n",
		},
		{
			"says nothing", "-- app/kustomization.yaml --\nnamePrefix: ''\n",
			"app/kustomization.yaml: releases.web.kustomize: an empty kustomization [FL1403]\n" + at + "    hint: name the files of its objects under resources\n",
		},
		{
			"two documents", "-- app/kustomization.yaml --\nresources: [../base]\n---\nnamePrefix: x\n",
			"app/kustomization.yaml: releases.web.kustomize: several documents, of which kustomize reads the first [FL1403]\n" + at + "    hint: keep one of them\n",
		},
		{
			"key twice in it", "-- app/kustomization.yaml --\nresources: [../base]\nresources: [x.yaml]\n",
			"app/kustomization.yaml:2: releases.web.kustomize: YAML that does not parse: mapping key \"resources\" already defined at line 1 [FL1403]\n" + at + "    hint: correct the YAML here, for example its indentation or quotes\n",
		},
		{
			"kind", "-- app/kustomization.yaml --\nkind: Foo\nresources: [../base]\n",
			"app/kustomization.yaml:1:1: releases.web.kustomize: the kind is Foo [FL1403]\n" + at + "    hint: write kind: Kustomization\n",
		},
		{
			"two files", "-- app/kustomization.yaml --\nresources: [../base]\n-- app/kustomization.yml --\nresources: [../base]\n",
			"environments/fleet.cue:7:2: releases.web.kustomize: several kustomization files in app: kustomization.yaml, kustomization.yml [FL1403]\n    hint: keep one of them\n",
		},
		{
			"no file", "-- app/kustomisation.yaml --\nresources: [../base]\n",
			"environments/fleet.cue:7:2: releases.web.kustomize: no kustomization.yaml in app [FL1403]\n    hint: did you mean kustomisation.yaml?\n",
		},

		{
			"missing", "-- app/kustomization.yaml --\nresources:\n- ../bse\n- ../base/e.yaml\nconfigMapGenerator:\n- {name: a, files: [k=no.txt, x.text]}\n",
			"app/kustomization.yaml:2:3: releases.web.kustomize: ../bse does not exist [FL1405]\n" + at + "    hint: did you mean base?\n" +
				"app/kustomization.yaml:3:3: releases.web.kustomize: ../base/e.yaml does not exist [FL1405]\n" + at + "    hint: did you mean d.yaml?\n" +
				"app/kustomization.yaml:5:21: releases.web.kustomize: no.txt does not exist [FL1405]\n" + at + "    hint: did you mean x.txt?\n" +
				"app/kustomization.yaml:5:31: releases.web.kustomize: x.text does not exist [FL1405]\n" + at + "    hint: did you mean x.txt?\n",
		},
		{
			"round", "-- app/kustomization.yaml --\nresources: [../b]\n-- b/kustomization.yaml --\nresources: [../app]\n",
			"b/kustomization.yaml:1:13: releases.web.kustomize: kustomizations include each other: app, b, app [FL1403]\n" + at + "    hint: remove one of them from the resources of another\n",
		},
		{
			"above", "-- app/kustomization.yaml --\nresources: [./..]\n-- kustomization.yaml --\nresources: [base]\n",
			"app/kustomization.yaml:1:13: releases.web.kustomize: kustomizations include each other: app, . [FL1403]\n" + at + "    hint: remove one of them from the resources of another\n",
		},
		{
			"component", "-- app/kustomization.yaml --\nresources: [../comp]\ncomponents: [../base]\n-- comp/kustomization.yaml --\nkind: Component\nnamePrefix: x-\n",
			"app/kustomization.yaml:1:13: releases.web.kustomize: comp/kustomization.yaml is a component [FL1403]\n" + at + "    hint: name it under the components of a kustomization\n" +
				"app/kustomization.yaml:2:14: releases.web.kustomize: base/kustomization.yaml is not a component [FL1403]\n" + at + "    hint: name it under resources\n",
		},
		{
			"file of a directory", "-- app/kustomization.yaml --\nresources: [../base/kustomization.yaml]\ncomponents: [x.txt]\nconfigurations: [../base]\n",
			"app/kustomization.yaml:1:13: releases.web.kustomize: ../base/kustomization.yaml is a kustomization file [FL1403]\n" + at + "    hint: name its directory: ../base\n" +
				"app/kustomization.yaml:2:14: releases.web.kustomize: x.txt is a file: it must be a directory with a kustomization.yaml [FL1403]\n" + at + "    hint: name the directory that contains it\n" +
				"app/kustomization.yaml:3:18: releases.web.kustomize: ../base is a directory: it must be a file [FL1403]\n" + at + "    hint: name the files in it\n",
		},

		{
			"charts", "-- app/kustomization.yaml --\nhelmCharts:\n- {name: x, repo: https://charts.example.com}\n",
			"app/kustomization.yaml:2:3: releases.web.kustomize: this kustomization renders a Helm chart [FL1403]\n" + at + "    hint: make the chart a separate release, with its patches\n",
		},
		{
			"schema", "-- app/kustomization.yaml --\nresources: [../base]\nopenapi: {path: schema.json}\n",
			"app/kustomization.yaml:2:1: releases.web.kustomize: a schema of one kustomization would also apply to all others [FL1403]\n" + at + "    hint: leave it out, and write JSON patches for lists of custom resources\n",
		},
		{
			"label", "-- app/kustomization.yaml --\nresources: [../base]\nbuildMetadata: [originAnnotations, managedByLabel]\n",
			"app/kustomization.yaml:2:36: releases.web.kustomize: managedByLabel adds a label with the version of fleetc [FL1403]\n" + at + "    hint: leave it out, and write the label under labels\n",
		},
		{
			"var of no object", "-- app/kustomization.yaml --\nresources: [../base]\nvars:\n- {name: A, objref: {apiVersion: v1, kind: Service, name: none}}\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: the objref of the var A matches nothing [FL1403]\n" + at + "    hint: name an object as its file does, without prefixes\n",
		},
		{
			"var of no field", "-- app/kustomization.yaml --\nresources: [../base]\nvars:\n- {name: A, objref: {apiVersion: apps/v1, kind: Deployment, name: a}, fieldref: {fieldpath: spec.none}}\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: the object of the var A does not have the field of its fieldref [FL1403]\n" + at + "    hint: correct fieldPath, or add the field to the object\n",
		},
		{
			"var of several objects", "-- app/kustomization.yaml --\nresources: [a.yaml]\nvars:\n- {name: A, objref: {apiVersion: v1, kind: ConfigMap, name: a}}\n-- app/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: c}\n",
			"app/kustomization.yaml:3:3: releases.web.kustomize: the objref of the var A matches several objects [FL1403]\n" + at + "    hint: add namespace to objref\n",
		},
		{
			"var twice", "-- app/kustomization.yaml --\nresources: [../mid]\nvars:\n- {name: A, objref: {apiVersion: apps/v1, kind: Deployment, name: a}}\n-- mid/kustomization.yaml --\nresources: [../base]\nvars:\n- {name: A, objref: {apiVersion: apps/v1, kind: Deployment, name: a}}\n",
			"mid/kustomization.yaml:3:3: releases.web.kustomize: the var A occurs twice [FL1403]\n" + at + "    hint: rename one of them\n",
		},

		{
			"plugins", "-- app/kustomization.yaml --\nresources: [../base]\ntransformers:\n- |-\n  apiVersion: someteam.example.com/v1\n  kind: Foo\n  metadata: {name: x, annotations: {config.kubernetes.io/function: \"exec: {path: ./x}\"}}\ngenerators: [gen.yaml, ../base]\nvalidators:\n- |-\n  kind: [\n  x\n-- app/gen.yaml --\napiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\n",
			"app/gen.yaml: releases.web.kustomize: a kustomization does not render Helm charts here [FL1403]\n" + at + "    hint: make the chart a separate release, with its patches\n" +
				"app/kustomization.yaml:3:3: releases.web.kustomize: Foo is a plugin, and plugins are off [FL1403]\n" + at + "    hint: use what has apiVersion: builtin\n" +
				"app/kustomization.yaml:7:24: releases.web.kustomize: ../base is a directory: it must be a file [FL1403]\n" + at + "    hint: name the files in it\n" +
				"app/kustomization.yaml:9:3: releases.web.kustomize: a configuration that does not parse: line 2: did not find expected ',' or ']' [FL1403]\n" + at + "    hint: correct the fields of the configuration\n",
		},
		{
			"definitions that go round", "-- app/kustomization.yaml --\nresources: [../base]\ncrds: [a.json, b.yaml, c.yaml]\n-- app/a.json --\n{\"A\": {\"Schema\": {\"properties\": {\"apiVersion\": {}, \"kind\": {}, \"metadata\": {}, \"spec\": {\"$ref\": \"A\"}}}}}\n-- app/b.yaml --\n- a\n-- app/c.yaml --\n",
			"app/kustomization.yaml:2:8: releases.web.kustomize: a.json has types that refer to themselves, or too often to each other [FL1403]\n" + at + "    hint: leave the references out\n" +
				"app/kustomization.yaml:2:16: releases.web.kustomize: b.yaml is not a file of OpenAPI definitions [FL1403]\n" + at + "    hint: name custom resource definitions under resources\n" +
				"app/kustomization.yaml:2:24: releases.web.kustomize: c.yaml is empty [FL1403]\n" + at + "    hint: write its content, or remove its name here\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			objs, _, err := BuildKustomization(t.Context(), unpack(t, []byte(base+test.archive)), "app", release(), KustomizeInputs{})
			if got := faults(t, err); got != test.want || objs != nil {
				t.Errorf("%d objects and\n%swant\n%s", len(objs), got, test.want)
			}
		})
	}
}

// TestDirectory has sources that are not kustomizations.
func TestDirectory(t *testing.T) {
	root := unpack(t, []byte(base))
	for dir, want := range map[string]string{
		"":                        "an empty path [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"/base":                   "/base is an absolute path [FL1405]\n    hint: write it relative to the fleet's root, where cue.mod is",
		"../base":                 "../base is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"base/../../x":            "base/../../x is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"bsae":                    "bsae does not exist [FL1405]\n    hint: did you mean base?",
		"base/sub":                "base/sub does not exist [FL1405]\n    hint: create it, or correct the path",
		"base/d.yaml":             "base/d.yaml is a file [FL1403]\n    hint: name a directory with a kustomization.yaml, or make it a manifests release",
		"base/d.yaml/x":           "base/d.yaml/x cannot be read: not a directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"base/kustomization.yaml": "base/kustomization.yaml is a kustomization file [FL1403]\n    hint: name its directory: base",
		"app":                     "no kustomization.yaml in app [FL1403]\n    hint: name a directory with a kustomization.yaml",
		".":                       "no kustomization.yaml in . [FL1403]\n    hint: use a directory below it, such as base",
		"github.com/a/b":          "github.com/a/b is remote, and a build fetches nothing [FL1405]\n    hint: copy it into the fleet",
		"https://example.com/a/b": "https://example.com/a/b is remote, and a build fetches nothing [FL1405]\n    hint: copy it into the fleet",
	} {
		_, _, err := BuildKustomization(t.Context(), root, dir, release(), KustomizeInputs{})
		if got := strings.TrimSpace(faults(t, err)); got != "environments/fleet.cue:7:2: releases.web.kustomize: "+want {
			t.Errorf("%q:\n%s\nwant\n%s", dir, got, want)
		}
	}
	for _, dir := range []string{"base", "./base/", "app/../base"} {
		if objs, _, err := BuildKustomization(t.Context(), root, dir, release(), KustomizeInputs{}); len(objs) != 1 || err != nil {
			t.Errorf("%q: %d objects, %v", dir, len(objs), err)
		}
	}
}

// laughs returns YAML that expands to 10^n strings.
func laughs(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := range n {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return b.String()
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

func TestBounded(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"plain":          {"a: b", true},
		"text":           {"a & b * c: [", true},
		"few":            {laughs(3), true},
		"many":           {laughs(9), false},
		"second":         {"a: b\n---\n" + laughs(9), false},
		"patch":          {"patches:\n- patch: |\n" + indent(laughs(9), "    "), false},
		"patch in patch": {"patches:\n- patch: |\n    patch: |\n" + indent(laughs(9), "      "), false},
		"long":           {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 100) + "]", false},
		"long once":      {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [*a]", true},
		"itself":         {"a: &a [*a]", false},
		"merged":         {"a: &a {x: y}\nb: {<<: *a}", true},
	} {
		if got := smallExpanded([]byte(test.text)); got != test.want {
			t.Errorf("%s: bounded is %v", name, got)
		}
	}
}

// TestDeepYAML has deep values in files that kustomize parses.
func TestDeepYAML(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: " + strings.Repeat("{a: ", 9000) + "1" + strings.Repeat("}", 9000) + "\n"
	half := "a: &a " + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "\nb: " + strings.Repeat("[", 600) + "*a" + strings.Repeat("]", 600) + "\n"
	for name, archive := range map[string]string{
		"resource": "-- app/kustomization.yaml --\nresources: [x.yaml]\n-- app/x.yaml --\n" + object,
		"aliases":  "-- app/kustomization.yaml --\nresources: [x.yaml]\n-- app/x.yaml --\n" + half,
		"patch":    "-- app/kustomization.yaml --\nresources: [r.yaml]\npatches: [{path: x.yaml}]\n-- app/x.yaml --\n" + object,
		"inline":   "-- app/kustomization.yaml --\nresources: [r.yaml]\npatchesStrategicMerge:\n- |\n" + indent(object, "  "),
	} {
		_, _, err := BuildKustomization(t.Context(), unpack(t, []byte(archive+"-- app/r.yaml --\n{apiVersion: v1, kind: A, metadata: {name: a}}\n")), "app", release(), KustomizeInputs{})
		if got := faults(t, err); !strings.Contains(got, "values are nested more than 1000 levels deep") {
			t.Errorf("%s:\n%.500s", name, got)
		}
	}
}

// TestBillionLaughs has aliases in every file that kustomize parses.
func TestBillionLaughs(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + laughs(9)
	for name, archive := range map[string]string{
		"kustomization": "-- app/kustomization.yaml --\nresources: [r.yaml]\n" + laughs(9),
		"resource":      "-- app/kustomization.yaml --\nresources: [x.yaml]\n-- app/x.yaml --\n" + object,
		"patch":         "-- app/kustomization.yaml --\nresources: [r.yaml]\npatches: [{path: x.yaml}]\n-- app/x.yaml --\n" + object,
		"inline":        "-- app/kustomization.yaml --\nresources: [r.yaml]\npatches:\n- patch: |\n" + indent(object, "    "),
		"generator":     "-- app/kustomization.yaml --\nresources: [r.yaml]\ngenerators:\n- |\n" + indent(object, "  "),
		"configuration": "-- app/kustomization.yaml --\nresources: [r.yaml]\nconfigurations: [x.yaml]\n-- app/x.yaml --\n" + laughs(9),
	} {
		_, _, err := BuildKustomization(t.Context(), unpack(t, []byte(archive+"-- app/r.yaml --\n{apiVersion: v1, kind: A, metadata: {name: a}}\n")), "app", release(), KustomizeInputs{})
		if got := faults(t, err); !strings.Contains(got, "aliases that expand to more than 64 MiB of it") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	// A file that is only put into a ConfigMap is not parsed.
	archive := "-- app/kustomization.yaml --\nconfigMapGenerator: [{name: a, files: [x.yaml]}]\n-- app/x.yaml --\n" + laughs(9)
	if _, _, err := BuildKustomization(t.Context(), unpack(t, []byte(archive)), "app", release(), KustomizeInputs{}); err != nil {
		t.Error(err)
	}
}
