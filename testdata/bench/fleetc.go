package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// build builds the fleetc of the checkout in the current directory like a
// release.
func build(ctx context.Context, dir string) (string, error) {
	file := filepath.Join(dir, "fleetc")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "kustomize_disable_go_plugin_support", "-o", file, "./cmd/fleetc")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build fleetc, at the top of a checkout: %w\n%s", err, out)
	}
	return file, nil
}

// A step is one run of fleetc. Steps run in order, each in the state that the
// previous ones left.
type step struct {
	name string
	file string // written before the run
	text string
	args []string
	git  bool // whether to create the repository before the run
}

// cold is the step that all others are compared with.
const cold = "fleetc export, cold"

// steps are the runs of fleetc on a workload.
func steps(w *work) []step {
	export := []string{"export", "--out", "out", "--cache-dir", "cache", "--offline"}
	push := []string{"export", "--git", repository, "--branch", "main", "--cache-dir", "cache"}
	vet := []string{"vet", "--cache-dir", "cache", "--offline"}
	c := w.clusters[0]
	return []step{
		{name: cold, args: export},
		{name: "fleetc export, unchanged", args: export},
		{
			name: "fleetc export, one value of one cluster", args: export,
			file: "environments/" + c.env + "/" + c.name + "/changed.cue",
			text: fmt.Sprintf("package fleet\n\nreleases: backup: defaults: %s: server: podAnnotations: changed: \"yes\"\n", c.name),
		},
		{
			name: "fleetc export, one default of all", args: export,
			file: "environments/changed.cue",
			text: "package fleet\n\nreleases: dns: defaults: root: controller: podAnnotations: changed: \"yes\"\n",
		},
		{name: "fleetc vet", args: vet},
		{name: "fleetc vet, unchanged", args: vet},
		{name: "fleetc export --git, nothing there", args: push, git: true},
		{name: "fleetc export --git, unchanged", args: push},
		{
			name: "fleetc export --git, one value of one cluster", args: push,
			file: "environments/" + c.env + "/" + c.name + "/changed.cue",
			text: fmt.Sprintf("package fleet\n\nreleases: backup: defaults: %s: server: podAnnotations: changed: \"again\"\n", c.name),
		},
	}
}

// repository is the repository for fleetc's pushes, in the fleet's directory.
const repository = "exported.git"

// gitRepository makes an empty repository that supports partial fetches, as
// those of GitHub and GitLab do.
func (w *work) gitRepository(ctx context.Context) error {
	dir := filepath.Join(w.dir, repository)
	for _, args := range [][]string{{"init", "--quiet", "--bare", dir}, {"-C", dir, "config", "uploadpack.allowFilter", "true"}} {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

// age makes the files of the fleet an hour old, as in a typical export: fleetc
// does not record reads of files that may change during the run.
func (w *work) age() error {
	at := time.Now().Add(-time.Hour)
	for _, dir := range []string{"charts", "cue.mod", "environments"} {
		err := filepath.WalkDir(filepath.Join(w.dir, dir), func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chtimes(name, at, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fleetc measures the program on a workload, and stops at the first fault.
func (w *work) fleetc(ctx context.Context, program string, each func(result)) error {
	for _, s := range steps(w) {
		if s.file != "" {
			if err := put(w.dir, s.file, s.text); err != nil {
				return err
			}
		}
		if err := w.age(); err != nil {
			return err
		}
		if s.git {
			if err := w.gitRepository(ctx); err != nil {
				return err
			}
		}
		r := measure(ctx, w.dir, append([]string{program}, s.args...)...)
		r.What, r.Clusters = s.name, len(w.clusters)
		each(r)
		if r.Fault != "" {
			return fmt.Errorf("%s of %d clusters: %s", s.name, len(w.clusters), r.Fault)
		}
	}
	return nil
}
