// Command record stores what an earlier commit of fleetc writes, so that tests can read it
// with today's code: a fleet with its pins, exports in each layout, a cache, a plan, and
// the objects of a cluster with an inventory and a history.
//
//	go run ./testdata/compat/record COMMIT
//
// It builds the commit, runs it against a real control plane, and writes
// testdata/compat/DATE, where DATE is the date of the commit. Run it again only to record
// another commit: the tests are worth something because nothing rewrites their input.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fleetc/fleetc/testdata/clusters"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 { //nolint:mnd // the program and one argument
		fmt.Fprintln(os.Stderr, "usage: record COMMIT")
		os.Exit(2)
	}
	if err := record(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// record stores what a commit writes.
func record(ctx context.Context, commit string) (err error) {
	described, err := output(exec.CommandContext(ctx, "git", "show", "--no-patch", "--format=%H %cs", commit))
	if err != nil {
		return err
	}
	hash, date, _ := strings.Cut(strings.TrimSpace(described), " ")
	dir, err := os.MkdirTemp("", "fleetc-record-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &recorder{ctx: ctx, dir: dir, out: filepath.Join("testdata", "compat", date)}
	if err := r.build(hash); err != nil {
		return err
	}
	if r.control, err = clusters.Start(ctx, os.Stderr, clusters.Spec{Name: "one", Nodes: 1}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.control.Stop(false)) }()
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := r.write(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "commit"), []byte(hash+"\n"), 0o644)
}

// A recorder runs the fleetc of a commit.
type recorder struct {
	ctx     context.Context
	dir     string // temporary: the sources, the binary, the fleet
	out     string // directory of the records
	control *clusters.Fleet
}

func (r *recorder) fleet() string { return filepath.Join(r.dir, "fleet") }

// build builds fleetc from a commit.
func (r *recorder) build(hash string) error {
	sources := filepath.Join(r.dir, "sources")
	if _, err := output(exec.CommandContext(r.ctx, "git", "worktree", "add", "--detach", sources, hash)); err != nil {
		return err
	}
	build := exec.CommandContext(r.ctx, "go", "build", "-o", filepath.Join(r.dir, "fleetc"), "./cmd/fleetc")
	build.Dir = sources
	_, err := output(build)
	_, errRemove := output(exec.CommandContext(context.WithoutCancel(r.ctx), "git", "worktree", "remove", "--force", sources))
	return errors.Join(err, errRemove)
}

// fleetc runs the commit's fleetc in the fleet, with its own cache and without the
// configuration of the user.
func (r *recorder) fleetc(args ...string) error {
	_, err := r.run(args...)
	return err
}

func (r *recorder) run(args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, filepath.Join(r.dir, "fleetc"), args...)
	cmd.Dir = r.fleet()
	home := filepath.Join(r.dir, "home")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XDG_CONFIG_HOME="+home,
		"KUBECONFIG="+r.control.Kubeconfig, "USER=recorder",
		"GIT_AUTHOR_NAME=recorder", "GIT_AUTHOR_EMAIL=recorder@example.com", "GIT_COMMITTER_NAME=recorder", "GIT_COMMITTER_EMAIL=recorder@example.com")
	return output(cmd)
}

// output runs a command. An error has its messages.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
