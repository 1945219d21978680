package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// endless is a layer whose evaluation takes hours but no memory.
const endless = `package fleet

cluster: {name: "a", kubernetes: "1.36"}
_y: ({a1: 1} | {a2: 1}) & ({b1: 1} | {b2: 1}) & ({c1: 1} | {c2: 1}) & ({d1: 1} | {d2: 1}) & ({e1: 1} | {e2: 1}) & ({f1: 1} | {f2: 1}) & ({g1: 1} | {g2: 1}) & ({h1: 1} | {h2: 1}) & ({i1: 1} | {i2: 1}) & ({j1: 1} | {j2: 1}) & ({k1: 1} | {k2: 1}) & ({l1: 1} | {l2: 1}) & ({m1: 1} | {m2: 1}) & ({n1: 1} | {n2: 1}) & ({o1: 1} | {o2: 1}) & ({p1: 1} | {p2: 1}) & ({q1: 1} | {q2: 1}) & ({r1: 1} | {r2: 1}) & ({s1: 1} | {s2: 1}) & ({t1: 1} | {t2: 1})
releases: x: {namespace: "x", objects: x: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x", data: _y}}
`

// TestInterrupt ends every evaluating command with one signal.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		"cue.mod/module.cue":         "module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/a/cluster.cue": endless,
		"environments/b/cluster.cue": strings.ReplaceAll(endless, `name: "a"`, `name: "b"`),
	})
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
		signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
		signal := signals[i%len(signals)]
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			checkInterrupted(t, dir, strings.Fields(args), signal)
		})
	}
}

// TestInterruptLarge ends an evaluation that takes much memory by the signal itself: the
// code of the process may not get to run.
func TestInterruptLarge(t *testing.T) {
	dir := t.TempDir()
	layer := "package fleet\n\ncluster: {name: \"a\", kubernetes: \"1.36\"}\n_a: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for name := 'b'; name < 'j'; name++ {
		layer += fmt.Sprintf("_%c: [_%[2]c, _%[2]c, _%[2]c, _%[2]c, _%[2]c, _%[2]c, _%[2]c, _%[2]c, _%[2]c, _%[2]c]\n", name, name-1)
	}
	fleets.Write(t, dir, map[string]string{
		"cue.mod/module.cue":         "module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/a/cluster.cue": layer + `releases: x: {namespace: "x", objects: x: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x", data: _i}}`,
	})
	for wait := time.Second; ; wait *= 2 {
		status, stderr, _ := interrupted(t, dir, []string{"vet"}, wait, syscall.SIGTERM)
		if status == -1 && wait > time.Second {
			return // a signal ended it
		}
		if wait > 20*time.Second || status != -1 && !strings.Contains(stderr, "interrupted") {
			t.Fatalf("status %d, %s", status, stderr)
		}
	}
}

// TestInterruptEvaluators ends what evaluates, beside CUE, with one signal.
func TestInterruptEvaluators(t *testing.T) {
	const objects = 2000 // the maximum
	var many, patches strings.Builder
	for i := range objects {
		fmt.Fprintf(&many, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m%d}\ndata: {a: b}\n", i)
		fmt.Fprintf(&patches, "- {target: {kind: ConfigMap, name: \"m.*\"}, patch: '[{\"op\": \"add\", \"path\": \"/data/x%d\", \"value\": \"y\"}]'}\n", i)
	}
	for name, files := range map[string]map[string]string{
		`chart: path: "source"`: {
			"source/Chart.yaml":       "apiVersion: v2\nname: source\nversion: 1.0.0\n",
			"source/templates/a.yaml": `{{ range until 300 }}{{ genPrivateKey "rsa" }}{{ end }}`,
		},
		`jsonnet: "source/main.jsonnet"`: {"source/main.jsonnet": "local f(n) = if n == 0 then 1 else f(n - 1) + f(n - 1); {a: f(60)}"},
		`kustomize: "source"`: {
			"source/many.yaml":          many.String(),
			"source/kustomization.yaml": "resources: [many.yaml]\npatches:\n" + patches.String(),
		},
		`manifests: "source"`: {"source/all.yaml": manyRules()}, // rules of a CRD
	} {
		dir := t.TempDir()
		files["cue.mod/module.cue"] = "module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n"
		files["environments/a/cluster.cue"] = "package fleet\n\ncluster: {name: \"a\", kubernetes: \"1.36\"}\nreleases: a: {namespace: \"a\", " + name + "}\n"
		fleets.Write(t, dir, files)
		for i, args := range []string{"vet --render", "build"} {
			t.Run(args+" "+name[:7], func(t *testing.T) {
				t.Parallel()
				checkInterrupted(t, dir, strings.Fields(args), []os.Signal{os.Interrupt, syscall.SIGTERM}[i])
			})
		}
	}
}

// manyRules returns a CRD with a rule in CEL that takes long, and many objects of its kind.
func manyRules() string {
	const objects, elements = 2000, 350
	var out strings.Builder
	out.WriteString(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apples.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Apple, plural: apples, singular: apple, listKind: AppleList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              list: {type: array, maxItems: 500, items: {type: integer}}
            x-kubernetes-validations:
            - rule: "self.list.all(x, self.list.exists(y, y == x))"
`)
	for i := range objects {
		list := make([]string, elements)
		for j := range list {
			list[j] = strconv.Itoa(i + j)
		}
		fmt.Fprintf(&out, "---\napiVersion: example.com/v1\nkind: Apple\nmetadata: {name: a%d}\nspec: {list: [%s]}\n", i, strings.Join(list, ","))
	}
	return out.String()
}

// checkInterrupted runs a command that takes long, and checks that a signal ends it.
func checkInterrupted(t *testing.T, dir string, args []string, signal os.Signal) {
	t.Helper()
	for wait := time.Second; ; wait *= 2 {
		status, stderr, took := interrupted(t, dir, args, wait, signal)
		if status == -1 && wait < 20*time.Second {
			continue // the signal came before the program began
		}
		if status != exitFailed || !strings.Contains(stderr, "interrupted") {
			t.Errorf("status %d after %s, %s", status, took, stderr)
		}
		return
	}
}

// interrupted runs a command, sends it a signal after a while, and returns its
// result and the time to end.
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
	_ = cmd.Process.Signal(s) // the process may have ended
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%v, %s", err, &out)
	}
	return exit.ExitCode(), out.String(), time.Since(began)
}
