// Package clusters starts fleets of real Kubernetes control planes on loopback, for
// tests and for experiments: an API server, a controller manager, a scheduler and
// kwok for each cluster, and one etcd for all of them. kwok simulates the nodes: pods
// become ready, Jobs complete, volumes are bound, and no containers run. There are
// therefore no logs, no exec and no image pulls, and Services have no backends. A
// cluster can have real nodes beside or instead of these, see [Spec.RealNodes].
//
// The programs are built once from the module in testdata/controlplane, see [Build].
// The package uses only the standard library. Everything listens on 127.0.0.1. All
// processes end with the one that started them, even if that one is killed; for this
// the package needs Linux.
//
// Annotations make a pod fail:
//
//	fleetc.test/stuck: ImagePullBackOff   its containers wait for this reason until the annotation is removed
//	fleetc.test/fail: "true"              its containers end with status 1
//
// A test starts its clusters with [Test]; several tests share a fleet that TestMain
// starts with [Start]. Deleting a namespace takes ten seconds: give each test a new
// one, and do not delete it. A [Pool] lends whole clusters to tests one after another.
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

// Spec describes a cluster to start.
type Spec struct {
	// Name is unique in the fleet: letters, digits, "-", "." and "/".
	Name string
	// Context is the name of the context in kubeconfigs; Name when empty.
	Context string
	// Version is the minor version of Kubernetes to emulate, such as "1.34"; the
	// built version when empty. The APIs are those of that version; gitVersion is
	// still that of the server.
	Version string
	// Nodes is the number of nodes that kwok simulates; 0 for two, or for none if there
	// are real nodes.
	Nodes int
	// RealNodes is the number of nodes with kubelet and containerd, which run
	// containers. It needs root, and programs that an error names. If the cluster also
	// has simulated nodes, pods run on real ones only if they select the label
	// fleetc.test/node=real and tolerate the taint of this key and value. Pods reach
	// the API server, which reaches pods and, unless SimulateOperators is set, Services.
	RealNodes int
	// Images exist on the real nodes, as [Busybox] does. Names that nothing answers,
	// such as those of registries, are unknown at once.
	Images []Image
	// SimulateOperators also simulates what other programs wait for: webhooks admit
	// everything, aggregated APIs exist, and cert-manager and the Prometheus
	// operator report their resources as ready.
	SimulateOperators bool
}

// Fleet is a set of running clusters.
type Fleet struct {
	// Dir is the directory of all files of the fleet: keys, kubeconfigs, logs,
	// data.
	Dir string
	// Kubeconfig is the path of a kubeconfig with a context for each cluster and no
	// current context.
	Kubeconfig string
	// Tools are the programs of the control planes.
	Tools *Tools

	unlock  func() error
	starter *starter
	ports   *ports
	etcd    *process
	etcdURL string
	log     io.Writer // safe for concurrent use

	mu       sync.Mutex
	clusters []*Cluster
}

// Start builds the programs unless they are cached, which takes minutes and is
// logged, and starts clusters, which takes seconds. It returns when their nodes are
// ready. After an error nothing runs any more, and the error names the directory of
// the logs.
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
		unlock: unlock, starter: newStarter(), ports: &ports{}, log: &lockedWriter{w: log},
	}
	if err := f.boot(ctx, specs); err != nil {
		return nil, errors.Join(err, f.Stop(true), fmt.Errorf("the logs are in %s", dir))
	}
	return f, nil
}

// lockedWriter writes the lines of several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// boot starts etcd and the clusters.
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

// Add starts more clusters concurrently. After an error, only Stop may be called.
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

// cluster returns a new cluster of the fleet that is not running.
func (f *Fleet) cluster(s Spec) (*Cluster, error) {
	if s.Context == "" {
		s.Context = s.Name
	}
	if s.Nodes == 0 && s.RealNodes == 0 {
		s.Nodes = 2
	}
	if s.RealNodes > 0 {
		if err := nodesSupported(); err != nil {
			return nil, err
		}
	}
	if !validName(s.Name) {
		return nil, fmt.Errorf("%q is not a valid name of a cluster: use letters, digits, -, . and /", s.Name)
	}
	emulate, err := f.Tools.emulate(s.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, other := range f.clusters {
		if other.Context == s.Context || directoryName(other.Name) == directoryName(s.Name) {
			return nil, fmt.Errorf("two clusters are %s (context %s)", s.Name, s.Context)
		}
	}
	c := &Cluster{
		Name: s.Name, Context: s.Context, Dir: f.file(directoryName(s.Name)), fleet: f, nodes: s.Nodes,
		realNodes: s.RealNodes, images: s.Images, emulate: emulate, simulateOperators: s.SimulateOperators, parts: map[string]*process{},
	}
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

// directoryName returns the name as that of a directory.
func directoryName(name string) string { return strings.ReplaceAll(name, "/", "_") }

// Clusters returns all clusters in the order of their addition.
func (f *Fleet) Clusters() []*Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Cluster(nil), f.clusters...)
}

// Port returns a free port of 127.0.0.1.
func (f *Fleet) Port() (int, error) { return f.ports.next() }

// Cluster returns the cluster with the name, nil when there is none.
func (f *Fleet) Cluster(name string) *Cluster {
	for _, c := range f.Clusters() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Kubectl runs kubectl with the fleet's kubeconfig and returns its output. An error
// includes its messages.
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

// Err names the parts that ended unexpectedly; nil when there are none.
func (f *Fleet) Err() error {
	errs := []error{f.etcd.err()}
	for _, c := range f.Clusters() {
		errs = append(errs, c.Err())
	}
	return errors.Join(errs...)
}

// Stop ends all processes of the fleet and waits for them. It removes the files of
// the fleet, except the logs if keepLogs is set.
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
	f.starter.stop()
	if keepLogs {
		return errors.Join(f.keepLogs(), f.unlock())
	}
	return errors.Join(os.RemoveAll(f.Dir), f.unlock())
}

func (f *Fleet) file(name string) string { return filepath.Join(f.Dir, name) }
