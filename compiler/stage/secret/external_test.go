package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An externalCase is the input of the program in testdata/externalsecrets.
type externalCase struct {
	Templates, Values map[string]string
}

// byOperator returns the data of Secrets that the External Secrets Operator makes.
func byOperator(t *testing.T, cases []externalCase) []map[string]string {
	t.Helper()
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "../../../testdata/externalsecrets", bytes.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var out []map[string]string
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil || len(out) != len(cases) {
		t.Fatalf("%d results of %d: %v", len(out), len(cases), err)
	}
	return out
}

// ofKind returns an object with data of a release.
func ofKind(kind string, content map[string]any) fleet.Object {
	object := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "namespace": "n"}}
	for key, v := range content {
		object[key] = v
	}
	return fleet.Object{Unstructured: &unstructured.Unstructured{Object: object}, Release: &fleet.Release{Name: "r", Pos: diag.Pos{File: "r.cue", Line: 1, Col: 1}}}
}

// inVault returns a cluster with secrets of the operator and one of another source.
func inVault() *fleet.Cluster {
	vault := func(key string) fleet.SecretSource {
		return fleet.SecretSource{External: &fleet.ExternalSecret{Store: "vault", StoreKind: "ClusterSecretStore", Key: key, Property: "p"}}
	}
	return &fleet.Cluster{ID: "dev", Secrets: []fleet.Secret{
		{Name: "db", SecretSource: vault("prod/db")},
		{Name: "my-key.1", SecretSource: fleet.SecretSource{External: &fleet.ExternalSecret{Store: "other", StoreKind: "SecretStore", Key: "k", Version: "3", Refresh: "5m"}}},
		{Name: "own", SecretSource: fleet.SecretSource{Env: "OWN"}},
	}}
}

// externalData are texts with references, of which the operator must make what fleetc
// makes of them.
func externalData() map[string]any {
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	const db, other = "((fleetc:db@00))", "((fleetc:my-key.1))"
	return map[string]any{
		"plain": db, "url": "postgres://u:" + db + "@h/" + other, "braces": "{" + db + "}", "template": "{{ .x }} " + db + " {{",
		"none": "a {{ b }} c", "json": `{"a":"x` + db + `","b":["` + other + `"],"n":1}`, "auth": `{"auths":{"r":{"auth":"` + encoded("u:"+db) + `"}}}`,
		"twice": encoded(encoded("a" + db)), "plain.yaml": "a: " + db + "\nb: [x, " + other + "]\n", "part.yaml": "a: x-" + db + " # why\n",
		"double.yaml": `a: "x` + db + `"`, "single.yaml": "a: 'x" + db + "'\n", "block.yaml": "a: |\n  x\n  p=" + db + "\nb: 1\n",
	}
}

