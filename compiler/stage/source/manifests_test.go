package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// manifestRelease is the release of all tests.
func manifestRelease() *fleet.Release {
	return &fleet.Release{Name: "web", SourcePos: diag.Pos{File: "environments/fleet.cue", Line: 7, Col: 2}}
}

// manifestAt is the second line of faults in a file.
const manifestAt = "    environments/fleet.cue:7:2: and here\n"

// unpackManifests writes an archive below a new root, and returns the root.
func unpackManifests(t *testing.T, archive string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, filepath.Join(root, f.Name), f.Data)
	}
	return root
}

// unread is the hint for a file in a directory that cannot be read.
const unread = "    hint: replace it with a file that can be read, or remove it\n"

// ids lists objects with their positions.
func ids(objs []fleet.Object) string {
	var out []string
	for _, o := range objs {
		out = append(out, o.ID()+" "+o.Pos.String())
	}
	return strings.Join(out, ", ")
}

// TestGolden reads a directory with all kinds of manifests.
func TestGolden(t *testing.T) {
	archive, err := os.ReadFile("testdata/all.txtar")
	if err != nil {
		t.Fatal(err)
	}
	objs, reads, err := ReadManifests(unpackManifests(t, string(archive)), "app", manifestRelease())
	if err != nil {
		t.Fatal(faults(t, err))
	}
	var b bytes.Buffer
	for _, r := range reads {
		b.WriteString("# " + r + "\n")
	}
	for _, o := range objs {
		text, err := sigsyaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "--- # %s\n%s", o.Pos, text)
		if o.Release == nil || o.Template != o.Pos.File {
			t.Errorf("%s is of %q", o.ID(), o.Template)
		}
		o.DeepCopy() // panics on numbers of other types
	}
	if *rewrite {
		if err := os.WriteFile("testdata/all.yaml", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/all.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("testdata/all.yaml is now\n%s", b.String())
	}
}

func TestRead(t *testing.T) {
	const a, b = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
	for _, test := range []struct{ name, text, want string }{
		{"one", a, "ConfigMap a x:1:1"},
		{"behind a comment", "# comment\n\n" + a, "ConfigMap a x:3:1"},
		{"behind separators", "---\n---\n\n--- # c\n" + a + "---\n", "ConfigMap a x:5:1"},
		{"two", a + "---\n" + b, "ConfigMap a x:1:1, ConfigMap b x:5:1"},
		{"two with comments", a + "# c\n---\n# d\n---\n\n# e\n" + b + "---\n# f\n", "ConfigMap a x:1:1, ConfigMap b x:10:1"},
		{"on the separator", "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\t{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}", "ConfigMap a x:1:5, ConfigMap b x:2:5"},
		{"directive", "%YAML 1.1\n# c\n---\n" + a + "...\n%YAML 1.1\n---\n" + b, "ConfigMap a x:4:1, ConfigMap b x:10:1"},
		{"ends", a + "...\n" + b + "...\n", "ConfigMap a x:1:1, ConfigMap b x:5:1"},
		{"carriage returns", strings.ReplaceAll(a+"---\n"+b, "\n", "\r\n"), "ConfigMap a x:1:1, ConfigMap b x:5:1"},
		{"byte order mark", "\ufeff" + a, "ConfigMap a x:1:1"},
		{"no end of line", strings.TrimSpace(a) + "\n---\nnull", "ConfigMap a x:1:1"},
		{"separator in a text", a + "data:\n  x: |\n    ---\n    y\n", "ConfigMap a x:1:1"},
		{"list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n", "ConfigMap a x:4:3, ConfigMap b x:7:3"},
		{"list of lists", "{apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: ä}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}]}", "ConfigMap ä x:1:84, ConfigMap b x:1:141"},
		{"list without items", a + "---\n{apiVersion: v1, kind: List, items: []}\n", "ConfigMap a x:1:1"},
		{"list with null for its items", a + "---\n{apiVersion: v1, kind: ConfigMapList, items: null}\n", "ConfigMap a x:1:1"},
		{"list by name", "{apiVersion: example.com/v1, kind: AllowList, metadata: {name: a}, spec: {items: [1]}}", "AllowList.example.com a x:1:1"},
		{"anchors", "x: &x {name: a}\napiVersion: v1\nkind: ConfigMap\nmetadata: {<<: *x}\n", "ConfigMap a x:1:1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "x"), []byte(test.text))
			objs, reads, err := ReadManifests(root, "./x", manifestRelease())
			if err != nil || ids(objs) != test.want || !slices.Equal(reads, []string{"x"}) {
				t.Errorf("%s, want %s, of %v\n%s", ids(objs), test.want, reads, faults(t, err))
			}
		})
	}
}

