package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/incremental"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// VetOptions say what [Vet] checks beside the objects of clusters.
type VetOptions struct {
	Layout    fleet.Layout // of exports; those of [fleet.GitOps] if it is empty
	Secrets   bool         // whether to find the values of secrets, and to check objects with them
	AllowExec bool         // whether secrets may run commands
}

// A VetResult counts the checked clusters, releases and objects. Its JSON form is the cached outcome of a cluster.
type VetResult struct {
	Clusters int `json:"clusters"`
	Releases int `json:"releases"`
	Objects  int `json:"objects"` // 0 when nothing was rendered
}

// add adds the numbers of another result.
func (v *VetResult) add(more VetResult) {
	v.Clusters += more.Clusters
	v.Releases += more.Releases
	v.Objects += more.Objects
}

// VetChanged checks the clusters that the patterns select, and records those without faults.
// It counts clusters that are up to date, but does not check them again. Without render, it
// calls [compiler.Fleet.CheckWritten] instead of rendering. begin is called with the
// number of clusters to render, and returns a function to call after each of them.
func VetChanged(ctx context.Context, c *compiler.Compiler, options VetOptions, render bool, begin func(clusters int) (each func()), patterns ...string) (*VetResult, error) {
	all, mu := &VetResult{}, sync.Mutex{}
	task := incremental.Task{Name: "vet", Charts: true, Values: options.Secrets, Holds: func(_, text string) bool {
		var last VetResult
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		all.add(last)
		return true
	}}
	if render {
		task.Name = fmt.Sprintf("vet --render --layout %s --secrets=%t", options.Layout, options.Secrets)
	}
	f, upToDate, err := incremental.Load(ctx, c, task, patterns...)
	if err != nil {
		return nil, vetWithoutFaults(ctx, f, err, options, render, begin)
	}
	defer upToDate.Close()
	checked := make([]VetResult, len(f.Clusters))
	if render {
		checked, err = VetRendered(ctx, f, options, begin(len(f.Clusters)))
	} else {
		for i, cluster := range f.Clusters {
			checked[i] = VetResult{Clusters: 1, Releases: len(cluster.Releases)}
		}
		err = f.CheckWritten(ctx)
	}
	if err != nil {
		return nil, err
	}
	for i, cluster := range f.Clusters {
		all.add(checked[i])
		text, err := json.Marshal(checked[i])
		if err != nil {
			return nil, err
		}
		upToDate.Record(ctx, cluster, string(text))
	}
	return all, nil
}

// vetWithoutFaults checks the clusters of a fleet for which loading it found no faults. It
// returns the faults of loading and those that it finds.
func vetWithoutFaults(ctx context.Context, f *compiler.Fleet, loading error, options VetOptions, render bool, begin func(clusters int) (each func())) error {
	if f == nil || ctx.Err() != nil {
		return loading
	}
	f.Clusters = slices.DeleteFunc(slices.Clone(f.Clusters), func(c *fleet.Cluster) bool {
		return fleet.FaultsOf(c.ID, loading) != nil || !f.CanRender(c)
	})
	faults := slices.Clone(diag.All(loading))
	if !render {
		faults.Add(f.CheckWritten(ctx))
		return faults.Err()
	}
	each := begin(len(f.Clusters))
	for _, err := range Vet(ctx, f, options) {
		faults.Add(err)
		each()
	}
	return faults.Err()
}

// VetRendered renders and checks the clusters, also together, and calls each after each of
// them. It returns their results.
func VetRendered(ctx context.Context, f *compiler.Fleet, options VetOptions, each func()) ([]VetResult, error) {
	checked := make([]VetResult, len(f.Clusters))
	var faults diag.List
	i := 0
	for found, err := range Vet(ctx, f, options) {
		faults.Add(err)
		if found != nil {
			checked[i] = *found
		}
		i++
		each()
	}
	faults.Add(f.CheckRules())
	return checked, faults.Err()
}

// Vet compiles the clusters and yields their faults, including those of [Exports], and
// those of applies that can be found without a cluster. It yields the result of a cluster
// beside the faults of checks.
func Vet(ctx context.Context, f *compiler.Fleet, options VetOptions) iter.Seq2[*VetResult, error] {
	var sizes chartSizes
	layout, resolver := options.Layout, NewSecretResolver(f.Fleet, options.AllowExec)
	emptyCluster := func(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, nil }
	return par.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) (*VetResult, error) {
		c := f.Clusters[i]
		b, err := f.Assemble(ctx, c)
		var faults diag.List
		faults.Add(err)
		var out *VetResult
		if b != nil {
			faults.Add(checkLayouts(f, b, layout))
			faults.Add(apply.CheckOrder(b))
			faults.Add(checkSizes(f, b, layout, &sizes))
			faults.Add(checkLiveSecrets(b))
			if options.Secrets && err == nil {
				_, _, err := resolver.Values(ctx, b, emptyCluster)
				faults.Add(err)
			}
			if layout == "" && len(c.GitOps.Layouts) == 0 {
				faults.Add(checkApplied(b))
			}
			f.NoteRules(b)
			out = &VetResult{Clusters: 1, Releases: len(c.Releases), Objects: len(b.Objects)}
		}
		if err := faults.Err(); err != nil {
			return out, fleet.InCluster(c, err)
		}
		f.NoteRendered(c)
		return out, nil
	})
}

