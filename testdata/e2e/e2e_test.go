// Package e2e tests the real fleetc on real control planes.
package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

var (
	shared   *clusters.Fleet // each test adds its clusters
	usual    *clusters.Pool  // clusters of the usual kind, which tests use after each other
	binary   string          // the fleetc program
	messages *os.File        // log of the clusters
	top      string          // root of the repository
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	err := func() error {
		dir, err := os.MkdirTemp("", "fleetc-e2e-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if top, err = filepath.Abs("../.."); err != nil {
			return err
		}
		binary = filepath.Join(dir, "fleetc")
		build := exec.Command("go", "build", "-o", binary, "./cmd/fleetc")
		build.Dir, build.Stderr = top, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build fleetc: %w", err)
		}
		if messages, err = os.Create(filepath.Join(dir, "clusters.log")); err != nil {
			return err
		}
		defer messages.Close()
		if shared, err = clusters.Start(context.Background(), io.MultiWriter(os.Stderr, messages)); err != nil {
			return err
		}
		usual = clusters.NewPool(shared, usualSpec, usualIdle)
		code := m.Run()
		err = errors.Join(usual.Wait(), shared.Stop(code != 0))
		if code != 0 {
			err = errors.Join(fmt.Errorf("the logs of the clusters are in %s", shared.Dir), err)
		}
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// usualSpec describes the clusters that most tests use, of which at most usualIdle wait
// for a test.
var usualSpec = clusters.Spec{Name: "usual", Nodes: 1}

const usualIdle = 8

// inventorySecret is the name of the Secret with a place's inventory.
const inventorySecret = "inventory.example.com.infra"

// A place is a fleet of fleetc with its clusters.
type place struct {
	*testing.T
	dir      string
	env      []string                     // additional environment of fleetc
	clusters map[string]*clusters.Cluster // by ID
}

// newPlace creates a fleet and starts a cluster for each spec, whose name is the
// cluster's ID. The test runs in parallel.
func newPlace(t *testing.T, specs ...clusters.Spec) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir(), clusters: map[string]*clusters.Cluster{}}
	for i := range specs {
		if specs[i].RealNodes == 0 {
			specs[i].Nodes = 1
		}
	}
	p.boot(specs...)
	p.fleetc("init", "example.com/infra").ok(p)
	for _, s := range specs {
		version := cmp.Or(s.Version, "1.37")
		p.write("environments/dev/"+s.Name+"/cluster.cue", fmt.Sprintf("package fleet\n\ncluster: {name: %q, kubernetes: %q, context: %q}\n", s.Name, version, p.clusters[s.Name].Context))
	}
	return p
}

var places atomic.Int32

// boot waits for its turn among the tests and starts a cluster for each spec; they
// end with the test. Clusters of the usual kind may be those of an earlier test, reset.
func (p *place) boot(specs ...clusters.Spec) {
	p.Helper()
	p.Parallel()
	var ids []string // of clusters of the usual kind
	var names []string
	var others []clusters.Spec
	prefix := fmt.Sprintf("t%d-", places.Add(1))
	for _, s := range specs {
		if s.Nodes == usualSpec.Nodes && s.RealNodes == 0 && s.Version == "" && !s.SimulateOperators {
			ids = append(ids, s.Name)
			continue
		}
		names = append(names, s.Name)
		s.Name = prefix + s.Name
		others = append(others, s)
	}
	borrowed, err := usual.Borrow(p.Context(), len(ids))
	if err != nil {
		p.Fatal(err)
	}
	for i, c := range borrowed {
		p.clusters[ids[i]] = c
		p.Cleanup(func() { p.giveBack(c) })
	}
	if err := shared.Add(p.Context(), others...); err != nil {
		p.Fatal(err)
	}
	for i, s := range others {
		c := shared.Cluster(s.Name)
		p.clusters[names[i]] = c
		p.Cleanup(func() { p.kill(c) })
	}
}

func (p *place) kill(c *clusters.Cluster) {
	if err := c.Kill(); err != nil {
		p.Error(err)
	}
}

