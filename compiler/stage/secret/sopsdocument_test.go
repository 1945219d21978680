package secret

import (
	"reflect"
	"strings"
	"testing"
	"time"

	kyaml "sigs.k8s.io/yaml"
)

// documentOf returns an editor of a file, and its decrypted document.
func documentOf(t *testing.T, name string, data []byte) (*SOPSEditor, string) {
	t.Helper()
	f, err := ParseSOPS(name, data)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Edit(identities(t, "key.txt"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := e.Document()
	if err != nil {
		t.Fatal(err)
	}
	return e, string(document)
}

// The document has the values and comments that the sops program decrypts.
func TestDocument(t *testing.T) {
	for _, name := range []string{"all.yaml", "all.json", "maconly.yaml", "secret.yaml"} {
		_, document := documentOf(t, name, read(t, name))
		want, err := runSOPS(t, "key.txt", "decrypt", written(t, name, read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if !sameDocument(t, document, string(want)) || strings.Contains(document, "ENC[") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, document, want)
		}
		for line := range strings.Lines(string(want)) {
			if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "#") && !strings.Contains(document, comment) {
				t.Errorf("%s has no comment %s", name, comment)
			}
		}
	}
}

// sameDocument compares the values of documents.
func sameDocument(t *testing.T, a, b string) bool {
	t.Helper()
	var one, other any
	if err := kyaml.Unmarshal([]byte(a), &one); err != nil {
		t.Fatal(err)
	}
	if err := kyaml.Unmarshal([]byte(b), &other); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(one, other)
}

// The sops program decrypts an edited file to the edited document. Values that did not
// change keep their ciphertext, also in another order.
func TestReplace(t *testing.T) {
	data := read(t, "all.yaml")
	e, document := documentOf(t, "all.yaml", data)
	if changed, err := e.Replace([]byte(document)); changed || err != nil {
		t.Fatalf("an equal document: %v, %v", changed, err)
	}
	edited := "# a new comment\nadded:\n  map: {key: \"0123\", count: 7, right: true, none: null, f: 1.50}\n  # before the list\n  list: [x, \"\"]\n" +
		strings.NewReplacer("adminPassword: hunter22", "adminPassword: changed # said so", "    f: 1.5", "    f: text").Replace(document)
	changed, err := e.Replace([]byte(edited))
	if err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	out, err := e.Bytes(time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	got, err := runSOPS(t, "key.txt", "decrypt", written(t, "all.yaml", out))
	if err != nil || !sameDocument(t, string(got), edited) {
		t.Fatalf("%v\ngot\n%s\nwant\n%s\nfrom\n%s", err, got, edited, out)
	}
	for _, comment := range []string{"# a new comment", "# before the list", "# said so"} {
		if !strings.Contains(string(got), comment) || strings.Contains(string(out), comment) {
			t.Errorf("the comment %s is lost, or in plain text", comment)
		}
	}
	before, err := ParseSOPS("all.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	after, err := ParseSOPS("all.yaml", out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "#") && !strings.Contains(string(out), comment) {
			t.Errorf("the comment %s has another ciphertext", comment)
		}
	}
	for _, key := range before.EncryptedKeys() {
		isEdited := key == "grafana.adminPassword" || key == "grafana.f"
		if same := before.Ciphertext(key) == after.Ciphertext(key); same == isEdited {
			t.Errorf("%s keeps its ciphertext: %v", key, same)
		}
	}
}

// Texts that are no document of a SOPS file are faults with their line, and without a value.
func TestReplaceFaults(t *testing.T) {
	for text, want := range map[string]string{
		"a: hunter22\nb: [": "all.yaml:2: the edited text is not a YAML or JSON map", "hunter22": "not a YAML or JSON map", "": "not a YAML or JSON map",
		"a: 1\n---\nb: 2\n": "several documents", "sops: {}\n": "has a key sops", "a: 1\na: 2\n": "duplicate key", "a: &x 1\nb: *x\n": "does not support aliases",
	} {
		e, document := documentOf(t, "all.yaml", read(t, "all.yaml"))
		changed, err := e.Replace([]byte(text))
		if changed || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%q: %v, %v, want %q", text, changed, err, want)
		}
		if again, err := e.Document(); err != nil || string(again) != document {
			t.Errorf("%q changes the file: %v", text, err)
		}
	}
}
