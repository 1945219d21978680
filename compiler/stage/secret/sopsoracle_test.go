package secret

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/ssh"
	kyaml "sigs.k8s.io/yaml"
)

// sopsBinary builds the sops program.
var sopsBinary = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-n", "sops")
	cmd.Dir = "../../../testdata/sops"
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// runSOPS runs the sops program with the keys of a file in testdata.
func runSOPS(t testing.TB, key string, args ...string) ([]byte, error) {
	t.Helper()
	binary, err := sopsBinary()
	if err != nil {
		t.Fatalf("build sops: %v", err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Env = []string{"SOPS_AGE_KEY=" + string(read(t, key)), "HOME=" + t.TempDir()}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Logf("sops %s: %s", strings.Join(args, " "), &stderr)
		return nil, err
	}
	return stdout.Bytes(), nil
}

// written writes a file and returns its path.
func written(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// byProgram returns what the sops program decrypts, as a tree.
func byProgram(t testing.TB, name string, data []byte, key string) map[string]any {
	t.Helper()
	out, err := runSOPS(t, key, "decrypt", "--output-type", "json", written(t, name, data))
	if err != nil {
		t.Fatalf("sops does not decrypt it: %v\n%s", err, data)
	}
	var tree map[string]any
	if err := json.Unmarshal(out, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// texts returns the scalars of a tree as sops decrypts them to JSON, by path.
func texts(t testing.TB, tree any) map[string]string {
	t.Helper()
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	f := &SOPSFile{}
	top := yamlOf(t, text)
	if err := f.collect(top); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, l := range f.leaves {
		if value := plainBytes(l.node); value != nil {
			out[l.field] = displayed(l.node, value)
		}
	}
	return out
}

const everyType = `# first comment
text: hunter22 # inline
empty: ""
blank: " "
number: 42
negative: -7
octal: 0o17
hex: 0x1f
float: 1.5
exponent: 1e+20
small: 0.000001
yes: true
no: false
nothing: null
tilde: ~
time: 2020-01-01T00:00:00Z
precise: 2020-01-01T00:00:00.123456Z
precise_unencrypted: 2020-01-01T00:00:00.123456Z
day_unencrypted: 2020-01-01
hex_unencrypted: 0x1f
float_unencrypted: 1.50
exponent_unencrypted: 1e3
yes_unencrypted: True
null_unencrypted: null
looks_unencrypted: ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]
text_unencrypted: plain
numeric: "007"
binary: !!binary aGVsbG8=
binary_unencrypted: !!binary aGVsbG8=
"dotted.key": dotted
"key with: colon": colon
"": emptykey
unicode: "öäü € 😀"
looks: "ENC[AES256_GCM,data:x"
multi: |
    line 1
    line 2
folded: >-
    a
    b
nested:
    # a comment inside
    list:
        - a
        # before b
        - b
        - - 1
          - true
        - name: c
          value: d
    emptymap: {}
    emptylist: []
    map_unencrypted:
        inner: visible
# last comment
`

// The package decrypts what the sops program writes, with every kind of value and rule.
func TestDecryptProgram(t *testing.T) {
	recipients := publicKey(t, "key.txt") + "," + publicKey(t, "other.txt")
	large := "large: " + strings.Repeat("x", 1<<20) + "\n"
	inJSON := `{"s": "a\"b<&>", "i": 5, "f": 1.25, "big": 12345678901234567890, "big_unencrypted": 12345678901234567890, "e_unencrypted": 1e3, "b": true, "n": null, "l": [1, [2, "x"], {"m": false}], "t_unencrypted": "2020-01-01", "o": {}}`
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n    name: x\n    labels:\n        data: y\nstringData:\n    a: b\n"
	for _, c := range []struct {
		name, text, rule string
		args             []string
	}{
		{"a.yaml", everyType, "", nil},
		{"a.yaml", everyType, "mac_only_encrypted: true", nil},
		{"a.yaml", everyType, "unencrypted_regex: ^t", nil},
		{"a.yaml", everyType, "encrypted_suffix: t", nil},
		{"a.yaml", everyType, "encrypted_suffix: t, mac_only_encrypted: true", nil},
		{"a.yaml", everyType, "unencrypted_comment_regex: first", nil},
		{"a.yaml", everyType, "unencrypted_comment_regex: first, mac_only_encrypted: true", nil},
		{"a.yaml", everyType, "encrypted_comment_regex: before b", nil},
		{"a.yaml", everyType, "encrypted_comment_regex: before b, mac_only_encrypted: true", nil},
		{"a.yaml", large, "", nil},
		{"a.json", inJSON, "", nil},
		{"a.json", inJSON, "mac_only_encrypted: true", nil},
		{"s.yaml", secret, "encrypted_regex: ^(data|stringData)$", nil},
		{"b.bin", "not a tree\n\x00\x01", "", []string{"--input-type", "binary", "--output-type", "json"}},
	} {
		title := c.name + " " + c.rule
		if strings.Contains(c.rule, "comment") { // a text that looks encrypted is a fault there
			c.text = strings.Replace(c.text, "looks_unencrypted: ENC", "looks_unencrypted: EN", 1)
		}
		rules := written(t, ".sops.yaml", []byte("creation_rules: [{age: \""+recipients+"\", "+c.rule+"}]"))
		data, err := runSOPS(t, "key.txt", slices.Concat([]string{"--config", rules, "encrypt"}, c.args, []string{written(t, c.name, []byte(c.text))})...)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		name := strings.Replace(c.name, ".bin", ".json", 1)
		for _, key := range []string{"key.txt", "other.txt"} {
			f, err := ParseSOPS(name, data)
			if err != nil {
				t.Errorf("%s: %v", title, err)
				break
			}
			p, err := f.Decrypt(identities(t, key))
			if err != nil {
				t.Errorf("%s: %v", title, err)
				break
			}
			want := texts(t, byProgram(t, name, data, key))
			if got := p.values; !reflect.DeepEqual(got, want) {
				for path := range want {
					if got[path] != want[path] {
						t.Errorf("%s: %s is %q, want %q", title, path, got[path], want[path])
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s: %d values, want %d: %q", title, len(got), len(want), got)
				}
			}
		}
	}
}

// The sops program decrypts what EncryptSecret writes, for each recipient.
func TestProgramDecrypts(t *testing.T) {
	values := map[string]any{"a": "eHl6", "c.d": "multi\nline\n", "empty": "", "é": "ü: \"x\" 😀", "z": strings.Repeat("y", 1<<20)}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x"}, "stringData": values, "data": map[string]any{}}
	out, err := EncryptSecret(secret, []string{publicKey(t, "key.txt"), publicKey(t, "other.txt")}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := kyaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"key.txt", "other.txt"} {
		if got := byProgram(t, "x.yaml", text, key); !reflect.DeepEqual(got, secret) {
			t.Errorf("%s: got %.300v", key, got)
		}
	}
}

func yamlOf(t testing.TB, text []byte) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil || len(n.Content) != 1 {
		t.Fatalf("%v", err)
	}
	return n.Content[0]
}

// SSH keys decrypt what the sops program encrypts for them, and the other way round.
func TestSSHKeys(t *testing.T) {
	home := t.TempDir()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	sshKey, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	recipient := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshKey)))
	file := filepath.Join(home, ".ssh", "id_ed25519")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := runSOPS(t, "key.txt", "encrypt", "--age", recipient, written(t, "a.yaml", []byte("a: x\n")))
	if err != nil {
		t.Fatal(err)
	}
	for variable, value := range map[string]string{"HOME": home, "SOPS_AGE_SSH_PRIVATE_KEY_FILE": file} {
		ids, err := Identities(func(name string) string { return map[string]string{variable: value}[name] })
		if err != nil || len(ids) != 1 {
			t.Fatalf("%s: %d keys, %v", variable, len(ids), err)
		}
		f, err := ParseSOPS("a.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Edit(ids)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Set("a", "y"), e.SetRecipients([]string{recipient, publicKey(t, "key.txt")})); err != nil {
			t.Fatal(err)
		}
		if got := byProgram(t, "a.yaml", bytesOf(t, e), "key.txt"); got["a"] != "y" {
			t.Errorf("%v", got)
		}
	}
}