// The Secret that the External Secrets Operator makes has the data that fleetc would
// apply, for values of all kinds.
func TestExternalValues(t *testing.T) {
	data := externalData()
	secret := ofKind("Secret", map[string]any{"stringData": data, "data": map[string]any{
		"coded": base64.StdEncoding.EncodeToString([]byte("x((fleetc:db))")), "binary": base64.StdEncoding.EncodeToString([]byte("\xff\x00")),
		"bytes": base64.StdEncoding.EncodeToString([]byte("\xff((fleetc:db))\xfe")),
	}})
	objs, err := External(inVault(), []fleet.Object{secret})
	if err != nil {
		t.Fatal(err)
	}
	templates := map[string]string{}
	found, _, err := unstructured.NestedStringMap(objs[0].Object, "spec", "target", "template", "data")
	if err != nil || len(found) != len(data)+3 {
		t.Fatalf("%d templates: %v", len(found), err)
	}
	for key, text := range found {
		templates[key] = text
	}
	// The program prints texts, and JSON has no binary data.
	templates["binary64"] = strings.Replace(templates["binary"], "}}", "| b64enc }}", 1)
	values := []string{"simple", "0123", "true", `with "quotes" and 'single'`, "a: b # c", "back\\slash", "<b>&amp;", "{{ .x }}", "$HOME ${x}", "ünïcode ☃", `{"a": 1}`, " spaces ", "YWJj", "line\nbreak", `ends in \`, `"`, "-", "[x"}
	var cases []externalCase
	for _, value := range values {
		cases = append(cases, externalCase{templates, map[string]string{"db": value, "my-key.1": "k" + value}})
	}
	for i, got := range byOperator(t, cases) {
		replace := func(_, name string) string { return cases[i].Values[name] }
		for key, text := range data {
			want := fleet.MapReferences(text.(string), replace)
			if strings.Contains(values[i], "\n") && key == "single.yaml" {
				continue // single quotes cannot contain a line break, see fleet.FitsDocument
			}
			if !sameText(key, got[key], want) {
				t.Errorf("value %q: %s is %q, want %q from %s", values[i], key, got[key], want, templates[key])
			}
		}
		if coded, err := base64.StdEncoding.DecodeString(got["binary64"]); err != nil || string(coded) != "\xff\x00" {
			t.Errorf("binary data is %q, %v", coded, err)
		}
		if want := "\ufffd" + values[i] + "\ufffd"; got["bytes"] != want { // as JSON writes bytes that are not a text
			t.Errorf("value %q: bytes are %q, want %q", values[i], got["bytes"], want)
		}
		if got["coded"] != "x"+values[i] {
			t.Errorf("value %q: coded is %q", values[i], got["coded"])
		}
	}
}

// sameText compares texts, and documents by their content.
func sameText(key, got, want string) bool {
	if got == want {
		return true
	}
	var a, b any
	switch {
	case key == "json" || key == "auth":
		return json.Unmarshal([]byte(got), &a) == nil && json.Unmarshal([]byte(want), &b) == nil && reflect.DeepEqual(a, b)
	case strings.HasSuffix(key, ".yaml"):
		return yaml.Unmarshal([]byte(got), &a) == nil && yaml.Unmarshal([]byte(want), &b) == nil && reflect.DeepEqual(a, b)
	}
	return false
}

// The resource has the store and key of each value, and the labels and type of the Secret.
func TestExternalResource(t *testing.T) {
	secret := ofKind("Secret", map[string]any{
		"type": "kubernetes.io/basic-auth", "immutable": true, "stringData": map[string]any{"password": "((fleetc:db))", "key": "((fleetc:my-key.1))"},
		"metadata": map[string]any{"name": "a", "namespace": "n", "labels": map[string]any{"app": "a"}, "annotations": map[string]any{"note": "{{ x }}"}},
	})
	plain := ofKind("Secret", map[string]any{"stringData": map[string]any{"a": "b"}})
	objs, err := External(inVault(), []fleet.Object{secret, plain})
	if err != nil || objs[1].Unstructured != plain.Unstructured {
		t.Fatal("another Secret changes", err)
	}
	got, err := yaml.Marshal(objs[0].Object)
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
    annotations:
        note: '{{ x }}'
    labels:
        app: a
    name: a
    namespace: "n"
spec:
    data:
        - remoteRef:
            key: prod/db
            property: p
          secretKey: db
        - remoteRef:
            key: k
            version: "3"
          secretKey: my-key.1
          sourceRef:
            storeRef:
                kind: SecretStore
                name: other
    refreshInterval: 5m
    secretStoreRef:
        kind: ClusterSecretStore
        name: vault
    target:
        creationPolicy: Owner
        immutable: true
        name: a
        template:
            data:
                key: '{{ index . "my-key.1" }}'
                password: '{{ .db }}'
            engineVersion: v2
            metadata:
                annotations:
                    note: '{{ "{{" }} x }}'
                labels:
                    app: a
            type: kubernetes.io/basic-auth
`
	if string(got) != want {
		t.Errorf("got:\n%s", got)
	}
}

// Objects from which the operator can make no Secret are faults.
func TestExternalFaults(t *testing.T) {
	text := map[string]any{"a": "((fleetc:db))"}
	byHelm := ofKind("Secret", map[string]any{"stringData": text})
	byHelm.Release = &fleet.Release{Name: "r", Delivery: fleet.ByHelm, Pos: byHelm.Release.Pos}
	config := ofKind("ConfigMap", map[string]any{"data": text})
	config.Release = &fleet.Release{Name: "r", SecretsIn: []fleet.Waiver{{Path: "ConfigMap/a"}}}
	label := ofKind("Secret", map[string]any{"stringData": text, "metadata": map[string]any{"name": "a", "labels": text}})
	label.Release = &fleet.Release{Name: "r", SecretsIn: []fleet.Waiver{{Path: "Secret/a"}}}
	for name, c := range map[string]struct {
		o    fleet.Object
		want string
	}{
		"a ConfigMap":    {config, "data.a refers to a secret, and the object to db"},
		"a label":        {label, "metadata.labels.a refers to a secret"},
		"Helm":           {byHelm, "Helm would create a Secret with the secret db"},
		"another source": {ofKind("Secret", map[string]any{"stringData": map[string]any{"a": "((fleetc:db)) ((fleetc:own))"}}), "it refers to db of the External Secrets Operator and to own of another source"},
	} {
		if _, err := External(inVault(), []fleet.Object{c.o}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The operator fetches all values of a Secret at the shortest interval. An interval of 0
// means once.
func TestExternalRefresh(t *testing.T) {
	for want, intervals := range map[string][]string{"1h": {"", "24h"}, "5m": {"5m", "24h"}, "24h": {"0s", "24h"}, "0s": {"0s", "0s"}} {
		c := inVault()
		c.Secrets[0].External.Refresh, c.Secrets[1].External.Refresh = intervals[0], intervals[1]
		objs, err := External(c, []fleet.Object{ofKind("Secret", map[string]any{"stringData": map[string]any{"a": "((fleetc:db))((fleetc:my-key.1))"}})})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedString(objs[0].Object, "spec", "refreshInterval"); got != want {
			t.Errorf("%q are fetched each %s, want %s", intervals, got, want)
		}
	}
}