// checkLayouts returns the faults of exports of a bundle in the given layout, or in those
// of the cluster.
func checkLayouts(f *compiler.Fleet, b *fleet.Bundle, layout fleet.Layout) error {
	layouts := b.Cluster.GitOps.Layouts
	if layout != "" {
		layouts = []fleet.Layout{layout}
	}
	var faults diag.List
	for _, l := range layouts {
		_, err := layOut(f, b, b, l)
		if err == nil && l == fleet.FluxLayout && b.Cluster.GitOps.Flux.Source.Kind == "OCIRepository" {
			err = diag.In(b.Cluster.ID, export.CheckArtifactID(b.Cluster.ID))
		}
		for _, d := range diag.All(err) {
			fault := *d
			if layout == "" {
				fault.Hint += fmt.Sprintf("; for a cluster that is not exported in the layout %s, see gitops.layouts", l)
			}
			faults.Add(&fault)
		}
	}
	return faults.Err()
}

// checkApplied returns the faults of applies to a cluster that is not exported.
func checkApplied(b *fleet.Bundle) error {
	if b.Cluster.KubeContext != "" {
		return nil
	}
	d := noContext(b.Cluster)
	d.Msg += ", and is only applied to: gitops.layouts is empty"
	return d
}

// chartSizes are the sizes of charts in records of Helm.
type chartSizes = par.ResultMemo[*fleet.Chart, int]

// checkSizes returns the faults of releases of a cluster that Helm cannot store because of their
// size, in an apply or an export in the layout. Flux runs Helm. Argo CD stores no records.
func checkSizes(f *compiler.Fleet, b *fleet.Bundle, layout fleet.Layout, sizes *chartSizes) error {
	c := b.Cluster
	if layouts := c.GitOps.Layouts; layout != fleet.FluxLayout && len(layouts) > 0 && !slices.ContainsFunc(layouts, func(l fleet.Layout) bool { return l != fleet.ArgoLayout }) {
		return nil
	}
	var faults diag.List
	for _, r := range c.Releases {
		if r.Delivery != fleet.ByHelm {
			continue
		}
		ch := f.Charts[r.Chart].Chart
		size, err := sizes.Get(ch, func() (int, error) { return cluster.StoredChartSize(ch) })
		faults.Add(err)
		if size <= cluster.MaxHelmRecord {
			faults.Add(checkRecord(size, b, r))
		} else {
			faults.Add(&diag.Diag{
				Code: diag.CodeHelmSize,
				At:   []diag.Pos{r.Pos}, Path: r.Path("delivery"),
				Msg:  fmt.Sprintf("Helm stores the chart in a Secret, where it has %d bytes: Kubernetes accepts at most %d", size, cluster.MaxHelmRecord),
				Hint: `leave out files of the chart with .helmignore, or set delivery: "manifests"`,
			})
		}
	}
	return faults.Err()
}

// checkRecord returns a fault if the record of a release is too large for Helm, with its
// manifest. chartBytes is the size of a record with the chart alone.
func checkRecord(chartBytes int, b *fleet.Bundle, r *fleet.Release) error {
	var manifest bytes.Buffer
	for i, o := range b.Objects {
		if o.Release == r {
			manifest.WriteString("---\n" + b.YAML[i].String())
		}
	}
	if chartBytes+manifest.Len()*4/3 < cluster.MaxHelmRecord { // also if nothing can be compressed
		return nil
	}
	size, err := cluster.StoredManifestSize(manifest.String())
	if size += chartBytes; err != nil || size <= cluster.MaxHelmRecord {
		return err
	}
	return &diag.Diag{
		Code: diag.CodeHelmSize,
		At:   []diag.Pos{r.Pos}, Path: r.Path("delivery"),
		Msg:  fmt.Sprintf("Helm stores the chart and its objects in a Secret, where they have %d bytes: Kubernetes accepts at most %d", size, cluster.MaxHelmRecord),
		Hint: `make the chart or its values smaller, or set delivery: "manifests"`,
	}
}
