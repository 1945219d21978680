package clusters

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The stages are those of the built kwok with guards, and our own.
func TestStages(t *testing.T) {
	text, err := stages(shared.Tools.file("stages"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, stage := range strings.Split(string(text), "---\n") {
		_, name, _ := strings.Cut(stage, "\n  name: ")
		name, _, _ = strings.Cut(name, "\n")
		seen[name] = stage
	}
	if claim := seen["pvc-provision"]; strings.Index(claim, "volumeName: ") > strings.Index(claim, "bind-completed") {
		t.Errorf("a claim is bound before it names its volume: %s", claim)
	}
	for _, name := range []string{
		"node-initialize", "node-heartbeat-with-lease", "pod-ready", "pod-complete", "pod-delete",
		"pv-bind", "pv-delete", "pvc-provision", "pvc-delete",
		"pod-fail", "pod-stuck", "pod-complete-hook", "service-loadbalancer",
	} {
		if seen[name] == "" {
			t.Errorf("no stage %s", name)
		}
		if !strings.Contains(seen[name], stageGuards[name]) {
			t.Errorf("%s is not guarded", name)
		}
		delete(seen, name)
	}
	if len(seen) > 0 {
		t.Errorf("unknown stages: %v", seen)
	}
}

// A kwok version whose stages cannot be guarded is an error.
func TestStagesUnguarded(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("pod-ready.yaml", guarded)
	if _, err := stages(dir); err == nil || !strings.Contains(err.Error(), "1 of 2 stages to guard") {
		t.Errorf("got %v", err)
	}
	write("pod-complete.yaml", "matchExpressions: []\n")
	if _, err := stages(dir); err == nil || !strings.Contains(err.Error(), "has not one place for a guard") {
		t.Errorf("got %v", err)
	}
	write("pod-complete.yaml", guarded)
	if _, err := stages(dir); err == nil || !strings.Contains(err.Error(), "is for volumes of kwok") {
		t.Errorf("got %v", err)
	}
	write("pvc-provision.yaml", kwokClassCheck)
	if _, err := stages(dir); err == nil || !strings.Contains(err.Error(), "has not the three patches of a claim") {
		t.Errorf("got %v", err)
	}
	write("pvc-provision.yaml", kwokClassCheck+"\n  - patch:\n      root: metadata\n  - patch:\n      root: spec\n  - patch:\n      root: status\n")
	if text, err := stages(dir); err != nil || !strings.Contains(string(text), "'gp3'") {
		t.Errorf("got %s, %v", text, err)
	}
}

// A kwok module without the stages is an error.
func TestCopyStages(t *testing.T) {
	module := t.TempDir()
	for _, dir := range kwokStages {
		if err := copyStages(module, filepath.Join(t.TempDir(), "to")); err == nil || !strings.Contains(err.Error(), filepath.FromSlash(dir)) {
			t.Errorf("without %s: %v", dir, err)
		}
		if err := os.MkdirAll(filepath.Join(module, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(module, dir, filepath.Base(dir)+".yaml")
		if err := os.WriteFile(name, []byte("apiVersion: v1\nkind: Stage\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyStages(module, filepath.Join(t.TempDir(), "to")); err != nil {
		t.Error(err)
	}
}
