package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endless is a layer whose evaluation takes hours, and no memory.
const endless = `package fleet

cluster: {name: "a", kubernetes: "1.36"}
_y: ({a1: 1} | {a2: 1}) & ({b1: 1} | {b2: 1}) & ({c1: 1} | {c2: 1}) & ({d1: 1} | {d2: 1}) & ({e1: 1} | {e2: 1}) & ({f1: 1} | {f2: 1}) & ({g1: 1} | {g2: 1}) & ({h1: 1} | {h2: 1}) & ({i1: 1} | {i2: 1}) & ({j1: 1} | {j2: 1}) & ({k1: 1} | {k2: 1}) & ({l1: 1} | {l2: 1}) & ({m1: 1} | {m2: 1}) & ({n1: 1} | {n2: 1}) & ({o1: 1} | {o2: 1}) & ({p1: 1} | {p2: 1}) & ({q1: 1} | {q2: 1}) & ({r1: 1} | {r2: 1}) & ({s1: 1} | {s2: 1}) & ({t1: 1} | {t2: 1})
releases: x: {namespace: "x", objects: x: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x", data: _y}}
`

// TestInterrupt ends every command that evaluates with one signal.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cue.mod/module.cue":         "module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/a/cluster.cue": endless,
		"environments/b/cluster.cue": strings.ReplaceAll(endless, `name: "a"`, `name: "b"`),
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add -A", "-c user.name=a -c user.email=a@example.com commit -qm fleet"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	changed := strings.ReplaceAll(endless, "data: _y", "data: _y, immutable: true")
	if err := os.WriteFile(filepath.Join(dir, "environments/a/cluster.cue"), []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, args := range []string{
		"vet", "vet --render", "list", "build a", "export --out out", "explain a releases", "compare a b", "diff --against git:HEAD",
		"apply --dry-run", "destroy a --dry-run", "test", "status", "affected --since git:HEAD", "history a",
	} {
		signal := []os.Signal{os.Interrupt, syscall.SIGTERM}[i%2]
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			for wait := time.Second; ; wait *= 2 {
				status, stderr, took := interrupted(t, dir, strings.Fields(args), wait, signal)
				if status == -1 && wait < 20*time.Second {
					continue // the signal came before the program began
				}
				if status != exitFailed || !strings.Contains(stderr, "interrupted") {
					t.Errorf("status %d after %s, %s", status, took, stderr)
				}
				return
			}
		})
	}
}

// interrupted runs a command, sends it a signal after a while, and returns how it
// ended and how long that took.
func interrupted(t *testing.T, dir string, args []string, wait time.Duration, s os.Signal) (status int, stderr string, took time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "fleetc", append([]string{"-C", dir, "--cache-dir", t.TempDir()}, args...)...)
	cmd.Env = append(os.Environ(), "FLEETC_CUE_TIME=1h")
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(wait)
	began := time.Now()
	_ = cmd.Process.Signal(s) // it may have ended
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%v, %s", err, &out)
	}
	return exit.ExitCode(), out.String(), time.Since(began)
}