// TestValues compares values with those of kubectl and of charts.
func TestValues(t *testing.T) {
	const yaml = "apiVersion: v1\nkind: X\nmetadata: {name: a}\nspec: {i: 9007199254740993, m: -1, f: 1.5, e: 1e3, o: 0755, yes: yes, s: '1', nil: null, list: [1, 2.5], u: 100000000000000000000}\n"
	want := map[string]any{"i": int64(9007199254740993), "m": int64(-1), "f": 1.5, "e": int64(1000), "o": int64(493), "true": true, "s": "1", "nil": nil, "list": []any{int64(1), 2.5}, "u": 1e20}
	const json = `{"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": {"i": 9007199254740993, "m": -1, "f": 1.5, "e": 1e3, "o": 493, "true": true, "s": "1", "nil": null, "list": [1, 2.5], "u": 100000000000000000000}}`
	root := unpackManifests(t, "-- x.yaml --\n"+yaml+"-- x.json --\n"+json)
	for _, name := range []string{"x.yaml", "x.json"} {
		objs, _, err := ReadManifests(root, name, manifestRelease())
		if err != nil {
			t.Fatal(faults(t, err))
		}
		if name == "x.json" {
			want["e"] = 1000.0 // as decoded by Kubernetes
		}
		if got := objs[0].Object["spec"]; !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%s: %#v", name, got)
		}
	}
}

