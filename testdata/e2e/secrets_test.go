package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// A secretPlace is a fleet with secrets, and everything that its commands printed.
type secretPlace struct {
	*place
	values  map[string]string // by name
	printed strings.Builder
}

// run runs fleetc and keeps what it prints.
func (p *secretPlace) run(args ...string) result {
	p.Helper()
	r := p.fleetc(args...)
	fmt.Fprintf(&p.printed, "%s\n%s\n%s\n", r.command, r.stdout, r.stderr)
	return r
}

// key sets the environment of commands: the age key and a token.
func (p *secretPlace) key(token string) {
	p.env = []string{"SOPS_AGE_KEY_FILE=" + filepath.Join(top, "testdata/secrets/key.txt"), "APP_TOKEN=" + token, "XDG_CACHE_HOME=" + filepath.Join(p.dir, "cache")}
	p.values["token"] = token
}

// copySecrets copies a SOPS file of testdata/secrets.
func (p *secretPlace) copySecrets(from, to string) {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(top, "testdata/secrets", from))
	if err != nil {
		p.Fatal(err)
	}
	p.write("secrets/"+to, string(data))
}

// newSecrets returns a fleet whose releases get twenty secret values through a chart,
// objects in CUE, Jsonnet and a release that Helm delivers.
func newSecrets(t *testing.T) *secretPlace {
	t.Helper()
	p := &secretPlace{place: newPlace(t, clusters.Spec{Name: "one"}), values: map[string]string{}}
	var known struct{ Values map[string]string }
	data, err := os.ReadFile(filepath.Join(top, "testdata/secrets/values.json"))
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil || len(known.Values) != 20 {
		t.Fatalf("%d values, %v", len(known.Values), err)
	}
	p.values = known.Values
	p.copySecrets("values.yaml", "values.yaml")
	p.copySecrets("prod.yaml", "db.yaml")
	p.write("chart/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	p.write("chart/values.yaml", "secrets: {}\npassword: \"\"\n")
	p.write("chart/templates/secret.yaml", `apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
data: { {{- range $k, $v := .Values.secrets }}{{ $k }}: {{ $v | b64enc | quote }}, {{ end }} }
stringData:
  url: {{ printf "postgres://app:%s@db/app" .Values.password | quote }}
  config.json: {{ dict "password" (index .Values.secrets "v07") | toJson | quote }}
  login: {{ dict "auth" (printf "app:%s" .Values.password | b64enc) | toJson | quote }}
`)
	p.write("chart/templates/app.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      annotations: {checksum/config: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}}
    spec: {containers: [{name: a, image: "example.com/a:1"}]}
`)
	p.write("config.jsonnet", "function(secrets) { s: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'jsonnet' }, stringData: secrets } }\n")
	p.write("environments/dev/env.cue", `package fleet

secrets: {
	for k, _ in _names {(k): {sops: "secrets/values.yaml", key: "values.\(k)"}}
	db: {sops: "secrets/db.yaml", key: "db.password"}
	token: env: "APP_TOKEN"
}
_names: {`+names(20)+`}
_refs: {for k, _ in _names {(k): secrets[k].ref}}

releases: {
	namespace: {namespace: "app", objects: ns: {apiVersion: "v1", kind: "Namespace", metadata: name: "app"}}
	charted: {namespace: "app", chart: path: "chart", depends: namespace: true, values: {secrets: _refs, password: _db}}
	helmed: {namespace: "app", chart: path: "chart", delivery: "helm", depends: namespace: true, values: {secrets: _refs, password: _token}}
	written: {
		namespace: "app"
		depends: namespace: true
		objects: {
			plain: {apiVersion: "v1", kind: "Secret", metadata: name: "written", stringData: {_refs, token: _token}}
			config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "open", data: "app.ini": "password = \(_db)"}
		}
		secretsIn: "ConfigMap/open": "the program reads no Secrets"
	}
	jsonnet: {namespace: "app", jsonnet: "config.jsonnet", depends: namespace: true, values: secrets: _refs}
}
_db:    secrets.db.ref
_token: secrets.token.ref
gitops: layouts: []
`)
	return p
}

// names returns the fields v00 to v19.
func names(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%02d: true, ", i)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// data returns the decoded data of a Secret.
func (p *secretPlace) data(name string) map[string]string {
	p.Helper()
	var encoded map[string][]byte
	if err := json.Unmarshal([]byte(p.kubectl("one", "-n", "app", "get", "secret", name, "-o", "jsonpath={.data}")), &encoded); err != nil {
		p.Fatal(err)
	}
	out := map[string]string{}
	for k, v := range encoded {
		out[k] = string(v)
	}
	return out
}

// checkValues checks that a Secret has all values.
func (p *secretPlace) checkValues(name string) {
	p.Helper()
	got := p.data(name)
	for k, want := range p.values {
		if strings.HasPrefix(k, "v") && got[k] != want {
			p.Errorf("Secret %s has %q at %s, want %q", name, got[k], k, want)
		}
	}
}

// checkHidden searches everything that was printed, and all files, for the values.
func (p *secretPlace) checkHidden() {
	p.Helper()
	texts := map[string]string{"output": p.printed.String()}
	err := filepath.WalkDir(p.dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		texts[file] = string(data)
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	if len(texts) < 10 {
		p.Fatalf("%d files", len(texts))
	}
	for name, value := range p.values {
		quoted, err := json.Marshal(value)
		if err != nil {
			p.Fatal(err)
		}
		forms := []string{value, strings.Trim(string(quoted), `"`), url.QueryEscape(value), url.PathEscape(value)}
		for shift := range 3 {
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value))
			forms = append(forms, encoded[4*min(shift, 1):len(encoded)-2])
		}
		for where, text := range texts {
			for _, form := range forms {
				if strings.Contains(text, form) {
					p.Errorf("%s has the value of %s as %q", where, name, form)
				}
			}
		}
	}
}

