package deliver

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// testData has files that sops encrypted, and their key.
const testData = "../stage/secret/testdata"

// resolver returns a resolver of a fleet with the file s.yaml, and an environment.
func resolver(t *testing.T, text string, env map[string]string) *SecretResolver {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &SecretResolver{Dir: dir, Getenv: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testData, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// referring returns a bundle with a Secret that refers to secrets.
func referring(secrets ...fleet.Secret) *fleet.Bundle {
	r := &fleet.Release{Name: "r", Values: fleet.Map(nil)}
	data := map[string]any{}
	for _, s := range secrets {
		data[s.Name] = base64.StdEncoding.EncodeToString([]byte("x" + s.Reference()))
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "data": data}}
	return &fleet.Bundle{
		Cluster: &fleet.Cluster{ID: "dev", KubeVersion: "1.36", Secrets: secrets, Releases: []*fleet.Release{r}},
		Objects: []fleet.Object{{Unstructured: u, Release: r}}, YAML: []fleet.Text{{[]byte("text")}},
	}
}

var (
	keyFile  = map[string]string{"SOPS_AGE_KEY_FILE": filepath.Join(testData, "key.txt"), "TOKEN": "token-value"}
	password = fleet.Secret{Name: "db", SecretSource: fleet.SecretSource{SOPS: "s.yaml", Key: "grafana.adminPassword"}, Digest: "00", Pos: diag.Pos{File: "a.cue", Line: 1, Col: 1}}
	token    = fleet.Secret{Name: "token", SecretSource: fleet.SecretSource{Env: "TOKEN"}, Pos: diag.Pos{File: "a.cue", Line: 2, Col: 1}}
)

// Values are found by reference. That of a variable gets a digest, which depends on the
// value and the fleet, and which the texts of objects have.
func TestValues(t *testing.T) {
	digests := map[string]bool{}
	for _, c := range []struct{ fleet, cluster, value string }{{"a", "dev", "one"}, {"a", "dev", "two"}, {"b", "dev", "one"}, {"a", "prod", "one"}} {
		b := referring(password, token)
		b.Cluster.ID = c.cluster
		env := map[string]string{"SOPS_AGE_KEY_FILE": keyFile["SOPS_AGE_KEY_FILE"], "TOKEN": c.value}
		r := resolver(t, read(t, "all.yaml"), env)
		r.Fleet = c.fleet
		out, values, err := r.Values(context.Background(), b, nil)
		if err != nil || len(values) != 2 || values[password.Reference()] != "hunter22" {
			t.Fatalf("%v, %v", values, err)
		}
		m := regexp.MustCompile(`^x(\(\(fleetc:token@([0-9a-f]{12})\)\))$`).FindSubmatch(decoded(t, out, "token"))
		if m == nil || values[string(m[1])] != c.value {
			t.Fatalf("the value of %s is not that of %v", decoded(t, out, "token"), values)
		}
		digests[string(m[2])] = true
		if string(decoded(t, out, "db")) != "x"+password.Reference() || string(decoded(t, b, "token")) != "x"+token.Reference() {
			t.Error("another reference changes, or the given bundle")
		}
		if text := out.YAML[0].String(); !strings.Contains(text, out.Objects[0].Object["data"].(map[string]any)["token"].(string)) {
			t.Errorf("the text is %s", text)
		}
	}
	if len(digests) != 3 {
		t.Errorf("the digests are %v", digests)
	}
}

func decoded(t *testing.T, b *fleet.Bundle, key string) []byte {
	t.Helper()
	text, _, _ := unstructured.NestedString(b.Objects[0].Object, "data", key)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A bundle without references is returned as it is, and needs no key.
func TestNoReferences(t *testing.T) {
	b := referring()
	out, values, err := (&SecretResolver{}).Values(context.Background(), b, nil)
	if out != b || values != nil || err != nil {
		t.Errorf("%v, %v, %v", out, values, err)
	}
}

func TestValueFaults(t *testing.T) {
	all := read(t, "all.yaml")
	kms := regexp.MustCompile(`(?s)    age:.*?    lastmod`).ReplaceAllString(all, "    kms:\n    - arn: arn:aws:kms:eu:1:key/1\n      enc: eA==\n    lastmod")
	t.Setenv("PATH", t.TempDir())
	for name, c := range map[string]struct {
		text   string
		env    map[string]string
		secret fleet.Secret
		want   string
	}{
		"no key":        {all, nil, password, "s.yaml: no available age key decrypts the file: it is encrypted for age1"},
		"another key":   {read(t, "foreign.yaml"), keyFile, password, "no available age key decrypts the file"},
		"no file":       {all, keyFile, fleet.Secret{Name: "db", SecretSource: fleet.SecretSource{SOPS: "t.yaml", Key: "a"}}, "t.yaml does not exist"},
		"a map":         {all, keyFile, fleet.Secret{Name: "db", SecretSource: fleet.SecretSource{SOPS: "s.yaml", Key: "grafana"}}, "s.yaml has no string, number or bool at grafana"},
		"a changed MAC": {strings.Replace(all, "lastmodified: \"2", "lastmodified: \"1", 1), keyFile, password, "the SOPS checksum does not match"},
		"truncated":     {all[:len(all)/2], keyFile, password, "s.yaml:"},
		"KMS":           {kms, keyFile, password, "s.yaml is encrypted for AWS KMS, which needs the sops program"},
		"no variable":   {all, nil, token, "the environment variable TOKEN is not set"},
		"empty":         {all, map[string]string{"TOKEN": ""}, token, "the environment variable TOKEN is empty"},
	} {
		_, values, err := resolver(t, c.text, c.env).Values(context.Background(), referring(c.secret), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || values != nil {
			t.Errorf("%s: %v, %v, want %q", name, values, err, c.want)
		}
		for _, d := range diag.All(err) {
			if d.Hint == "" || strings.Contains(d.Error(), "hunter22") {
				t.Errorf("%s: %v", name, d)
			}
		}
	}
}