// giveBack returns a cluster for other tests. That of a failed test ends.
func (p *place) giveBack(c *clusters.Cluster) {
	if err := c.Err(); err != nil {
		p.Error(err)
	}
	if p.Failed() {
		p.kill(c)
		return
	}
	usual.Return(c)
}

func (p *place) write(name, text string) {
	p.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

// edit replaces a text in a file.
func (p *place) edit(name, from, to string) {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.Fatal(err)
	}
	if !strings.Contains(string(data), from) {
		p.Fatalf("%s has no %q", name, from)
	}
	p.write(name, strings.ReplaceAll(string(data), from, to))
}

// A result is the outcome of a command.
type result struct {
	command        string
	stdout, stderr string
	status         int
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), binary, args...)
	cmd.Dir = p.dir
	cmd.Env = slices.Concat(os.Environ(), p.env, []string{"KUBECONFIG=" + shared.Kubeconfig})
	return cmd
}

// fleetc runs fleetc.
func (p *place) fleetc(args ...string) result {
	p.Helper()
	return p.end(p.command(args...))
}

func (p *place) end(cmd *exec.Cmd) result {
	p.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return result{strings.Join(cmd.Args[1:], " "), stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func (d result) ok(p *place) result {
	p.Helper()
	return d.exits(p, 0)
}

func (d result) exits(p *place, status int) result {
	p.Helper()
	if d.status != status {
		p.Fatalf("fleetc %s: exit status %d, want %d\n%s%s", d.command, d.status, status, d.stdout, d.stderr)
	}
	return d
}

// says requires the output to match each pattern.
func (d result) says(p *place, patterns ...string) result {
	p.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(d.stdout + d.stderr) {
			p.Fatalf("fleetc %s does not say %q:\n%s%s", d.command, pattern, d.stdout, d.stderr)
		}
	}
	return d
}

// kubectl runs kubectl against the cluster with the ID.
func (p *place) kubectl(id string, args ...string) string {
	p.Helper()
	out, err := shared.Kubectl(p.Context(), append([]string{"--context", p.clusters[id].Context}, args...)...)
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (p *place) kubectlInput(id, input string, args ...string) string {
	p.Helper()
	out, err := shared.KubectlInput(p.Context(), input, append([]string{"--context", p.clusters[id].Context}, args...)...)
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// kubeconfig runs kubectl config on the fleet's kubeconfig.
func (p *place) kubeconfig(args ...string) string {
	p.Helper()
	out, err := shared.Kubectl(p.Context(), append([]string{"--kubeconfig", filepath.Join(p.dir, "kubeconfig")}, args...)...)
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// waitForRight waits until a user has a right, as kubectl auth can-i says: the API
// server sees new roles after a delay.
func (p *place) waitForRight(id, user string, what ...string) {
	p.Helper()
	p.waitFor(user+" to have rights", func() bool {
		out, _ := shared.Kubectl(p.Context(), slices.Concat([]string{"--context", p.clusters[id].Context, "auth", "can-i", "--as", user}, what)...)
		return strings.TrimSpace(out) == "yes"
	})
}

// writes returns fleetc's requests since the mark that changed something, and the
// next mark.
func (p *place) writes(id string, since int) (requests []string, mark int) {
	p.Helper()
	all, err := p.clusters[id].Requests()
	if err != nil {
		p.Fatal(err)
	}
	for _, r := range all[min(since, len(all)):] {
		if strings.HasPrefix(r.UserAgent, "fleetc/") && r.Writes() {
			path, _, _ := strings.Cut(r.URI, "?")
			requests = append(requests, r.Verb+" "+path+" "+strconv.Itoa(r.Status))
		}
	}
	return requests, len(all)
}

// withoutOwn removes requests for the lease and the inventory.
func withoutOwn(requests []string) []string {
	var out []string
	for _, r := range requests {
		if !strings.Contains(r, "fleetc-system") {
			out = append(out, r)
		}
	}
	return out
}

// waitFor waits until a condition is true.
func (p *place) waitFor(what string, ready func() bool) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 2*time.Minute)
	defer cancel()
	err := clusters.Poll(ctx, what, ctx.Err, func(context.Context) error {
		if !ready() {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		p.Fatalf("waited for %s", what)
	}
}
