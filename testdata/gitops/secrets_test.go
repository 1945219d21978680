package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Flux decrypts the Secrets that an export encrypted for its cluster. A rotation reaches
// the cluster, and an export without a change commits nothing.
func TestSecrets(t *testing.T) {
	p := newPlace(t, "a")
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("../secrets", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	key := read("key.txt")
	recipient := key[strings.Index(key, "age1"):strings.Index(key, "\nAGE-SECRET-KEY")]
	p.write("secrets/prod.yaml", read("prod.yaml"))
	p.write("environments/secrets.cue", fmt.Sprintf(`package fleet

cluster?: sops: age: [%q]
gitops: flux: decryptionSecret: "sops-age"
secrets: db: {sops: "secrets/prod.yaml", key: "db.password"}
releases: login: {
	namespace: "shop"
	objects: {
		plain: {apiVersion: "v1", kind: "Secret", metadata: name: "login", stringData: url: "postgres://app:\(secrets.db.ref)@db"}
		coded: {apiVersion: "v1", kind: "Secret", metadata: name: "coded", data: password: base64.Encode(null, secrets.db.ref)}
	}
}
`, recipient))
	p.edit("environments/secrets.cue", "package fleet\n", "package fleet\n\nimport \"encoding/base64\"\n")
	p.kubectl("a", "-n", Namespace, "create", "secret", "generic", "sops-age", "--from-literal=age.agekey="+key)
	p.env = []string{"SOPS_AGE_KEY=" + key}
	c := p.byGit()
	c.deliver()
	check := func(password string) {
		t.Helper()
		if got := p.kubectl("a", "-n", "shop", "get", "secret", "login", "-o", "go-template={{.data.url | base64decode}}"); got != "postgres://app:"+password+"@db" {
			t.Errorf("the URL is %s", got)
		}
		if got := p.kubectl("a", "-n", "shop", "get", "secret", "coded", "-o", "go-template={{.data.password | base64decode}}"); got != password {
			t.Errorf("the password is %s", got)
		}
		if strings.Contains(p.repository("log", "-p", "--all"), password) {
			t.Error("the repository has the password")
		}
	}
	check("correct-horse-battery")
	before := p.repository("rev-parse", "main")
	p.env = nil
	c.export()
	if after := p.repository("rev-parse", "main"); after != before {
		t.Error("an export without a change commits")
	}
	p.env = []string{"SOPS_AGE_KEY=" + key}
	p.write("secrets/prod.yaml", read("rotated.yaml"))
	c.deliver()
	check("rotated-horse-battery")
}
