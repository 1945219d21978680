package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// externalCRD returns the CRD of ExternalSecrets as the External Secrets Operator has it.
func externalCRD(t *testing.T) string {
	t.Helper()
	dir := moduleDir(t, "externalsecrets", "github.com/external-secrets/external-secrets")
	crd, err := os.ReadFile(filepath.Join(dir, "config/crds/bases/external-secrets.io_externalsecrets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(crd)
}

// A value that is in the cluster alone is made once and stays, also when it is changed by
// hand; a command runs only when it may; an ExternalSecret is one for the API server.
func TestSecretSources(t *testing.T) {
	p := &secretPlace{place: newPlace(t, clusters.Spec{Name: "one"}), values: map[string]string{}}
	p.write("crds/external.yaml", externalCRD(t))
	p.write("environments/dev/env.cue", `package fleet

secrets: {
	made: live: {length: 20, alphabet: "abcdefghij"}
	printed: exec: ["printf", "%s", "from-a-command"]
	db: external: {store: "vault", key: "prod/db", property: "password"}
}
releases: {
	crds: {namespace: "default", manifests: "crds"}
	app: {
		namespace: "default"
		depends: crds: true
		objects: {
			made: {apiVersion: "v1", kind: "Secret", metadata: name: "made", stringData: {password: secrets.made.ref, url: "user:\(secrets.made.ref)@db"}}
			printed: {apiVersion: "v1", kind: "Secret", metadata: name: "printed", stringData: token: secrets.printed.ref}
			external: {apiVersion: "v1", kind: "Secret", metadata: name: "external", type: "kubernetes.io/basic-auth", stringData: {
				username: "app", password: secrets.db.ref, "config.json": "{\"password\":\"\(secrets.db.ref)\"}"
			}}
		}
	}
}
gitops: layouts: []
`)
	p.run("vet", "--render").ok(p.place)
	p.run("apply", "--yes").exits(p.place, 2).says(p.place, "env.cue:5:2: secrets.printed: the secret runs a command, which is not allowed: printf %s from-a-command", "pass --allow-exec")
	first := p.begin("apply", "--yes", "--allow-exec")
	first.readUntil("waits for ExternalSecret.external-secrets.io default/external", 1)
	p.kubectl("one", "patch", "externalsecret", "external", "--subresource=status", "--type=merge", "-p", // as the operator does
		`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"SecretSynced","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	first.end().ok(p.place)
	value := func(name, key string) string {
		t.Helper()
		return p.kubectl("one", "get", "secret", name, "-o", "go-template={{index .data \""+key+"\" | base64decode}}")
	}
	password := value("made", "password")
	if len(password) != 20 || strings.Trim(password, "abcdefghij") != "" || value("made", "url") != "user:"+password+"@db" {
		t.Errorf("the password is %q, and the URL %q", password, value("made", "url"))
	}
	if got := value("printed", "token"); got != "from-a-command" {
		t.Errorf("the token is %q", got)
	}
	if got := p.kubectl("one", "get", "externalsecret", "external", "-o", "jsonpath={.spec.target.template.data.password} {.spec.target.template.type} {.spec.data[0].remoteRef.key}"); got != "{{ .db }} kubernetes.io/basic-auth prod/db" {
		t.Errorf("the ExternalSecret has %s", got)
	}
	p.values["made"] = password
	p.run("apply", "--yes", "--allow-exec").ok(p.place).says(p.place, "nothing was written")
	p.run("diff", "--live").exits(p.place, 2).says(p.place, "pass --allow-exec")
	p.run("diff", "--live", "--allow-exec").ok(p.place)

	// A rotation by hand is kept; half of one is a fault.
	p.kubectl("one", "patch", "secret", "made", "--type=merge", "-p", `{"stringData":{"password":"changed-by-hand"}}`)
	p.values["hand"] = "changed-by-hand"
	p.run("apply", "--yes", "--allow-exec").exits(p.place, 2).says(p.place,
		`the cluster has two values of the secret made: in Secret default/made stringData.password and in Secret default/made stringData.url`)
	p.kubectl("one", "patch", "secret", "made", "--type=merge", "-p", `{"stringData":{"url":"user:changed-by-hand@db"}}`)
	p.run("apply", "--yes", "--allow-exec").ok(p.place)
	if got := value("made", "password"); got != "changed-by-hand" {
		t.Errorf("the password is %q", got)
	}

	// A saved plan of a value that does not exist yet is applied with a new value.
	p.kubectl("one", "delete", "secret", "made")
	p.run("apply", "--plan", "plan.json", "--allow-exec").ok(p.place)
	p.run("apply", "--from-plan", "plan.json", "--yes", "--allow-exec").ok(p.place)
	again := value("made", "password")
	if len(again) != 20 || again == password {
		t.Errorf("the password is %q", again)
	}
	p.values["again"] = again
	p.run("apply", "--yes", "--allow-exec").ok(p.place).says(p.place, "nothing was written")
	p.checkHidden()
}

// Values of secrets in fields of custom resources are hidden in messages of status, which
// does not know them, and of drift, which knows only newer ones.
func TestSecretsInHealth(t *testing.T) {
	p := newPlace(t, clusters.Spec{Name: "one"})
	p.env = []string{"APP_TOKEN=first-token-value"}
	p.write("environments/dev/env.cue", `package fleet

secrets: token: env: "APP_TOKEN"
releases: app: {
	namespace: "default"
	objects: {
		crd: {
			apiVersion: "apiextensions.k8s.io/v1"
			kind:       "CustomResourceDefinition"
			metadata: name: "apps.example.com"
			spec: {
				group: "example.com"
				scope: "Namespaced"
				names: {kind: "App", plural: "apps"}
				versions: [{name: "v1", served: true, storage: true, schema: openAPIV3Schema: {type: "object", "x-kubernetes-preserve-unknown-fields": true}}]
			}
		}
		app: {apiVersion: "example.com/v1", kind: "App", metadata: name: "app", spec: args: ["run", secrets.token.ref]}
	}
	secretsIn: "App/app": "the program reads no Secrets"
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.kubectl("one", "patch", "apps.example.com/app", "--type=merge", "-p", `{"status":{"conditions":[{"type":"Ready","status":"False","message":"login with first-token-value"}]}}`)
	p.env = []string{"APP_TOKEN=second-token-value"}
	p.fleetc("status", "--health").exits(p, 1).says(p, `^dev/one: App\.example\.com default/app is .*login with \(hidden\)`)
	if d := p.fleetc("drift").exits(p, 1).says(p, `login with \(hidden\)`); strings.Contains(d.stdout, "-token-value") {
		t.Errorf("drift shows a value:\n%s", d.stdout)
	}
}
