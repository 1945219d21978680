package secret

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

var editTime = time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)

// encryptedByProgram returns a file that the sops program writes for two recipients.
func encryptedByProgram(t testing.TB, name, text, rule string) []byte {
	t.Helper()
	rules := written(t, ".sops.yaml", []byte("creation_rules: [{age: \""+publicKey(t, "key.txt")+","+publicKey(t, "other.txt")+"\", "+rule+"}]"))
	data, err := runSOPS(t, "key.txt", "--config", rules, "encrypt", written(t, name, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// editor returns an editor of a file.
func editor(t testing.TB, name string, data []byte) *SOPSEditor {
	t.Helper()
	f, err := ParseSOPS(name, data)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Edit(identities(t, "key.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func bytesOf(t testing.TB, e *SOPSEditor) []byte {
	t.Helper()
	out, err := e.Bytes(editTime)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const exampleJSON = "{\n\t\"db\": {\n\t\t\"password\": \"a<b>&\\\"\",\n\t\t\"port\": 5432,\n\t\t\"list\": [\n\t\t\t1,\n\t\t\ttrue\n\t\t],\n\t\t\"url_unencrypted\": \"x\",\n\t\t\"none\": null,\n\t\t\"empty\": {}\n\t}\n}"

// An editor without a change writes the file byte for byte, also after an equal value was set.
func TestEditNothing(t *testing.T) {
	for _, c := range []struct{ name, text, rule, path, value string }{
		{"a.yaml", everyType, "", "nested.list[1]", "b"},
		{"a.yaml", everyType, "mac_only_encrypted: true", "text_unencrypted", "plain"},
		{"a.json", exampleJSON, "", "db.list[1]", "true"},
		{"a.json", exampleJSON, "unencrypted_regex: ^p", "db.port", "5432"},
	} {
		data := encryptedByProgram(t, c.name, c.text, c.rule)
		e := editor(t, c.name, data)
		if err := e.Set(c.path, c.value); err != nil {
			t.Error(err)
		}
		if got := bytesOf(t, e); !bytes.Equal(got, data) {
			t.Errorf("%s %s: differs: %s", c.name, c.rule, firstDifference(string(got), string(data)))
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got " + g[i] + "\nwant " + w[i]
		}
	}
	return "lengths"
}

// changedLines returns the lines that are not in the other text, without their values.
func changedLines(text, other []byte) []string {
	lines := map[string]bool{}
	for line := range bytes.Lines(other) {
		lines[string(bytes.TrimRight(line, ",\n"))] = true
	}
	var out []string
	for line := range bytes.Lines(text) {
		if key, _, _ := strings.Cut(strings.Trim(string(line), " \t-\n"), ":"); !lines[string(bytes.TrimRight(line, ",\n"))] {
			out = append(out, strings.Trim(key, `"`))
		}
	}
	slices.Sort(out)
	return out
}

// Set changes one value, the checksum and the time, and the sops program decrypts the file.
func TestSet(t *testing.T) {
	files := map[string][]byte{"a.yaml": encryptedByProgram(t, "a.yaml", everyType, ""), "a.json": encryptedByProgram(t, "a.json", exampleJSON, "")}
	for _, c := range []struct {
		file, path, value string
		changed           []string
	}{
		{"a.yaml", "text", "other: \"x\" ü\n😀", []string{"lastmodified", "mac", "text"}},
		{"a.yaml", "text", "", []string{"lastmodified", "mac", "text"}},
		{"a.yaml", "empty", "now", []string{"empty", "lastmodified", "mac"}},
		{"a.yaml", "number", "a text", []string{"lastmodified", "mac", "number"}},
		{"a.yaml", "nothing", "x", []string{"lastmodified", "mac", "nothing"}},
		{"a.yaml", `"dotted.key"`, "x", []string{"dotted.key", "lastmodified", "mac"}},
		{"a.yaml", "text_unencrypted", "true", []string{"lastmodified", "mac", "text_unencrypted"}},
		{"a.yaml", "text_unencrypted", "a\nb", []string{"a", "b", "lastmodified", "mac", "text_unencrypted"}},
		{"a.yaml", "nested.list[1]", "B", []string{"ENC[AES256_GCM,data", "lastmodified", "mac"}},
		{"a.yaml", "nested.list[2][1]", "B", []string{"ENC[AES256_GCM,data", "lastmodified", "mac"}},
		{"a.yaml", "nested.list[3].value", "B", []string{"lastmodified", "mac", "value"}},
		{"a.yaml", "nested.list[4]", "new", []string{"ENC[AES256_GCM,data", "lastmodified", "mac"}},
		{"a.yaml", "new.map.key", "x", []string{"key", "lastmodified", "mac", "map", "new"}},
		{"a.json", "db.password", "x", []string{"lastmodified", "mac", "password"}},
		{"a.json", "db.none", "x", []string{"lastmodified", "mac", "none"}},
		{"a.json", "db.url_unencrypted", "<&\"\n", []string{"lastmodified", "mac", "url_unencrypted"}},
		{"a.json", "db.new", "x", []string{"lastmodified", "mac", "new"}},
	} {
		before := files[c.file]
		e := editor(t, c.file, before)
		if err := e.Set(c.path, c.value); err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		after := bytesOf(t, e)
		if got := changedLines(after, before); !reflect.DeepEqual(got, c.changed) {
			t.Errorf("%s: changed lines %q, want %q", c.path, got, c.changed)
		}
		want := texts(t, byProgram(t, c.file, before, "key.txt"))
		want[normalized(c.path)] = c.value
		if got := texts(t, byProgram(t, c.file, after, "other.txt")); !maps.Equal(got, want) {
			t.Errorf("%s: the program decrypts %q\nwant %q", c.path, got, want)
		}
		if got, err := decrypted(t, c.file, after); err != nil || got[normalized(c.path)] != c.value {
			t.Errorf("%s: %q, %v", c.path, got[normalized(c.path)], err)
		}
	}
}

func TestEditFaults(t *testing.T) {
	e := editor(t, "all.yaml", read(t, "all.yaml"))
	for path, want := range map[string]string{
		"": "the path is not valid", "a..b": "the path is not valid", "sops.mac": "the path is not valid", "grafana": "the value is a map or a list",
		"grafana.list[7]": "the list has 3 elements", "grafana.list.x": "the list has 3 elements", "grafana.n.x": "a part of the path is a single value",
		"grafana.new[0]": "the list does not exist", "grafana.list[3].a[0]": "the list does not exist",
	} {
		err := e.Set(path, "hunter2222")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2222") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if got := bytesOf(t, e); !bytes.Equal(got, read(t, "all.yaml")) {
		t.Error("refused changes change the file: " + firstDifference(string(got), string(read(t, "all.yaml"))))
	}
	f, err := ParseSOPS("foreign.yaml", read(t, "foreign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Edit(identities(t, "key.txt")); !errors.Is(err, ErrNoIdentity) {
		t.Errorf("%v", err)
	}
	changed := regexp.MustCompile(`(?m)^    f: .*\n`).ReplaceAll(read(t, "all.yaml"), nil)
	if f, err = ParseSOPS("all.yaml", changed); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Edit(identities(t, "key.txt")); err == nil {
		t.Error("a file that was changed without sops is edited")
	}
	for _, list := range [][]string{nil, {"age1x"}, {publicKey(t, "key.txt"), "AGE-SECRET-KEY-1"}} {
		for _, err := range []error{e.SetRecipients(list), e.Rotate(list)} {
			if len(diag.All(err)) != 1 || strings.Contains(err.Error(), "AGE-SECRET") {
				t.Errorf("%q: %v", list, err)
			}
		}
	}
}

// SetRecipients leaves all values as they are; Rotate changes all, with comments.
func TestEditRecipients(t *testing.T) {
	data := encryptedByProgram(t, "a.yaml", everyType, "")
	key, other := publicKey(t, "key.txt"), publicKey(t, "other.txt")
	plain := func(data []byte, key string) string {
		out, err := runSOPS(t, key, "decrypt", written(t, "a.yaml", data))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	want := plain(data, "key.txt")

	e := editor(t, "a.yaml", data)
	if err := e.SetRecipients([]string{other}); err != nil {
		t.Fatal(err)
	}
	one := bytesOf(t, e)
	if lines := changedLines(one, data); len(lines) != 0 {
		t.Errorf("a removed recipient changes lines %q", lines)
	}
	if plain(one, "other.txt") != want {
		t.Error("other values")
	}
	if _, err := decrypted(t, "a.yaml", one); !errors.Is(err, ErrNoIdentity) {
		t.Errorf("removed recipient: %v", err)
	}

	e = editor(t, "a.yaml", data)
	if err := e.Rotate([]string{key}); err != nil {
		t.Fatal(err)
	}
	rotated := bytesOf(t, e)
	if plain(rotated, "key.txt") != want {
		t.Error("rotation changes values or comments: " + firstDifference(plain(rotated, "key.txt"), want))
	}
	ciphertexts := regexp.MustCompile(`ENC\[AES256_GCM,data:[^\]]*,type:[a-z]+\]`)
	for _, text := range ciphertexts.FindAll(data, -1) {
		if bytes.Contains(rotated, text) && !bytes.Contains(text, []byte("data:eA==")) {
			t.Errorf("%.60s is not rotated", text)
		}
	}
	e = editor(t, "a.yaml", rotated)
	if err := e.SetRecipients([]string{key, other}); err != nil {
		t.Fatal(err)
	}
	if got := bytesOf(t, e); plain(got, "other.txt") != want {
		t.Error("an added recipient decrypts something else")
	}
}

// Rotate encrypts values that were set before it.
func TestRotateAfterSet(t *testing.T) {
	e := editor(t, "a.yaml", encryptedByProgram(t, "a.yaml", everyType, ""))
	if err := errors.Join(e.Set("text", "first"), e.Set("new.key", "x"), e.Rotate([]string{publicKey(t, "other.txt")}), e.Set("text", "second")); err != nil {
		t.Fatal(err)
	}
	got := texts(t, byProgram(t, "a.yaml", bytesOf(t, e), "other.txt"))
	if got["text"] != "second" || got["new.key"] != "x" {
		t.Errorf("%q", got)
	}
}

// Every text that is set decrypts to itself, and stays until it is changed.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{"", "x", "a: b\n", "\u2028", "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]", "true", "\x00", "# x", "ü€😀"} {
		f.Add("grafana.adminPassword", seed)
		f.Add("grafana.new_unencrypted", seed)
	}
	f.Add(`grafana."a.b"`, "x")
	f.Fuzz(func(t *testing.T, path, value string) {
		if !utf8.ValidString(value) || !utf8.ValidString(path) {
			return
		}
		e := editor(t, "all.yaml", read(t, "all.yaml"))
		if e.Set(path, value) != nil {
			return
		}
		data := bytesOf(t, e)
		got, err := decrypted(t, "all.yaml", data)
		if err != nil || got[normalized(path)] != value {
			t.Fatalf("%q: %q, %v, want %q", path, got[normalized(path)], err, value)
		}
		again := editor(t, "all.yaml", data)
		if err := again.Set(path, value); err != nil || !bytes.Equal(bytesOf(t, again), data) {
			t.Errorf("%q is changed by an equal value, %v", path, err)
		}
	})
}

// A file without age keys names the keys that it has, and the program that uses them.
func TestEditOtherKeys(t *testing.T) {
	text := regexp.MustCompile(`(?s)    age:.*?    lastmod`).ReplaceAllString(string(read(t, "all.yaml")), "    pgp:\n    - fp: A\n      enc: eA==\n    lastmod")
	f, err := ParseSOPS("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Edit(identities(t, "key.txt"))
	d, ok := errors.AsType[*diag.Diag](err)
	if !ok || !strings.HasSuffix(d.Msg, "it is encrypted for PGP") || !strings.Contains(d.Hint, "run the sops program") {
		t.Errorf("%v", err)
	}
}
