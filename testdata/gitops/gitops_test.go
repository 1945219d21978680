package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetc/fleetc/testdata/clusters"
	"github.com/fleetc/fleetc/testdata/fleets"
)

var (
	shared *clusters.Fleet // each test adds its clusters
	binary string          // fleetc
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	err := func() error {
		dir, err := os.MkdirTemp("", "fleetc-gitops-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "fleetc")
		build := exec.Command("go", "build", "-o", binary, "../../cmd/fleetc")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build fleetc: %w", err)
		}
		helm, err := exec.Command("go", "tool", "-modfile=../tools/go.mod", "-n", "helm").Output()
		if err != nil {
			return fmt.Errorf("build helm: %w", err)
		}
		// Argo CD runs it.
		os.Setenv("PATH", os.Getenv("PATH")+string(filepath.ListSeparator)+filepath.Dir(strings.TrimSpace(string(helm))))
		if shared, err = clusters.Start(context.Background(), os.Stderr); err != nil {
			return err
		}
		// Flux of one cluster must not delete the files of another one.
		other, err := os.MkdirTemp("", "kustomization-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(other)
		code := m.Run()
		_, err = os.Stat(other)
		err = errors.Join(err, shared.Stop(code != 0))
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

// A place is a fleet of fleetc with its clusters, which run Flux, and their
// sources.
type place struct {
	*testing.T
	dir     string            // directory of the fleet
	env     []string          // additional environment of fleetc
	flux    map[string]*Flux  // by name of the cluster
	alone   map[string]string // kubeconfigs of clusters without Flux, see same
	servers *Servers
}

// newPlace copies the fleet in testdata with a cluster prod/NAME for each name,
// and starts these clusters with Flux. The test runs in parallel with others.
func newPlace(t *testing.T, names ...string) *place {
	t.Helper()
	p := newFleet(t, names...)
	p.each(func(name string, f *Flux) error {
		started, err := Start(t.Context(), os.Stderr, shared, f.Cluster)
		if err == nil {
			*f = *started
		}
		return err
	})
	return p
}

// newFleet is newPlace without Flux.
func newFleet(t *testing.T, names ...string) *place {
	t.Helper()
	t.Parallel()
	p := &place{T: t, dir: t.TempDir(), flux: map[string]*Flux{}, alone: map[string]string{}}
	if err := os.CopyFS(p.dir, os.DirFS("testdata/fleet")); err != nil {
		t.Fatal(err)
	}
	p.fleetc("init", "example.com/infra").ok(p)
	for i, c := range p.boot(names...) {
		name := names[i]
		p.flux[name] = &Flux{Cluster: c}
		p.write("environments/prod/"+name+"/cluster.cue", fmt.Sprintf("package fleet\n\ncluster: {name: %q, kubernetes: \"1.37\", context: %q}\n", name, c.Context))
	}
	var err error
	if p.servers, err = Serve(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.servers.Close() })
	return p
}

var boots atomic.Int32

// boot starts a cluster for each name, which ends with the test.
func (p *place) boot(names ...string) []*clusters.Cluster {
	p.Helper()
	var specs []clusters.Spec
	prefix := fmt.Sprintf("t%d-", boots.Add(1))
	for _, name := range names {
		specs = append(specs, clusters.Spec{Name: prefix + name, Nodes: 1})
	}
	if err := shared.Add(p.Context(), specs...); err != nil {
		p.Fatal(err)
	}
	var booted []*clusters.Cluster
	for _, s := range specs {
		c := shared.Cluster(s.Name)
		booted = append(booted, c)
		p.Cleanup(func() {
			if err := errors.Join(c.Err(), c.Kill()); err != nil {
				p.Error(err)
			}
		})
	}
	return booted
}

// each calls f for all clusters with Flux in parallel.
func (p *place) each(do func(name string, f *Flux) error) {
	p.Helper()
	var wg sync.WaitGroup
	for name, f := range p.flux {
		wg.Go(func() {
			if err := do(name, f); err != nil {
				p.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	if p.Failed() {
		p.FailNow()
	}
}

func (p *place) write(name, text string) {
	p.Helper()
	fleets.Write(p, p.dir, map[string]string{name: text})
}

func (p *place) remove(name string) {
	p.Helper()
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
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

// A commandResult is the result of a command.
type commandResult struct {
	command, said string
	status        int
}

// fleetc runs fleetc in the fleet, with the kubeconfig of all clusters.
func (p *place) fleetc(args ...string) commandResult {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), binary, args...)
	cmd.Dir = p.dir
	cmd.Env = slices.Concat(os.Environ(), Git, p.env, []string{"KUBECONFIG=" + shared.Kubeconfig})
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return commandResult{strings.Join(args, " "), string(said), cmd.ProcessState.ExitCode()}
}

func (d commandResult) ok(p *place) commandResult {
	p.Helper()
	return d.exits(p, 0)
}

func (d commandResult) exits(p *place, status int) commandResult {
	p.Helper()
	if d.status != status {
		p.Fatalf("fleetc %s: exit status %d, want %d\n%s", d.command, d.status, status, d.said)
	}
	return d
}

// says tests that the output matches.
func (d commandResult) says(p *place, patterns ...string) commandResult {
	p.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(d.said) {
			p.Fatalf("fleetc %s does not say %q:\n%s", d.command, pattern, d.said)
		}
	}
	return d
}

// kubectl runs kubectl for a cluster with Flux.
func (p *place) kubectl(name string, args ...string) string {
	p.Helper()
	return p.kubectlInput(name, "", args...)
}

func (p *place) kubectlInput(name, input string, args ...string) string {
	p.Helper()
	out, err := shared.KubectlInput(p.Context(), input, append([]string{"--context", p.flux[name].Cluster.Context}, args...)...)
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// field returns a field of an object in the cluster, or an empty string if the
// object does not exist.
func (p *place) field(name, namespace, object, path string) string {
	p.Helper()
	return p.kubectl(name, "-n", namespace, "get", object, "--ignore-not-found", "-o", "jsonpath={"+path+"}")
}