func TestFaults(t *testing.T) {
	const a = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, test := range []struct{ file, text, want string }{
		{
			"x.yaml", a + "data:\n  k: 1\n  # c\n  k: 2\n---\n" + a + "data: {ä: 1, b: 2, b: 3}\nkind: X\n",
			"app/x.yaml:7:3: releases.web.manifests: the key k occurs twice, first in line 5 [FL1406]\n" + manifestAt + "    hint: keep one of them\n" +
				"app/x.yaml:12:21: releases.web.manifests: the key b occurs twice, first in line 12 [FL1406]\n" + manifestAt + "    hint: keep one of them\n" +
				"app/x.yaml:13:1: releases.web.manifests: the key kind occurs twice, first in line 10 [FL1406]\n" + manifestAt + "    hint: keep one of them\n",
		},
		{"x.yaml", a + "data: {1: a, '1': b}\n", "app/x.yaml:4:14: releases.web.manifests: the key 1 occurs twice, first in line 4 [FL1406]\n" + manifestAt + "    hint: keep one of them\n"},
		{
			"x.yaml", "---\n# c\ndata: 1\n---\nkind: X\n---\napiVersion: v1\n---\n- a\n---\ntext\n---\n1\n---\n{}\n",
			"app/x.yaml:3:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n" +
				"app/x.yaml:5:1: releases.web.manifests: a document without apiVersion, of kind X [FL1406]\n" + manifestAt + "    hint: write its apiVersion, as in apiVersion: v1\n" +
				"app/x.yaml:7:1: releases.web.manifests: a document without kind, of apiVersion v1 [FL1406]\n" + manifestAt + "    hint: write its kind, as in kind: ConfigMap\n" +
				"app/x.yaml:9:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n" +
				"app/x.yaml:11:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n" +
				"app/x.yaml:13:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n" +
				"app/x.yaml:15:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n",
		},
		{"x.yaml", "apiVersion: 1\nkind: {a: b}\n", "app/x.yaml:1:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n"},
		{
			"x.yaml", "apiVersion: v1\nkind: List\nitems:\n- a\n- {kind: X}\n",
			"app/x.yaml:4:3: releases.web.manifests: item 0 of a List is not an object [FL1406]\n" + manifestAt + "    hint: write each item as an object with apiVersion, kind and metadata\n" +
				"app/x.yaml:5:3: releases.web.manifests: a document without apiVersion, of kind X [FL1406]\n" + manifestAt + "    hint: write its apiVersion, as in apiVersion: v1\n",
		},
		{
			"x.yaml", a + "---\na: b\n c: d\n---\n" + a + "---\nx: [\n",
			"app/x.yaml:6: releases.web.manifests: YAML that does not parse: mapping values are not allowed in this context [FL1406]\n" + manifestAt + "    hint: correct the indentation, or put strings that contain a colon in quotes\n" +
				"app/x.yaml:12: releases.web.manifests: YAML that does not parse: did not find expected node content [FL1406]\n" + manifestAt + "    hint: correct the indentation or the quotes of this line, or of the lines around it\n",
		},
		{"x.yaml", a + "data: *no\n", "app/x.yaml:1: releases.web.manifests: YAML that does not parse: unknown anchor 'no' referenced [FL1406]\n" + manifestAt + "    hint: put strings that begin with * in quotes\n"},
		{"x.yaml", a + "a: &a [*a]\n", "app/x.yaml:1:1: releases.web.manifests: aliases that expand to more than 64 MiB of the document [FL1407]\n" + manifestAt + "    hint: write out the parts that the aliases repeat\n"},
		{"x.yaml", a + "? [a]\n: b\n", "app/x.yaml:4:3: releases.web.manifests: a key that is not a string [FL1406]\n" + manifestAt + "    hint: put the key in quotes\n"},
		{"kustomization.yaml", "resources: [x.yaml]\n", "app/kustomization.yaml: releases.web.manifests: a kustomization is not a manifest [FL1107]\n" + manifestAt + "    hint: name its directory as the kustomize of a release: app\n"},
		{"x.yml", "---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "app/x.yml:2:1: releases.web.manifests: a kustomization is not a manifest [FL1107]\n" + manifestAt + "    hint: name its directory as the kustomize of a release: app\n"},
		{"x.txt", "", "environments/fleet.cue:7:2: releases.web.manifests: no manifests in app and below it [FL1405]\n    hint: put files in it that end in .yaml, .yml or .json\n"},
		{"x.yaml", "# nothing\n---\n---\n", "environments/fleet.cue:7:2: releases.web.manifests: no objects in app [FL1405]\n    hint: add objects to it, or remove the release\n"},

		{"x.json", "{\"kind\": \"X\"}\n[]\n1", "app/x.json:1:1: releases.web.manifests: a document without apiVersion, of kind X [FL1406]\n" + manifestAt + "    hint: write its apiVersion, as in apiVersion: v1\n" +
			"app/x.json:2:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n" +
			"app/x.json:3:1: releases.web.manifests: a document without apiVersion and kind [FL1406]\n" + manifestAt + "    hint: write its apiVersion and kind, or move the document out of the manifests\n"},
		{
			"x.json", "{\"apiVersion\": \"v1\", \"kind\": \"X\",\n\t\"data\": {\"k\": {}, \"k\": 1,\n\t\t\"k\": 1e999}}",
			"app/x.json:2:20: releases.web.manifests: the key k occurs twice, first in line 2 [FL1406]\n" + manifestAt + "    hint: keep one of them\n" +
				"app/x.json:3:3: releases.web.manifests: the key k occurs twice, first in line 2 [FL1406]\n" + manifestAt + "    hint: keep one of them\n" +
				"app/x.json:3:8: releases.web.manifests: a number that is out of range: 1e999 [FL1406]\n" + manifestAt + "    hint: write a smaller number, or a string in quotes\n",
		},
		{"x.json", "{\"kind\": \"X\",\n  \"a\": [1,, 2]}", "app/x.json:2:11: releases.web.manifests: JSON that does not parse: invalid character ',' looking for beginning of value [FL1406]\n" + manifestAt + "    hint: correct the JSON here, for example a missing comma or quote\n"},
		{"x.json", "{\"kind\": [\n", "app/x.json:2:1: releases.web.manifests: JSON that does not parse: the file ends within a value [FL1406]\n" + manifestAt + "    hint: correct the JSON here, for example a missing comma or quote\n"},
		{"x.json", "{\"kind\": ", "app/x.json:1:10: releases.web.manifests: JSON that does not parse: the file ends within a value [FL1406]\n" + manifestAt + "    hint: correct the JSON here, for example a missing comma or quote\n"},
		{"x.json", strings.Repeat("[", 100_000), "app/x.json:1:1002: releases.web.manifests: JSON that does not parse: values are nested more than 1000 levels deep [FL1406]\n" + manifestAt + "    hint: correct the JSON here, for example a missing comma or quote\n"},
	} {
		root := unpackManifests(t, "-- app/y/.keep --\n")
		write(t, filepath.Join(root, "app", test.file), []byte(test.text))
		objs, reads, err := ReadManifests(root, "app", manifestRelease())
		if got := faults(t, err); got != test.want || objs != nil || len(reads) == 0 && !strings.Contains(test.want, "no manifests in") {
			t.Errorf("%s\n%d objects and\n%swant\n%s", test.text[:min(len(test.text), 500)], len(objs), got, test.want)
		}
	}
}

// TestPath has sources that are not manifests.
func TestPath(t *testing.T) {
	above := t.TempDir()
	root := filepath.Join(above, "fleet")
	if err := os.Rename(unpackManifests(t, "-- app/x.yaml --\n{apiVersion: v1, kind: A, metadata: {name: a}}\n-- app/sub/y.yaml --\n{apiVersion: v1, kind: A, metadata: {name: b}}\n"), root); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "app/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(above, "out/k.yaml"), []byte("{apiVersion: v1, kind: Secret, metadata: {name: a}}"))
	for from, to := range map[string]string{
		"out": "../out", "outfile.yaml": "../out/k.yaml", "abs.yaml": filepath.Join(root, "app/x.yaml"), "chain": "app/../out", "round": "round",
		"in.yaml": "app/sub/../x.yaml", "indir": "app/", "broken": "no",
	} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"":                 "an empty path [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"/app":             "/app is an absolute path [FL1405]\n    hint: write it relative to the fleet's root, where cue.mod is",
		"../out/k.yaml":    "../out/k.yaml is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"../fleet/app":     "../fleet/app is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"app/../../out":    "app/../../out is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"out":              "out is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"out/k.yaml":       "out/k.yaml is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"outfile.yaml":     "outfile.yaml is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"abs.yaml":         "abs.yaml is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"chain/k.yaml":     "chain/k.yaml is outside of the fleet's directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"round":            "round has too many symbolic links [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"broken":           "broken is a broken link [FL1405]\n    hint: correct the link",
		"app/empty/x.yaml": "app/empty/x.yaml does not exist [FL1405]\n    hint: create it, or correct the path",
		"apq":              "apq does not exist [FL1405]\n    hint: did you mean app?",
		"app/x.yml":        "app/x.yml does not exist [FL1405]\n    hint: did you mean x.yaml?",
		"ap/x.yaml":        "ap/x.yaml does not exist [FL1405]\n    hint: did you mean app?",
		"app/x.yaml/z":     "app/x.yaml/z cannot be read: not a directory [FL1405]\n    hint: name a file or directory of the fleet that can be read",
		"https://x.org/y":  "https://x.org/y does not exist [FL1405]\n    hint: use one of abs.yaml, app, broken, chain, in.yaml, indir, out, outfile.yaml, round",
		"app/sub/y.yaml/.": "",
	} {
		objs, _, err := ReadManifests(root, name, manifestRelease())
		if want != "" {
			want = "environments/fleet.cue:7:2: releases.web.manifests: " + want
		}
		if got := strings.TrimSpace(faults(t, err)); got != want || (err == nil) != (len(objs) == 1) {
			t.Errorf("%q: %d objects and\n%s\nwant\n%s", name, len(objs), got, want)
		}
	}
	objs, reads, err := ReadManifests(root, "in.yaml", manifestRelease())
	if ids(objs) != "A a in.yaml:1:1" || !slices.Equal(reads, []string{"app/x.yaml", "in.yaml"}) || err != nil {
		t.Error(ids(objs), reads, err)
	}
	objs, reads, err = ReadManifests(root, "indir", manifestRelease())
	if ids(objs) != "A b indir/sub/y.yaml:1:1, A a indir/x.yaml:1:1" || err != nil ||
		!slices.Equal(reads, []string{"app/sub/y.yaml", "app/x.yaml", "indir/sub/y.yaml", "indir/x.yaml"}) {
		t.Error(ids(objs), reads, err)
	}
}

