package deliver

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// sopsPath returns a directory with the sops program.
func sopsPath(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "tool", "-n", "sops")
	cmd.Dir = "../../testdata/sops"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build sops: %v", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

// must runs a program and returns its output.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

// pgpKey creates a PGP key without a passphrase in a new directory, which becomes
// that of gpg, and returns its fingerprint.
func pgpKey(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "gpg") // short, for the socket of the agent
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GNUPGHOME", home)
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "gpg-agent").Run()
		_ = os.RemoveAll(home)
	})
	must(t, "gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.com", "future-default", "default", "never")
	for line := range strings.Lines(must(t, "gpg", "--with-colons", "--fingerprint", "test@example.com")) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return fields[9]
		}
	}
	t.Fatal("gpg names no fingerprint")
	return ""
}

// A file for a PGP key is decrypted with the sops program, and a key that is missing is a
// fault without a value.
func TestProgram(t *testing.T) {
	t.Setenv("PATH", sopsPath(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	key := pgpKey(t)
	plain := filepath.Join(t.TempDir(), "plain.yaml")
	if err := os.WriteFile(plain, []byte("db: {password: hunter22, port: 5432, tls: true, list: [a]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	encrypted := must(t, "sops", "encrypt", "--pgp", key, plain)
	secretAt := func(path string) fleet.Secret {
		return fleet.Secret{Name: "db", SecretSource: fleet.SecretSource{SOPS: "s.yaml", Key: path}, Digest: "00"}
	}
	for path, want := range map[string]string{"db.password": "hunter22", "db.port": "5432", "db.tls": "true", "db.list[0]": "a"} {
		s := secretAt(path)
		_, values, err := resolver(t, encrypted, nil).Values(context.Background(), referring(s), nil)
		if err != nil || values[s.Reference()] != want {
			t.Errorf("%s: %v, %v, want %s", path, values, err, want)
		}
	}
	_, _, err := resolver(t, encrypted, nil).Values(context.Background(), referring(secretAt("db")), nil)
	if err == nil || !strings.Contains(err.Error(), "s.yaml has no string, number or bool at db") {
		t.Errorf("a map: %v", err)
	}

	pgpKey(t) // another one
	_, values, err := resolver(t, encrypted, nil).Values(context.Background(), referring(secretAt("db.password")), nil)
	if err == nil || values != nil || !strings.Contains(err.Error(), "s.yaml is not decrypted: sops failed:") || strings.Contains(err.Error(), "hunter22") {
		t.Errorf("another key: %v", err)
	}
}

// A program named sops that is another one, prints too much, or is stopped, is a fault.
func TestProgramFaults(t *testing.T) {
	kms := strings.Replace(read(t, "all.yaml"), "    age:", "    pgp:\n    - fp: A\n      enc: eA==\n    age:", 1)
	for script, want := range map[string]string{
		"echo junk": "sops prints invalid JSON for s.yaml", "exit 7": "s.yaml is not decrypted: sops failed: exit status 7",
		"echo 'no \x1b[31mkey' >&2; exit 1": "sops failed: no", "yes": "sops prints more than 4 MiB",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "sops"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		_, values, err := resolver(t, kms, nil).Values(context.Background(), referring(password), nil)
		if err == nil || values != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
		for _, d := range diag.All(err) {
			if d.Hint == "" {
				t.Errorf("%s: no hint: %v", script, d)
			}
		}
	}
}
