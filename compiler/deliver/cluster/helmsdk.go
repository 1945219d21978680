package cluster

import (
	"context"
	"errors"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// This file has the calls that Helm 4 changed. testdata/helm4/sdk.go.txt has the same
// functions for Helm 4.

// connect returns a configuration of Helm that stores releases in Secrets, and its
// client.
func connect(getter genericclioptions.RESTClientGetter, namespace string) (*action.Configuration, *kube.Client, error) {
	cfg := unconnected()
	if err := cfg.Init(getter, namespace, "secrets", cfg.Log); err != nil {
		return nil, nil, err
	}
	base, ok := cfg.KubeClient.(*kube.Client)
	if !ok {
		return nil, nil, errors.New("connect Helm: its client has an unknown type")
	}
	return cfg, base, nil
}

// unconnected returns a configuration of Helm that logs nothing.
func unconnected() *action.Configuration {
	return &action.Configuration{Log: func(string, ...any) {}}
}

// install installs the release. fleetc validates values and objects; schemas may read
// remote files.
func (r *HelmRun) install(cfg *action.Configuration, ch *chart.Chart, values map[string]any, labels map[string]string) error {
	i := action.NewInstall(cfg)
	i.ReleaseName, i.Namespace, i.Labels, i.Timeout = r.Name, r.Namespace, labels, r.Timeout
	i.Replace, i.TakeOwnership, i.SkipCRDs, i.Wait = true, true, true, true
	i.SkipSchemaValidation, i.DisableOpenAPIValidation = true, true
	_, err := i.Run(ch, values)
	return err
}

// upgrade upgrades the release, as install does.
func (r *HelmRun) upgrade(cfg *action.Configuration, ch *chart.Chart, values map[string]any, labels map[string]string) error {
	u := action.NewUpgrade(cfg)
	u.Namespace, u.Labels, u.Timeout, u.MaxHistory = r.Namespace, labels, r.Timeout, maxHistory
	u.ResetValues, u.TakeOwnership, u.SkipCRDs, u.Wait = true, true, true, true
	u.SkipSchemaValidation, u.DisableOpenAPIValidation = true, true
	_, err := u.Run(r.Name, ch, values)
	return err
}

// dryRun runs Helm's install or upgrade as a dry run.
func (r *HelmRun) dryRun(ctx context.Context, cfg *action.Configuration, ch *chart.Chart, deployed bool, values map[string]any) (*release.Release, error) {
	if deployed {
		u := action.NewUpgrade(cfg)
		u.Namespace, u.ResetValues, u.SkipCRDs, u.SkipSchemaValidation, u.DisableOpenAPIValidation = r.Namespace, true, true, true, true
		u.DryRunOption = "server"
		return u.RunWithContext(ctx, r.Name, ch, values)
	}
	i := action.NewInstall(cfg)
	i.ReleaseName, i.Namespace, i.SkipCRDs, i.SkipSchemaValidation, i.DisableOpenAPIValidation = r.Name, r.Namespace, true, true, true
	i.DryRunOption = "server"
	return i.RunWithContext(ctx, ch, values)
}

// A takeoverDriver is a storage of releases. If it has no deployed revision, it acts as if
// it had revision 0, without objects: Helm upgrades only deployed releases.
type takeoverDriver struct {
	driver.Driver
	zero *release.Release
}

// takeoverStorage returns the storage for the takeover of the release.
func (r *HelmRun) takeoverStorage(in driver.Driver, ch *chart.Chart) driver.Driver {
	return takeoverDriver{in, &release.Release{
		Name: r.Name, Namespace: r.Namespace, Chart: ch,
		Info: &release.Info{Status: release.StatusDeployed, FirstDeployed: helmtime.Now()},
	}}
}

// Query implements Helm's interface.
func (d takeoverDriver) Query(labels map[string]string) ([]*release.Release, error) {
	found, err := d.Driver.Query(labels)
	if len(found) == 0 && (err == nil || errors.Is(err, driver.ErrReleaseNotFound)) {
		return []*release.Release{d.zero}, nil
	}
	return found, err
}

// Update implements Helm's interface.
func (d takeoverDriver) Update(key string, to *release.Release) error {
	if to == d.zero {
		return nil
	}
	return d.Driver.Update(key, to)
}

// uninstall uninstalls the release and deletes its records.
func (r *HelmRun) uninstall(cfg *action.Configuration) error {
	u := action.NewUninstall(cfg)
	u.IgnoreNotFound, u.Wait, u.Timeout, u.DisableHooks = true, true, r.Timeout, r.NoHooks
	_, err := u.Run(r.Name)
	return err
}

// test runs the test hooks of the release.
func (r *HelmRun) test(cfg *action.Configuration) error {
	t := action.NewReleaseTesting(cfg)
	t.Namespace, t.Timeout = r.Namespace, r.Timeout
	_, err := t.Run(r.Name)
	return err
}

// history returns all stored revisions of a release.
func history(cfg *action.Configuration, name string) ([]*release.Release, error) {
	return cfg.Releases.History(name)
}

// lastRevision returns the last stored revision of a release.
func lastRevision(cfg *action.Configuration, name string) (*release.Release, error) {
	return cfg.Releases.Last(name)
}

// Update implements Helm's interface.
func (c *client) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, func(original, target kube.ResourceList) (*kube.Result, error) {
		return c.Client.Update(original, target, force)
	})
}

// UpdateThreeWayMerge implements Helm's interface.
func (c *client) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, func(original, target kube.ResourceList) (*kube.Result, error) {
		return c.Client.UpdateThreeWayMerge(original, target, force)
	})
}

// DeleteWithPropagationPolicy implements Helm's interface.
func (c *client) DeleteWithPropagationPolicy(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	return c.deleteRevision(resources, policy)
}

// deleteExisting deletes objects that exist.
func (c *client) deleteExisting(resources kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	return c.Client.DeleteWithPropagationPolicy(resources, policy)
}

// waitForDelete waits until the objects do not exist.
func (c *client) waitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	return c.Client.WaitForDelete(resources, timeout)
}