// Values of secrets reach the cluster through every kind of release, and nothing else: no
// output, file or cache has them. A rotation changes what depends on it, a rollback
// restores the earlier value without a key.
func TestSecrets(t *testing.T) {
	p := newSecrets(t)
	p.writeSecretCharts()
	p.run("vet", "--render").ok(p.place)
	p.run("build").ok(p.place)
	p.run("explain", "dev/one", "releases.charted.values").ok(p.place)
	p.run("apply", "--yes").exits(p.place, 2).says(p.place, "secrets/values.yaml: no available age key decrypts the file", "the environment variable APP_TOKEN is not set")
	p.key("first-token-value")
	p.run("apply", "--dry-run").exits(p.place, 1)
	p.run("apply", "--yes").ok(p.place)
	for _, name := range []string{"charted", "helmed", "written", "jsonnet"} {
		p.checkValues(name)
	}
	p.checkSecretCharts()
	charted := p.data("charted")
	if want := "postgres://app:correct-horse-battery@db/app"; charted["url"] != want {
		t.Errorf("url is %q, want %q", charted["url"], want)
	}
	if want := `{"auth":"` + base64.StdEncoding.EncodeToString([]byte("app:correct-horse-battery")) + `"}`; charted["login"] != want {
		t.Errorf("login is %q, want %q", charted["login"], want)
	}
	var config struct{ Password string }
	if err := json.Unmarshal([]byte(charted["config.json"]), &config); err != nil || config.Password != p.values["v07"] {
		t.Errorf("the JSON document is %s: %v", charted["config.json"], err)
	}
	if got := p.data("written")["token"]; got != "first-token-value" {
		t.Errorf("token is %q", got)
	}
	if got := p.kubectl("one", "-n", "app", "get", "configmap", "open", "-o", `jsonpath={.data.app\.ini}`); got != "password = correct-horse-battery" {
		t.Errorf("the ConfigMap has %q", got)
	}
	p.values["db"] = "correct-horse-battery"
	p.run("apply", "--yes").ok(p.place).says(p.place, "nothing was written")
	p.run("diff", "--live").ok(p.place)
	p.run("status").ok(p.place)

	// A rotation rolls the pods of the release, and another value of the variable too.
	template := func(name string) string {
		return p.kubectl("one", "-n", "app", "get", "deployment", name, "-o", `jsonpath={.spec.template.metadata.annotations}`)
	}
	before, beforeHelm := template("charted"), template("helmed")
	p.copySecrets("rotated.yaml", "db.yaml")
	p.run("diff", "--live").exits(p.place, 1)
	p.run("apply", "--yes").ok(p.place).says(p.place, "changed +Deployment.apps app/charted|Deployment.apps app/charted")
	if template("charted") == before || template("helmed") != beforeHelm {
		t.Error("the rotation did not roll the pods that use the value, or others")
	}
	if got := p.data("charted")["url"]; got != "postgres://app:rotated-horse-battery@db/app" {
		t.Errorf("url is %q", got)
	}
	p.values["rotated"] = "rotated-horse-battery"
	first := p.values["token"]
	p.key("second-token-value")
	p.values["first"] = first
	p.run("apply", "--yes").ok(p.place)
	if got := p.data("written")["token"]; got != "second-token-value" {
		t.Errorf("token is %q", got)
	}
	if got := p.data("helmed")["url"]; got != "postgres://app:second-token-value@db/app" {
		t.Errorf("Helm delivers %q", got)
	}
	p.run("apply", "--yes").ok(p.place).says(p.place, "nothing was written")

	// A change by hand is found and shown without the value.
	p.kubectl("one", "-n", "app", "patch", "secret", "written", "--type=merge", "-p", `{"stringData":{"token":"changed-by-hand-value"}}`)
	p.kubectl("one", "-n", "app", "patch", "configmap", "open", "--type=merge", "-p", `{"data":{"app.ini":"password = changed-by-hand-value"}}`)
	p.values["hand"] = "changed-by-hand-value"
	p.run("diff", "--live").exits(p.place, 1).says(p.place, "Secret app/written", "ConfigMap app/open")
	p.run("apply", "--yes").exits(p.place, 2) // kubectl owns the fields
	p.run("apply", "--yes", "--force-conflicts").ok(p.place)

	p.env = append(p.env, "EDITOR=true")
	p.everyCommand()
	p.env = p.env[:len(p.env)-1]

	// The plan shows no value that the cluster has, also when the fleet has none there.
	p.edit("environments/dev/env.cue", `"password = \(_db)"`, `"password = none"`)
	p.edit("environments/dev/env.cue", `secretsIn: "ConfigMap/open": "the program reads no Secrets"`, "")
	p.run("apply", "--dry-run", "-o", "json").exits(p.place, 1).says(p.place, "ConfigMap app/open")
	p.run("diff", "--live", "--content").exits(p.place, 1).says(p.place, "ConfigMap app/open")

	// A rollback needs neither key nor variable.
	p.env = p.env[2:]
	p.run("history", "dev/one").ok(p.place)
	p.run("rollback", "dev/one", "--to", "1", "--yes").ok(p.place)
	if got := p.data("charted")["url"]; got != "postgres://app:correct-horse-battery@db/app" {
		t.Errorf("after the rollback, url is %q", got)
	}
	if got := p.data("written")["token"]; got != "first-token-value" {
		t.Errorf("after the rollback, token is %q", got)
	}
	p.checkHidden()
}
