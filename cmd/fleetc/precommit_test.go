package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A hookedRepository is a git repository with pre-commit hooks.
type hookedRepository struct {
	t   *testing.T
	dir string
	env []string
}

// TestPreCommit commits to a repository with the example fleet, in which
// pre-commit runs the current hooks of this repository. It builds fleetc with
// the modules on this machine and with trimmed paths, so that it compiles only
// changed packages.
func TestPreCommit(t *testing.T) {
	if _, err := exec.LookPath("pre-commit"); err != nil {
		t.Fatalf("%v: install it, for example with apt-get install pre-commit", err)
	}
	home := t.TempDir()
	env := append(os.Environ(),
		"HOME="+home, "XDG_CACHE_HOME="+home, "PRE_COMMIT_HOME="+filepath.Join(home, "pre-commit"), "PRE_COMMIT_COLOR=never",
		"GIT_CONFIG_GLOBAL="+filepath.Join(home, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOCACHE="+goEnv(t, "GOCACHE"), "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false -trimpath")

	hooks := hookedRepository{t, t.TempDir(), env}
	for _, part := range []string{"cmd", "compiler", "schema", "lib"} {
		if err := os.CopyFS(filepath.Join(hooks.dir, part), os.DirFS(filepath.Join("../..", part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "embed.go", ".pre-commit-hooks.yaml"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		hooks.write(file, string(text))
	}
	hooks.must("git", "init", "-q")
	hooks.must("git", "add", "-A")
	hooks.must("git", "commit", "-qm", "hooks")
	rev := strings.TrimSpace(hooks.must("git", "rev-parse", "HEAD"))

	// The fleet is in a subdirectory of its repository.
	repo := hookedRepository{t, t.TempDir(), env}
	if err := os.CopyFS(filepath.Join(repo.dir, "infra"), os.DirFS(copyExample(t))); err != nil {
		t.Fatal(err)
	}
	repo.write(".pre-commit-config.yaml", `repos:
  - repo: `+hooks.dir+`
    rev: `+rev+`
    hooks:
      - id: fleetc-fmt
      - id: fleetc-vet
        args: [-C, infra]
      - id: fleetc-secrets
        args: [-C, infra]
`)
	repo.must("git", "init", "-q")
	repo.must("pre-commit", "install")

	if out := repo.commit("the fleet"); strings.Count(out, "Passed") != 3 {
		t.Fatalf("a good fleet:\n%s", out)
	}
	const cluster = "infra/environments/dev/alice/cluster.cue"
	good := repo.read(cluster)
	bad := "\nreleases: \"kibana\": values: replica: 2\n"
	repo.write(cluster, good+bad)
	line := strings.Count(good+bad, "\n")
	if out := repo.refused("a bad value"); !strings.Contains(out, cluster+":"+strconv.Itoa(line)+":") || !strings.Contains(out, "releases.kibana.values.replica: no such value") {
		t.Errorf("a bad value:\n%s", out)
	}

	badly := good + "\nreleases:   \"kibana\": values: replicas:2\n"
	repo.write(cluster, badly)
	if out := repo.refused("badly formatted"); !strings.Contains(out, "files were modified by this hook") || !strings.Contains(out, "\n"+cluster+"\n") {
		t.Errorf("a badly formatted file:\n%s", out)
	}
	if got, want := repo.read(cluster), good+"\nreleases: \"kibana\": values: replicas: 2\n"; got != want {
		t.Errorf("formatted:\n%s\nwant\n%s", got, want)
	}
	if out := repo.commit("formatted"); strings.Count(out, "Passed") != 3 {
		t.Errorf("a good commit:\n%s", out)
	}
	// Files outside of the fleet run no hook. Only vet reports faults that CUE
	// does not report.
	repo.write("README.md", "infra\n")
	if out := repo.commit("a page"); strings.Count(out, "Skipped") != 2 || strings.Count(out, "Passed") != 1 {
		t.Errorf("no file of the fleet:\n%s", out)
	}
	values := "infra/testdata/charts/kibana/values.yaml"
	repo.write(values, repo.read(values)+"\n")
	if out := repo.commit("a chart"); strings.Count(out, "Skipped") != 1 || strings.Count(out, "Passed") != 2 {
		t.Errorf("a chart:\n%s", out)
	}
	// Plain text at a path that SOPS's rules name is not committed.
	repo.write("infra/.sops.yaml", "creation_rules:\n- path_regex: ^secrets/\n  age: age1aztakhwzqkhw4eks6x6k3j4uw608fcw6mxz4a82gl3v95q58fcys23cw4g\n")
	repo.write("infra/secrets/prod.yaml", "password: hunter2\n")
	if out := repo.refused("plain text"); !strings.Contains(out, "infra/secrets/prod.yaml:1:1: the file is in plain text") || strings.Contains(out, "hunter2") {
		t.Errorf("plain text:\n%s", out)
	}
	encrypted, err := os.ReadFile("../../testdata/secrets/prod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	repo.write("infra/secrets/prod.yaml", string(encrypted))
	repo.commit("encrypted")
	if left := repo.must("git", "status", "--porcelain"); left != "" {
		t.Errorf("left:\n%s", left)
	}
}

// commit commits all files, which must succeed, and returns the output of
// pre-commit.
func (h hookedRepository) commit(message string) string {
	h.t.Helper()
	h.must("git", "add", "-A")
	return h.must("git", "commit", "-m", message)
}

// refused is commit for a commit that must fail.
func (h hookedRepository) refused(message string) string {
	h.t.Helper()
	before := h.must("git", "rev-parse", "HEAD")
	h.must("git", "add", "-A")
	out, err := h.run("git", "commit", "-m", message)
	if err == nil || h.must("git", "rev-parse", "HEAD") != before {
		h.t.Fatalf("%s is committed:\n%s", message, out)
	}
	return out
}

func (h hookedRepository) must(name string, args ...string) string {
	h.t.Helper()
	out, err := h.run(name, args...)
	if err != nil {
		h.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (h hookedRepository) run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(h.t.Context(), name, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (h hookedRepository) read(file string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, filepath.FromSlash(file)))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h hookedRepository) write(file, text string) {
	h.t.Helper()
	writeFile(h.t, h.dir, file, text)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