// TestLinksInDirectory has links in a directory.
func TestBounds(t *testing.T) {
	laughs := "apiVersion: v1\nkind: X\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for name, test := range map[string]struct{ text, want string }{
		"laughs":  {laughs, "x.yaml:1:1: releases.web.manifests: aliases that expand to more than 64 MiB of the document [FL1407]\n" + manifestAt + "    hint: write out the parts that the aliases repeat\n"},
		"long":    {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 100) + "]", "x.yaml:1:1: releases.web.manifests: aliases that expand to more than 64 MiB of the document [FL1407]\n" + manifestAt + "    hint: write out the parts that the aliases repeat\n"},
		"objects": {strings.Repeat("{apiVersion: v1, kind: X}\n---\n", maxManifestObjects+1), "environments/fleet.cue:7:2: releases.web.manifests: more than 20000 objects [FL1407]\n    hint: make it several releases\n"},
		"large":   {strings.Repeat("#", maxManifestFile+1), "x.yaml: releases.web.manifests: is larger than 16 MiB [FL1405]\n" + manifestAt + unread},
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, "x.yaml"), []byte(test.text))
		if _, _, err := ReadManifests(root, "x.yaml", manifestRelease()); faults(t, err) != test.want {
			t.Errorf("%s:\n%s", name, faults(t, err))
		}
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "x.yaml"), []byte(strings.Repeat("- a\n---\n", 1000)))
	if _, _, err := ReadManifests(root, "x.yaml", manifestRelease()); len(diag.All(err)) != maxManifestFaults+1 {
		t.Errorf("%d faults", len(diag.All(err)))
	}
}

// TestTotal exceeds the limits of files and bytes.
func TestTotal(t *testing.T) {
	root := t.TempDir()
	big := []byte("# " + strings.Repeat("x", maxManifestFile-3) + "\n")
	for i := range maxManifestTotal/maxManifestFile + 1 {
		write(t, filepath.Join(root, fmt.Sprintf("big/%02d.yaml", i)), big)
	}
	for i := range maxManifestFiles + 1 {
		write(t, filepath.Join(root, fmt.Sprintf("many/%05d.yaml", i)), nil)
	}
	for dir, want := range map[string]string{"big": "more than 64 MiB [FL1407]", "many": "more than 5000 files [FL1407]"} {
		if _, _, err := ReadManifests(root, dir, manifestRelease()); faults(t, err) != "environments/fleet.cue:7:2: releases.web.manifests: "+want+"\n    hint: make it several releases\n" {
			t.Errorf("%s:\n%s", dir, faults(t, err))
		}
	}
}

func TestNoRoot(t *testing.T) {
	if _, _, err := ReadManifests(filepath.Join(t.TempDir(), "no"), "app", manifestRelease()); err == nil {
		t.Error("there is no fault")
	}
}
