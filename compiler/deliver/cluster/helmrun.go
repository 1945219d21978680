package cluster

import (
	"context"
	"io"
	"strconv"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// HelmManager is Helm's field manager.
const HelmManager = "helm"

// A HelmRun performs operations on one release of a cluster.
type HelmRun struct {
	Live      *Cluster
	Namespace string
	Name      string
	Timeout   time.Duration

	// BeforeWrite is called before each write, and prevents the write by an error.
	BeforeWrite func(ctx context.Context) error

	// Wait waits until objects are healthy, Hook until a Job or pod has ended. The
	// run fails with their errors.
	Wait func(ctx context.Context, objects []*unstructured.Unstructured) error
	Hook func(ctx context.Context, object *unstructured.Unstructured) error

	// GiveToHelm is called for each object of the release before Helm updates or creates it.
	GiveToHelm func(ctx context.Context, object *unstructured.Unstructured) error

	// MayPrune reports whether an object that the release does not have any more
	// may be deleted. It is called right before the deletion.
	MayPrune func(*unstructured.Unstructured) bool

	// NoHooks makes [HelmRun.Uninstall] skip hooks, because another tool now manages
	// objects of the release.
	NoHooks bool

	// Hide removes secrets from Helm's messages.
	Hide func(string) string

	// Written is set when Helm has begun to update the objects of the release, or has
	// created them.
	Written bool

	attempts []string // manifests that an installation or upgrade replaces, as in HelmState
	replaced []string // manifests that an uninstallation deletes, as in HelmState

	mu    sync.Mutex
	cause error // cause of Helm's error
}

// recordCause records why a request or a wait failed, and returns the error.
func (r *HelmRun) recordCause(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		r.cause = err
	}
	return err
}

// fault returns the recorded cause of Helm's error, or the error as a fault.
func (r *HelmRun) fault(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || r.cause != nil {
		return r.cause
	}
	return &diag.Diag{
		Code: diag.CodeHelm, Msg: "Helm: " + visible(r.Hide(err.Error())),
		Hint: "correct what Helm reports, then run the command again", Cause: err,
	}
}

// connected calls operate with a configuration of Helm that is connected to the cluster, and
// returns its error as a fault.
func (r *HelmRun) connected(ctx context.Context, operate func(cfg *action.Configuration) error) error {
	r.cause = nil
	getter, err := r.Live.Getter(HelmManager, func(writes bool) error {
		switch {
		case ctx.Err() != nil:
			return r.recordCause(context.Cause(ctx))
		case writes:
			if err := r.BeforeWrite(ctx); err != nil {
				return r.recordCause(err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	cfg, base, err := connect(getter, r.Namespace)
	if err != nil {
		return r.fault(err)
	}
	base.Namespace = r.Namespace
	cfg.KubeClient = &client{Client: base, run: r, ctx: ctx}
	cfg.SetHookOutputFunc(func(_, _, _ string) io.Writer { return io.Discard })
	return r.fault(operate(cfg))
}

// A HelmReleaseSpec is the desired state of a release.
type HelmReleaseSpec struct {
	Chart  *fleet.Chart
	Values map[string]any // the run may modify them
	Digest string         // cache key of the state, at most 63 letters and digits
}

// Apply installs or upgrades the release. It installs one without a deployed revision, over
// the leftovers of failed attempts, or upgrades it if IsTakeover is set. before is the current state; it treats a pending operation as interrupted. It leaves the
// CRDs in the chart's crds directory to the caller.
func (r *HelmRun) Apply(ctx context.Context, before *HelmState, to HelmReleaseSpec) error {
	ch, err := fleet.LoadChart(to.Chart.Files) // a copy that Helm may modify
	if err != nil {
		return r.fault(err)
	}
	r.attempts = before.attempts
	labels := map[string]string{revisionLabel: strconv.Itoa(before.Revision + 1), digestLabel: to.Digest}
	return r.connected(ctx, func(cfg *action.Configuration) error {
		if before.IsPending() {
			if err := r.markFailed(cfg); err != nil {
				return err
			}
		}
		if !before.upgrades() {
			return r.install(cfg, ch, to.Values, labels)
		}
		if !before.Deployed {
			cfg.Releases.Driver = r.takeoverStorage(cfg.Releases.Driver, ch)
		}
		return r.upgrade(cfg, ch, to.Values, labels)
	})
}

// maxHistory is the number of revisions that Helm keeps, the default of helm
// upgrade.
const maxHistory = 10

// markFailed marks the last revision, whose operation was interrupted, as failed.
func (r *HelmRun) markFailed(cfg *action.Configuration) error {
	last, err := lastRevision(cfg, r.Name)
	if err != nil {
		return err
	}
	last.SetStatus(release.StatusFailed, "the operation did not finish")
	return cfg.Releases.Update(last)
}

// Uninstall uninstalls the release with its hooks, and deletes its records. before
// is the current state.
func (r *HelmRun) Uninstall(ctx context.Context, before *HelmState) error {
	r.replaced = before.replaced
	return r.connected(ctx, r.uninstall)
}

// Forget deletes the records of the release, and keeps its objects.
func (r *HelmRun) Forget(ctx context.Context) error {
	return r.connected(ctx, func(cfg *action.Configuration) error {
		all, err := history(cfg, r.Name)
		for _, revision := range all {
			if _, err = cfg.Releases.Delete(r.Name, revision.Version); err != nil {
				break
			}
		}
		return err
	})
}

// Test runs the test hooks of the release, as helm test does.
func (r *HelmRun) Test(ctx context.Context) error {
	return r.connected(ctx, r.test)
}
