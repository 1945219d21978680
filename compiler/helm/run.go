package helm

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// Manager is the name under which Helm owns fields of objects.
const Manager = "helm"

// A Run does something about one release of a cluster.
type Run struct {
	Live      *live.Cluster
	Namespace string
	Name      string
	Timeout   time.Duration

	// May reports whether the run may go on; it is asked before each write.
	May func(ctx context.Context) error

	// Wait waits until objects are healthy, Hook until a Job or pod has ended.
	// Their errors are those of the run.
	Wait func(ctx context.Context, objects []*unstructured.Unstructured) error
	Hook func(ctx context.Context, object *unstructured.Unstructured) error

	// Prunes reports whether an object of the cluster is deleted, which the
	// release had and has no more. It is asked right before that.
	Prunes func(*unstructured.Unstructured) bool

	// NoHooks has [Run.Uninstall] run no hooks: another tool manages objects of the
	// release by now.
	NoHooks bool

	// Hide takes secrets out of what Helm says.
	Hide func(string) string

	attempts []string // manifests that Helm may have applied, and starts not from

	mu    sync.Mutex
	cause error // of what Helm says failed
}

// note notes why a request or a wait ended, and returns it.
func (r *Run) note(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		r.cause = err
	}
	return err
}

// fault returns what Helm says, as the fault that it is.
func (r *Run) fault(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || r.cause != nil {
		return r.cause
	}
	return &diag.Diag{Msg: "Helm: " + diag.Visible(r.Hide(err.Error()), diag.MaxText), Cause: err}
}

// configuration connects Helm with the cluster.
func (r *Run) configuration(ctx context.Context) (*action.Configuration, error) {
	r.cause = nil
	getter, err := r.Live.Getter(Manager, func(writes bool) error {
		switch {
		case ctx.Err() != nil:
			return r.note(context.Cause(ctx))
		case writes:
			if err := r.May(ctx); err != nil {
				return r.note(err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	cfg := &action.Configuration{}
	if err := cfg.Init(getter, r.Namespace, "secrets", func(string, ...any) {}); err != nil {
		return nil, r.fault(err)
	}
	base, ok := cfg.KubeClient.(*kube.Client)
	if !ok {
		return nil, errors.New("connect Helm: its client is of an unknown kind")
	}
	base.Namespace = r.Namespace
	cfg.KubeClient = &client{Client: base, run: r, ctx: ctx}
	cfg.SetHookOutputFunc(func(_, _, _ string) io.Writer { return io.Discard })
	return cfg, nil
}

// A Wanted is what a release is to be.
type Wanted struct {
	Chart  *fleet.Chart
	Values map[string]any // which the run may modify
	Digest string         // says what it is to be, in at most 63 letters and digits
}

// Apply makes the release what it is to be: it installs one that is not there or
// was never deployed, over what a failed attempt left, and upgrades others. was
// is how it is; an operation that it says is under way is taken for dead. CRDs
// in the chart's crds directory are left to the caller.
func (r *Run) Apply(ctx context.Context, was *State, to Wanted) error {
	ch, err := load(to.Chart)
	if err != nil {
		return r.fault(err)
	}
	cfg, err := r.configuration(ctx)
	if err != nil {
		return err
	}
	if was.IsPending() {
		if err := r.bury(cfg); err != nil {
			return err
		}
	}
	r.attempts = was.attempts
	labels := map[string]string{revisionLabel: strconv.Itoa(was.Revision + 1), digestLabel: to.Digest}
	if !was.Deployed {
		i := action.NewInstall(cfg)
		i.ReleaseName, i.Namespace, i.Labels, i.Timeout = r.Name, r.Namespace, labels, r.Timeout
		i.Replace, i.TakeOwnership, i.SkipCRDs, i.Wait = true, true, true, true
		i.SkipSchemaValidation, i.DisableOpenAPIValidation = true, true // both are done, and the former may read from anywhere
		_, err = i.Run(ch, to.Values)
		return r.fault(err)
	}
	u := action.NewUpgrade(cfg)
	u.Namespace, u.Labels, u.Timeout, u.MaxHistory = r.Namespace, labels, r.Timeout, maxHistory
	u.ResetValues, u.TakeOwnership, u.SkipCRDs, u.Wait = true, true, true, true
	u.SkipSchemaValidation, u.DisableOpenAPIValidation = true, true
	_, err = u.Run(r.Name, ch, to.Values)
	return r.fault(err)
}

// maxHistory is how many revisions Helm keeps, as by helm upgrade.
const maxHistory = 10

// bury says of the last revision, whose operation died, that it failed.
func (r *Run) bury(cfg *action.Configuration) error {
	last, err := cfg.Releases.Last(r.Name)
	if err != nil {
		return r.fault(err)
	}
	last.SetStatus(release.StatusFailed, "the operation did not end")
	return r.fault(cfg.Releases.Update(last))
}

// Uninstall uninstalls the release, with its hooks, and forgets its history.
func (r *Run) Uninstall(ctx context.Context) error {
	cfg, err := r.configuration(ctx)
	if err != nil {
		return err
	}
	u := action.NewUninstall(cfg)
	u.IgnoreNotFound, u.Wait, u.Timeout, u.DisableHooks = true, true, r.Timeout, r.NoHooks
	_, err = u.Run(r.Name)
	return r.fault(err)
}

// Forget removes what Helm has stored of the release, and leaves its objects.
func (r *Run) Forget(ctx context.Context) error {
	cfg, err := r.configuration(ctx)
	if err != nil {
		return err
	}
	all, err := cfg.Releases.History(r.Name)
	for _, revision := range all {
		if _, err = cfg.Releases.Delete(r.Name, revision.Version); err != nil {
			break
		}
	}
	return r.fault(err)
}

// Test runs the test hooks of the release, as helm test does.
func (r *Run) Test(ctx context.Context) error {
	cfg, err := r.configuration(ctx)
	if err != nil {
		return err
	}
	t := action.NewReleaseTesting(cfg)
	t.Namespace, t.Timeout = r.Namespace, r.Timeout
	_, err = t.Run(r.Name)
	return r.fault(err)
}

// load loads a chart, of which Helm modifies its own copy.
func load(ch *fleet.Chart) (*chart.Chart, error) {
	files := make([]*loader.BufferedFile, len(ch.Files))
	for i, f := range ch.Files {
		files[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	return loader.LoadFiles(files)
}
