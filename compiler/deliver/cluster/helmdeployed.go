package cluster

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// This file reads the deployed releases of a cluster with all that Helm stores of them.

// A StoredHelmRelease is the deployed revision of a release, or its last one if none is
// deployed.
type StoredHelmRelease struct {
	Namespace, Name string
	Revision        int
	Status          string // as in helm list
	FromFleetc      bool   // fleetc made the revision
	Record          string // kind and name of the object that stores the revision

	Chart   StoredHelmChart
	Values  map[string]any               // that the user set
	Objects []*unstructured.Unstructured // that Helm rendered, without hooks
}

// IsDeployed reports whether the revision is deployed.
func (d *StoredHelmRelease) IsDeployed() bool { return d.Status == release.StatusDeployed.String() }

// A StoredHelmChart is the chart of a stored revision. Helm stores neither the comments of
// values.yaml nor the files of dependencies.
type StoredHelmChart struct {
	Name, Version string
	Files         []fleet.File // sorted by name
	Dependencies  []string     // their names
}

// Deployed reads the releases of a namespace, or of all namespaces if it is empty,
// sorted by namespace and name.
func (in HelmStorage) Deployed(ctx context.Context, c *Cluster, namespace string) ([]StoredHelmRelease, error) {
	records, err := c.Metadata(ctx, schema.GroupVersionResource{Version: "v1", Resource: in.Resource()}, namespace, "owner=helm,name")
	if err != nil {
		return nil, err
	}
	type key struct{ namespace, name string }
	type choice struct {
		revision int
		deployed bool
		object   string
	}
	chosen := map[key]choice{}
	for _, r := range records {
		n, err := strconv.Atoi(r.Labels["version"])
		if err != nil {
			continue // not a record of Helm
		}
		k := key{r.Namespace, r.Labels["name"]}
		this := choice{n, r.Labels["status"] == release.StatusDeployed.String(), r.Name}
		best, known := chosen[k]
		if !known || this.deployed && !best.deployed || this.deployed == best.deployed && this.revision > best.revision {
			chosen[k] = this
		}
	}
	var out []StoredHelmRelease
	for k, f := range chosen {
		o, err := c.Object(ctx, Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: string(in)}, Namespace: k.namespace, Name: f.object})
		if err != nil {
			return nil, err
		}
		if o == nil || !in.isRecord(o, k.name, f.revision) {
			continue
		}
		d, err := in.deployed(ctx, c, o, k.name)
		if err != nil {
			return nil, err
		}
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b StoredHelmRelease) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// deployed decodes the record of a release.
func (in HelmStorage) deployed(ctx context.Context, c *Cluster, record *unstructured.Unstructured, name string) (*StoredHelmRelease, error) {
	title := fmt.Sprintf("%s %s/%s", in, record.GetNamespace(), record.GetName())
	stored, err := decode(record)
	if err != nil {
		return nil, invalidRecord(title, err)
	}
	if stored.Chart == nil || stored.Chart.Metadata == nil {
		return nil, invalidRecord(title, fmt.Errorf("it has no chart"))
	}
	d := &StoredHelmRelease{
		Namespace: record.GetNamespace(), Name: name, Revision: stored.Version, Status: record.GetLabels()["status"], Record: title,
		FromFleetc: record.GetLabels()[revisionLabel] != "", Values: stored.Config,
		Chart: StoredHelmChart{Name: stored.Chart.Metadata.Name, Version: stored.Chart.Metadata.Version},
	}
	for _, dep := range stored.Chart.Metadata.Dependencies {
		d.Chart.Dependencies = append(d.Chart.Dependencies, dep.Name)
	}
	if d.Chart.Files, err = chartFiles(stored.Chart); err != nil {
		return nil, invalidRecord(title, err)
	}
	d.Objects, err = objectsOf(ctx, c, stored)
	return d, err
}

// invalidRecord returns the fault of a record that Helm did not write.
func invalidRecord(title string, err error) error {
	return &diag.Diag{
		Code: diag.CodeHelm,
		Msg:  fmt.Sprintf("%s is not a valid Helm record: %s", diag.Visible(title, diag.MaxText), diag.Brief(err)),
		Hint: "see helm history", Cause: err,
	}
}

// chartFiles returns the files of a stored chart, sorted by name.
func chartFiles(ch *chart.Chart) ([]fleet.File, error) {
	var out []fleet.File
	for name, v := range map[string]any{chartutil.ChartfileName: ch.Metadata, chartutil.ValuesfileName: ch.Values} {
		text, err := yaml.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, fleet.File{Name: name, Data: text})
	}
	if len(ch.Schema) > 0 {
		out = append(out, fleet.File{Name: chartutil.SchemafileName, Data: ch.Schema})
	}
	for _, f := range slices.Concat(ch.Templates, ch.Files) {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) || git.IsDotGit(f.Name) {
			return nil, fmt.Errorf("the file %q is outside of the chart", f.Name)
		}
		out = append(out, fleet.File{Name: f.Name, Data: f.Data})
	}
	slices.SortFunc(out, func(a, b fleet.File) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
