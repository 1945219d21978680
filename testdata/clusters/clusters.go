// Package clusters starts fleets of real Kubernetes control planes on
// loopback, for tests and for a person to play with: an API server, a
// controller manager, a scheduler and kwok for each cluster, and one etcd for
// all of them. kwok plays the nodes: pods get ready, Jobs complete, volumes
// are bound, and no container runs. So there are no logs, no exec and no image
// pulls, and a Service leads nowhere.
//
// The programs are built once from the module in testdata/controlplane (see
// Build). Nothing but the standard library is used. Everything listens on
// 127.0.0.1 only. No process outlives the one that started it, even if that
// one is killed; for this the package needs Linux.
//
// Annotations of a pod say how it goes wrong:
//
//	fleetc.test/stuck: ImagePullBackOff   its containers wait, for this reason, until the annotation goes
//	fleetc.test/fail: "true"              its containers end with status 1
//
// A test starts what it needs with Test, several tests share a fleet that
// TestMain starts with Start. Deleting a namespace takes ten seconds: give
// each test its own and leave it.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Spec says what cluster to start.
type Spec struct {
	// Name is unique in the fleet: letters, digits, "-", "." and "/".
	Name string
	// Context is the cluster's context in kubeconfigs; Name when empty.
	Context string
	// Version is the minor version of Kubernetes to behave as, such as
	// "1.34"; when empty the one that was built. The APIs are those of that
	// version, while the server still gives its own number as gitVersion.
	Version string
	// Nodes is how many nodes kwok plays; 0 for two.
	Nodes int
	// Played says that what would run in pods is played too, as far as others
	// wait for it: webhooks admit everything, aggregated APIs are there, and
	// cert-manager and the Prometheus operator find their resources ready.
	Played bool
}

// Fleet is a number of running clusters.
type Fleet struct {
	// Dir has everything of the fleet: keys, kubeconfigs, logs, data.
	Dir string
	// Kubeconfig is a file with a context for each cluster and none chosen.
	Kubeconfig string
	// Tools are the programs that run.
	Tools *Tools

	unlock  func() error
	starter *starter
	ports   *ports
	etcd    *process
	etcdURL string

	mu       sync.Mutex
	clusters []*Cluster
}

// Start builds the programs if that was not done yet, which takes minutes and
// is told to log, and starts clusters, which takes seconds. It returns when
// their nodes are ready. When it returns an error nothing runs any more, and
// the error says where the logs are.
func Start(ctx context.Context, log io.Writer, specs ...Spec) (*Fleet, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	tools, err := Build(ctx, log)
	if err != nil {
		return nil, err
	}
	dir, unlock, err := stateDir(os.TempDir())
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig"), Tools: tools,
		unlock: unlock, starter: newStarter(), ports: &ports{},
	}
	if err := f.boot(ctx, specs); err != nil {
		return nil, errors.Join(err, f.Stop(true), fmt.Errorf("the logs are in %s", dir))
	}
	return f, nil
}

// boot starts what all clusters share, and the clusters.
func (f *Fleet) boot(ctx context.Context, specs []Spec) error {
	stages, err := stages(f.Tools.file("stages"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.file("stages.yaml"), stages, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(f.file("audit-policy.json"), []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	if err := f.startEtcd(ctx); err != nil {
		return err
	}
	return f.Add(ctx, specs...)
}

// Add starts more clusters, all at once. After an error of a cluster that did
// not start, the fleet is good for nothing but Stop.
func (f *Fleet) Add(ctx context.Context, specs ...Spec) error {
	var added []*Cluster
	for _, s := range specs {
		c, err := f.cluster(s)
		if err != nil {
			return err
		}
		added = append(added, c)
	}
	errs := make([]error, len(added))
	var wg sync.WaitGroup
	for i, c := range added {
		wg.Go(func() { errs[i] = c.start(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return f.writeKubeconfig()
}

// cluster makes a cluster of the fleet that does not run yet.
func (f *Fleet) cluster(s Spec) (*Cluster, error) {
	if s.Context == "" {
		s.Context = s.Name
	}
	if s.Nodes == 0 {
		s.Nodes = 2
	}
	if !validName(s.Name) {
		return nil, fmt.Errorf("%q is no name of a cluster: use letters, digits, -, . and /", s.Name)
	}
	emulate, err := f.Tools.emulate(s.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, other := range f.clusters {
		if other.Context == s.Context || flat(other.Name) == flat(s.Name) {
			return nil, fmt.Errorf("two clusters are %s (context %s)", s.Name, s.Context)
		}
	}
	c := &Cluster{Name: s.Name, Context: s.Context, Dir: f.file(flat(s.Name)), fleet: f, nodes: s.Nodes, emulate: emulate, played: s.Played}
	c.Kubeconfig = c.file("kubeconfig")
	f.clusters = append(f.clusters, c)
	return c, nil
}

// validName reports whether the name can be part of a path and of a key.
func validName(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if strings.Trim(part, ".") == "" {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-./", r))
	})
}

// flat returns the name as that of a directory.
func flat(name string) string { return strings.ReplaceAll(name, "/", "_") }

// Clusters returns all clusters, in the order in which they were added.
func (f *Fleet) Clusters() []*Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Cluster(nil), f.clusters...)
}

// Port returns a port of 127.0.0.1 that is free.
func (f *Fleet) Port() (int, error) { return f.ports.next() }

// Cluster returns that of the name, nil when there is none.
func (f *Fleet) Cluster(name string) *Cluster {
	for _, c := range f.Clusters() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Kubectl runs kubectl with the fleet's kubeconfig and returns what it prints.
// An error has what it complains about.
func (f *Fleet) Kubectl(ctx context.Context, args ...string) (string, error) {
	return f.KubectlInput(ctx, "", args...)
}

// KubectlInput is Kubectl with a standard input, for -f -.
func (f *Fleet) KubectlInput(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, f.Tools.file("kubectl"), args...)
	cmd.Env = append(environ(f.Dir), "KUBECONFIG="+f.Kubeconfig)
	cmd.Stdin = strings.NewReader(input)
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return out.String(), nil
}

// Err names the parts that ended by themselves; nil when there are none.
func (f *Fleet) Err() error {
	errs := []error{f.etcd.err()}
	for _, c := range f.Clusters() {
		errs = append(errs, c.Err())
	}
	return errors.Join(errs...)
}

// Stop ends every process of the fleet and returns when all are gone. It
// removes what the fleet wrote, but for the logs if they are to be kept.
func (f *Fleet) Stop(keepLogs bool) error {
	var errs []error
	for _, c := range f.Clusters() {
		c.operator.close()
		errs = append(errs, c.kill(), c.services.close())
	}
	if f.etcd != nil {
		errs = append(errs, f.etcd.kill())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	f.starter.end()
	if keepLogs {
		return errors.Join(f.keep(), f.unlock())
	}
	return errors.Join(os.RemoveAll(f.Dir), f.unlock())
}

func (f *Fleet) file(name string) string { return filepath.Join(f.Dir, name) }
