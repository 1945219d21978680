package secret

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	kyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// The files in testdata are written by sops 3.13.3.

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// identities returns the age keys of a file in testdata.
func identities(t testing.TB, name string) []age.Identity {
	t.Helper()
	ids, err := Identities(func(variable string) string {
		return map[string]string{"SOPS_AGE_KEY_FILE": filepath.Join("testdata", name)}[variable]
	})
	if err != nil || len(ids) != 1 {
		t.Fatalf("%d keys, %v", len(ids), err)
	}
	return ids
}

// decrypted returns the values of a file by path.
func decrypted(t testing.TB, name string, data []byte) (map[string]string, error) {
	t.Helper()
	f, err := ParseSOPS(name, data)
	if err != nil {
		return nil, err
	}
	p, err := f.Decrypt(identities(t, "key.txt"))
	if err != nil {
		return nil, err
	}
	return p.values, nil
}

func TestDecrypt(t *testing.T) {
	secret := map[string]string{
		"apiVersion": "v1", "kind": "Secret", "metadata.name": "x", "data.key": "YWJj", "stringData.password": "öäü €",
		"stringData.long": "0123456789012345678901234567890123456789012345678901234567890123456789",
	}
	for name, want := range map[string]map[string]string{
		"all.yaml": {
			"grafana.adminPassword": "hunter22", "grafana.n": "5", "grafana.f": "1.5", "grafana.b": "true", "grafana.e": "",
			"grafana.list[0]": "a", "grafana.list[1]": "b", "grafana.list[2].c": "d", "grafana.multi": "line1\nline2\n",
			`grafana."dotted.key"`: "x", "grafana.t": "2020-01-01T00:00:00Z",
		},
		"all.json": {
			"db.password": `s3cr3t "quoted" $x`, "db.port": "5432", "db.big": "15000000000", "db.on": "false",
			"db.list[0]": "1", "db.list[1]": "true", "db.list[2]": "x", "db.url_unencrypted": "postgres://db",
		},
		"secret.yaml":  secret,
		"maconly.yaml": secret,
	} {
		got, err := decrypted(t, name, read(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q\nwant %q", name, got, want)
		}
	}
}

// A key that is not a recipient cannot decrypt, and another one of two can.
func TestRecipients(t *testing.T) {
	f, err := ParseSOPS("foreign.yaml", read(t, "foreign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]age.Identity{nil, identities(t, "key.txt")} {
		if _, err := f.Decrypt(ids); !errors.Is(err, ErrNoIdentity) || !strings.Contains(err.Error(), f.Recipients()[0]) {
			t.Errorf("%v", err)
		}
	}
	if f, err = ParseSOPS("all.yaml", read(t, "all.yaml")); err != nil || len(f.Recipients()) != 2 {
		t.Fatalf("%v, %v", f, err)
	}
	if _, err := f.Decrypt(identities(t, "other.txt")); err != nil {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	f, err := ParseSOPS("all.yaml", read(t, "all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if keys := f.Keys(); !slices.IsSorted(keys) || !slices.Contains(keys, "grafana.adminPassword") || slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, "sops") }) {
		t.Errorf("%q", keys)
	}
	for path, want := range map[string]bool{"grafana.adminPassword": true, `grafana."dotted.key"`: true, "grafana.dotted.key": false, "grafana": false, "grafana.list[1]": true, "a..b": false, "": false} {
		if f.Has(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
		if encryptedValue.MatchString(f.Ciphertext(path)) != want {
			t.Errorf("%s: ciphertext %q", path, f.Ciphertext(path))
		}
	}
}

// Every change of a file without sops is found.
func TestTampering(t *testing.T) {
	text := string(read(t, "all.yaml"))
	values := regexp.MustCompile(`ENC\[AES256_GCM,data:([^,]+)`).FindAllStringSubmatchIndex(text, -1)
	if len(values) < 10 {
		t.Fatalf("%d values", len(values))
	}
	changed := map[string]string{
		"a later change":       strings.Replace(text, "lastmodified: \"2026", "lastmodified: \"2027", 1),
		"a removed value":      regexp.MustCompile(`(?m)^    f: .*\n`).ReplaceAllString(text, ""),
		"another null":         strings.Replace(text, "z: null", "z: 1", 1),
		"a renamed key":        strings.Replace(text, "adminPassword:", "adminPasswords:", 1),
		"two elements swapped": regexp.MustCompile(`(?m)^(        - ENC.*\n)(        - ENC.*\n)`).ReplaceAllString(text, "$2$1"),
		"a value as a comment": strings.Replace(text, "type:str]", "type:comment]", 1),
		"a truncated file":     text[:len(text)-40],
		"a removed recipient":  strings.Replace(text, "-----END AGE", "-----END", 2),
	}
	for i, at := range values {
		if strings.Contains(text[at[0]:at[0]+strings.IndexByte(text[at[0]:], '\n')], "type:comment") {
			continue
		}
		other := byte('A')
		if text[at[2]] == other {
			other = 'B'
		}
		changed["value "+string(rune('a'+i))] = text[:at[2]] + string(other) + text[at[2]+1:]
	}
	for name, data := range changed {
		if data == text {
			t.Errorf("%s: nothing changed", name)
		}
		if _, err := decrypted(t, "all.yaml", []byte(data)); err == nil {
			t.Errorf("%s is not found", name)
		} else if strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: the fault shows a value: %v", name, err)
		}
	}
}

func TestParseFaults(t *testing.T) {
	all, regex := string(read(t, "all.yaml")), string(read(t, "secret.yaml"))
	for text, want := range map[string]string{
		"":                          "the file is empty",
		"a: [":                      "not valid YAML or JSON",
		"a: b":                      "x.yaml:1:1: the file is not encrypted",
		"- a":                       "x.yaml:1:1: the file is not encrypted",
		"a: 1\nsops: x":             "x.yaml:2:7: the SOPS metadata is not valid",
		"a: &x 1\nb: *x\nsops: {}":  "x.yaml:2:4: SOPS does not support aliases",
		"a: 1\nsops: {}":            "x.yaml:2:7: the SOPS metadata has no checksum",
		"a: {b: 1, b: 2}\nsops: {}": "x.yaml:1:11: a.b: duplicate key",
		"A=ENC[]\nsops_mac=ENC[]\n": "encrypted by SOPS as ENV or INI",
		"[sops]\nmac = ENC[]\n":     "encrypted by SOPS as ENV or INI",
		"sops: {}\n---\nb: 1":       "x.yaml:3:1: the file has several documents",
		regexp.MustCompile(`lastmodified: .*`).ReplaceAllString(all, ""):                              "has no time of the last change",
		regexp.MustCompile(`(?s)    age:.*?    lastmod`).ReplaceAllString(all, "    lastmod"):         "names no recipient",
		regexp.MustCompile(`adminPassword: .*`).ReplaceAllString(all, "adminPassword: hunter22"):      "x.yaml:3:20: grafana.adminPassword: the value is in plain text",
		regexp.MustCompile(`adminPassword: .*`).ReplaceAllString(all, "adminPassword: ENC[hunter22]"): "x.yaml:3:20: grafana.adminPassword: the value is in plain text",
		regexp.MustCompile(`key: ENC.*`).ReplaceAllString(regex, "key: YWJj"):                         "data.key: the value is in plain text",
		regexp.MustCompile(`encrypted_regex: .*`).ReplaceAllString(regex, "encrypted_regex: '('"):     "invalid regular expression",
	} {
		_, err := ParseSOPS("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
		for _, d := range diag.All(err) {
			if d.Hint == "" || len(d.At) == 0 {
				t.Errorf("%q has no hint or position", d.Msg)
			}
		}
	}
}

// Keys come from the variables and the file in which sops looks; an invalid one is not shown.
func TestIdentities(t *testing.T) {
	key := strings.TrimSpace(string(read(t, "key.txt")))
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sops", "age"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sops", "age", "keys.txt"), read(t, "other.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		keys int
		err  string
	}{
		{nil, 0, ""},
		{map[string]string{"SOPS_AGE_KEY": key}, 1, ""},
		{map[string]string{"SOPS_AGE_KEY": key, "XDG_CONFIG_HOME": dir}, 2, ""},
		{map[string]string{"HOME": dir}, 0, ""},
		{map[string]string{"SOPS_AGE_KEY": "AGE-SECRET-KEY-1BROKEN"}, 0, "SOPS_AGE_KEY has no valid age key"},
		{map[string]string{"SOPS_AGE_KEY_FILE": dir + "/none"}, 0, "cannot read the file of age keys"},
		{map[string]string{"SOPS_AGE_KEY_FILE": dir}, 0, "cannot read the file of age keys"},
		{map[string]string{"SOPS_AGE_KEY_CMD": "BROKEN"}, 0, "fleetc does not run the command in SOPS_AGE_KEY_CMD"},
		{map[string]string{"SOPS_AGE_KEY_CMD": "BROKEN", "SOPS_AGE_KEY": key}, 1, ""},
		{map[string]string{"SOPS_AGE_SSH_PRIVATE_KEY_FILE": dir + "/none"}, 0, "has no SSH key without a passphrase"},
	} {
		ids, err := Identities(func(name string) string { return c.env[name] })
		if len(ids) != c.keys || c.err == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %d keys, %v", c.env, len(ids), err)
		}
		if err != nil && strings.Contains(err.Error(), "BROKEN") {
			t.Errorf("the fault shows the key: %v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"all.yaml", "all.json", "secret.yaml"} {
		f.Add(read(f, name))
	}
	f.Add([]byte("a: &a [*a, *a]\nsops: {mac: x}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseSOPS("x.yaml", data)
		if err != nil {
			return
		}
		for _, path := range file.Keys() {
			if !file.Has(path) {
				t.Errorf("%q is not found", path)
			}
		}
		if p, err := file.Decrypt(nil); err == nil {
			t.Errorf("%v without a key", p.values)
		}
	})
}

// An encrypted Secret decrypts to the same values in canonical YAML, for each recipient,
// and its other fields may change.
func TestEncryptSecret(t *testing.T) {
	values := map[string]any{"b": "YWJj", "a": "eHl6", "c.d": "multi\nline\n", "empty": "", "é": "ü: \"x\""}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x"}, "data": values, "stringData": map[string]any{"z": "1"}}
	recipients := []string{publicKey(t, "key.txt"), publicKey(t, "other.txt")}
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.FixedZone("", 3600))
	out, err := EncryptSecret(secret, recipients, now)
	if err != nil {
		t.Fatal(err)
	}
	if secret["sops"] != nil || values["a"] != "eHl6" {
		t.Error("the given object is modified")
	}
	out["metadata"] = map[string]any{"name": "x", "labels": map[string]any{"a": "b"}}
	text, err := kyaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseSOPS("x.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := f.meta.LastModified; got != "2026-11-25T09:00:00Z" {
		t.Errorf("lastmodified is %s", got)
	}
	for _, key := range []string{"key.txt", "other.txt"} {
		p, err := f.Decrypt(identities(t, key))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range values {
			if got, err := p.Value(fleet.FieldText([]string{"data", name})); err != nil || got != want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
	again, err := EncryptSecret(secret, recipients, now)
	if err != nil || reflect.DeepEqual(again["data"], out["data"]) {
		t.Errorf("two files share nonces or keys, %v", err)
	}
	if _, err := EncryptSecret(map[string]any{"data": map[string]any{"a": 1}}, recipients, now); err == nil {
		t.Error("a number is encrypted")
	}
	if _, err := EncryptSecret(secret, []string{"age1x"}, now); err == nil {
		t.Error("an invalid recipient is accepted")
	}
}

// publicKey returns the recipient of a key in testdata.
func publicKey(t testing.TB, name string) string {
	t.Helper()
	return identities(t, name)[0].(*age.X25519Identity).Recipient().String()
}
