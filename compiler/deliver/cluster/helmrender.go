package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// MaxHelmRecord is the largest record of a revision in bytes, the limit of Kubernetes
// for a Secret.
const MaxHelmRecord = 1 << 20

// maxTime limits the rendering of a chart, as in fleetc's own engine.
const maxTime = 2 * time.Minute

// A HelmRendering is the result of rendering the next revision of a release.
type HelmRendering struct {
	Objects []*unstructured.Unstructured // without hooks
	Record  int                          // size in bytes of the stored record
}

// Render renders the chart as the next install or upgrade does, without storing
// anything. Lookups read the cluster; apiVersions are added to the API versions
// that it serves.
func (r *HelmRun) Render(ctx context.Context, state *HelmState, to HelmReleaseSpec, apiVersions []string) (*HelmRendering, error) {
	ch, err := fleet.LoadChart(to.Chart.Files)
	if err != nil {
		return nil, r.fault(err)
	}
	cfg, err := r.memoryConfiguration(ctx, state, ch, apiVersions)
	if err != nil {
		return nil, err
	}
	rendered, err := par.RunLimited(ctx, par.Limits{Time: maxTime}, func() (*release.Release, error) {
		return r.dryRun(ctx, cfg, ch, state.upgrades(), to.Values)
	})
	if over, ok := errors.AsType[*par.Excess](err); ok {
		return nil, &diag.Diag{Code: diag.CodeRenderLimits, Msg: "Helm: rendering the chart " + over.Msg, Hint: "look for templates that never end", Cause: over}
	}
	if err != nil {
		return nil, r.fault(err)
	}
	size, err := recordSize(rendered)
	if err != nil {
		return nil, err
	}
	objects, err := objectsOf(ctx, r.Live, rendered)
	return &HelmRendering{objects, size}, err
}

// memoryConfiguration returns a configuration whose storage is in memory and has
// the last revision of the state.
func (r *HelmRun) memoryConfiguration(ctx context.Context, state *HelmState, ch *chart.Chart, apiVersions []string) (*action.Configuration, error) {
	r.cause = nil
	getter, err := r.Live.Getter(HelmManager, func(writes bool) error {
		if writes {
			return r.recordCause(fmt.Errorf("render the chart of %s: it writes to the cluster", r.Name))
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, err
	}
	known, err := getter.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("connect Helm: %w", err)
	}
	version, err := known.ServerVersion()
	if err != nil {
		return nil, r.fault(err)
	}
	served, err := action.GetVersionSet(known)
	if err != nil {
		return nil, r.fault(err)
	}
	memory := driver.NewMemory()
	memory.SetNamespace(r.Namespace)
	cfg := unconnected()
	cfg.Releases, cfg.RESTClientGetter, cfg.KubeClient = storage.Init(memory), getter, noCluster{&kubefake.PrintingKubeClient{Out: io.Discard}}
	cfg.Capabilities = &chartutil.Capabilities{
		KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		APIVersions: append(slices.Clone(served), apiVersions...), HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
	if state.upgrades() {
		last := &release.Release{Name: r.Name, Namespace: r.Namespace, Version: state.Revision, Chart: ch, Info: &release.Info{Status: release.StatusDeployed}}
		if err := cfg.Releases.Create(last); err != nil {
			return nil, r.fault(err)
		}
	}
	return cfg, nil
}

// noCluster is a client that never reaches a cluster.
type noCluster struct{ *kubefake.PrintingKubeClient }

// Build implements Helm's interface.
func (noCluster) Build(io.Reader, bool) (kube.ResourceList, error) { return nil, nil }

// recordSize returns the size of a revision's record after a successful operation,
// in bytes.
func recordSize(r *release.Release) (int, error) {
	done := *r
	info := *r.Info
	info.Status, info.Description = release.StatusDeployed, "Upgrade complete"
	done.Info, done.Hooks = &info, nil
	for _, h := range r.Hooks {
		run := *h
		run.LastRun = release.HookExecution{StartedAt: helmtime.Now(), CompletedAt: helmtime.Now(), Phase: release.HookPhaseSucceeded}
		done.Hooks = append(done.Hooks, &run)
	}
	return packedSize(&done)
}

// packedSize returns the size of a record in bytes, as Helm stores it.
func packedSize(r *release.Release) (int, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encode the record of %s: %w", r.Name, err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		if _, err = w.Write(text); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("pack the record of %s: %w", r.Name, err)
	}
	return base64.StdEncoding.EncodedLen(packed.Len()), nil
}

// StoredChartSize returns the size of a record with a chart alone, in bytes.
func StoredChartSize(ch *fleet.Chart) (int, error) {
	loaded, err := fleet.LoadChart(ch.Files)
	if err != nil {
		return 0, fmt.Errorf("load the chart %s: %w", ch.Ref.Name, err)
	}
	return packedSize(&release.Release{Chart: loaded})
}

// StoredManifestSize returns the size of a record with a manifest alone, in bytes.
func StoredManifestSize(manifest string) (int, error) {
	return packedSize(&release.Release{Manifest: manifest})
}
