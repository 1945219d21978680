// Package compiler compiles a fleet: a directory of CUE goes in, one bundle
// for each cluster comes out.
//
//	load      finds the clusters, reads their layers        directory  -> instances
//	unify     evaluates the layers, merges the defaults     instance   -> Cluster
//	chart     finds the bytes of every chart                ChartRef   -> Chart
//	values    derives their types, checks the values        Chart      -> faults
//	render    runs the templates of charts                  Release    -> Objects
//	jsonnet   evaluates Jsonnet                             Release    -> Objects
//	kustomize builds kustomizations                         Release    -> Objects
//	manifests reads plain manifests                         Release    -> Objects
//	patch     applies the patches of releases               Objects    -> Objects
//	validate  checks the objects                            Objects    -> faults
//	crd       checks CRDs and custom resources              Objects    -> faults
//	policy    checks the fleet's own rules                  Objects    -> faults
//	bundle    orders, digests, encodes                      Objects    -> Bundle
//	gitops    lays bundles out for Flux and Argo CD         Bundle     -> Bundle
//	export    writes a tree                                 Bundle     -> files
//	branch    commits a tree, pushes it                     files      -> git
//	oci       packs files, pushes them                      files      -> registry
//	diff      compares objects                              Objects x2 -> changes
//	apply     makes a cluster run a bundle                  Bundle     -> a cluster
//
// Each stage is a package that knows the data ([fleet]) and the faults
// ([diag]) and no other stage. This package is the only one that knows their
// order. Its first half, [Compiler.Load], takes the whole fleet up to its
// charts, and is all of compiling that needs the network; the second, [Fleet.Bundles],
// renders cluster after cluster and lets go of each. What it renders to is kept,
// see rendered.go.
package compiler

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetc/fleetc/compiler/base/bounded"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/memo"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/results"
	"github.com/fleetc/fleetc/compiler/stage/bundle"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/policy"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/source/jsonnet"
	"github.com/fleetc/fleetc/compiler/stage/validate"
	"github.com/fleetc/fleetc/compiler/stage/validate/crd"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// A Compiler compiles the fleet around a directory. The zero value compiles
// that around the working directory.
type Compiler struct {
	Dir     string // a directory of the fleet; the working directory when empty
	Jobs    int    // how many clusters at a time; 0 for GOMAXPROCS
	Cache   string // directory of charts and results; fleetc in the user's cache folder when empty
	Offline bool   // refuse the network
	NoCache bool   // neither use nor keep results; charts are kept all the same

	// Date is the day, as in 2026-12-31, with which the ends of waivers are
	// compared; they are not when it is empty.
	Date string

	Shard fleet.Shard // the part of the clusters that are selected; all when zero

	// Kubernetes is the version that all clusters are taken to run, whatever
	// they say themselves; empty for that.
	Kubernetes string

	// Shared has what releases render to on other machines of the same build; it is
	// looked at when the directory does not have it. Nil for none.
	Shared results.SharedCache

	Limits bounded.Limits // of the evaluation of CUE for one cluster

	// Unchanged are clusters that are evaluated already, and not selected. The
	// selected clusters are checked against them.
	Unchanged []*fleet.Cluster

	Build string // says which build of fleetc this is; results are kept from one run to the next only when it is set

	Edits       load.Edits // of the fleet's files, to compile what would be
	KeepNothing bool       // whether results are used and not kept
	Earlier     bool       // whether it compiles an earlier state, of which clusters are not checked against each other
	plain       bool       // whether nothing is shared between clusters, for tests to compare with
	ReuseFrom   *Fleet     // whose charts are those of this one, as far as they are the same; nil for none
}

// Parallel returns how many clusters are compiled at a time.
func (c *Compiler) Parallel() int { return cmp.Or(c.Jobs, runtime.GOMAXPROCS(0)) }

// Clusters evaluates the clusters that the patterns select, see [fleet.MatchCluster];
// all when there are none. It looks at no chart. The error holds the faults of
// all clusters; beside it, the fleet has those clusters that are not
// concerned, and is nil when there is none at all.
func (c *Compiler) Clusters(ctx context.Context, patterns ...string) (*fleet.Fleet, error) {
	e := c.Evaluate(ctx, patterns)
	return e.Fleet, e.Faults
}

// Evaluate evaluates the clusters that the patterns select, and checks them against
// each other.
func (c *Compiler) Evaluate(ctx context.Context, patterns []string) Evaluation {
	loaded, err := c.ReadLayers(patterns)
	e := c.Unify(ctx, loaded, err)
	if !c.Earlier {
		c.CheckTogether(ctx, loaded, &e, nil)
	}
	return e
}

// ReadLayers reads the layers of the clusters that the patterns select.
func (c *Compiler) ReadLayers(patterns []string) (*load.Fleet, error) {
	if err := cmp.Or(kube.CheckVersion(c.Kubernetes), checkDate(c.Date)); err != nil {
		return nil, err
	}
	dir := cmp.Or(c.Dir, ".")
	if c.Shard != (fleet.Shard{}) {
		// What is wrong with the fleet or the patterns, the load below tells.
		if ids, err := c.ClusterIDs(patterns...); err == nil {
			patterns = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !c.Shard.Has(id) })
			if len(patterns) == 0 && len(ids) > 0 {
				root, module, err := load.Root(dir)
				return &load.Fleet{Root: root, Module: module}, err
			}
		}
	}
	return load.Load(dir, patterns, c.Edits)
}

// Module returns the path of the fleet's module, which is its name.
func (c *Compiler) Module() (string, error) {
	_, module, err := load.Root(cmp.Or(c.Dir, "."))
	return module, err
}

// ClusterIDs returns the IDs of the clusters that the patterns select, all when
// there are none, sorted: those of all shards. Of the layers it reads no more
// than that takes. The error is that of directories that are no fleet, or of a
// pattern that selects nothing.
func (c *Compiler) ClusterIDs(patterns ...string) ([]string, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	ids, err := load.ClusterIDs(root)
	if err != nil {
		return nil, err
	}
	return load.Select(ids, patterns)
}

// A Fleet is a fleet that is ready to be rendered.
type Fleet struct {
	*fleet.Fleet

	// Keep returns where a cluster's fields that keep their values have them from; the
	// fields stay as they are rendered when it is nil or returns nil.
	Keep func(ctx context.Context, cluster string) Keeper

	Charts        map[fleet.ChartRef]LoadedChart
	KnownCRDs     map[string][]fleet.Object // CRDs that clusters have without a release, by the cluster's ID
	packages      []load.Package            // of charts, when something may ask for them by name
	Templates     *render.Charts
	jsonnet       *jsonnet.Renderer
	remotes       *RemoteReader
	read          sync.Map // of kustomizations and manifests by their kind and path, each a sync.OnceValues
	Results       *results.Store
	OnCacheLookup func(r *fleet.Release, kept bool) // is told whether what releases of charts render to is kept; may be nil
	anew          sync.Map                          // has the IDs of clusters with a release that was rendered, or fetched
	unkept        sync.Map                          // has the *fleet.Release of which what they render to is not kept
	UsesClock     sync.Map                          // has the IDs of clusters with a chart that has asked for the time
	noted         bool                              // whether it is noted what is rendered: it is of the fleet as it is
	sharing       sharing
	crdDirs       memo.Map[*fleet.Chart, []string] // the API versions that the crds directories of charts bring
	Rendering     chan struct{}                    // has one for each chart that is being rendered
	Kinds         validate.Checker
	crds          crd.Checker
	policies      policy.Checker
	bundles       *bundle.Assembler
	date          string
	trials        sync.Map // of tried to trial.How
	trialled      atomic.Int64
	Parallel      int
	plain         bool
}

// LoadedChart is a chart with the types of its values.
type LoadedChart struct {
	*fleet.Chart
	asksForAPIs bool
	Types       *values.Type
	accepted    *results.AcceptedValues // by the chart's schemas
}

// Load evaluates the clusters that the patterns select and finds their charts.
// The error holds the faults of all clusters and charts.
func (c *Compiler) Load(ctx context.Context, patterns ...string) (*Fleet, error) {
	return c.LoadEvaluated(ctx, c.Evaluate(ctx, patterns))
}

// LoadEvaluated finds the charts of evaluated clusters and checks their values.
func (c *Compiler) LoadEvaluated(ctx context.Context, e Evaluation) (*Fleet, error) {
	if e.Fleet == nil {
		return nil, e.Faults
	}
	f := &Fleet{Fleet: e.Fleet, remotes: NewRemoteReader(e.Dir, c.Source(e.Dir)), plain: c.plain, Parallel: c.Parallel(), Rendering: make(chan struct{}, c.Parallel()), date: c.Date, policies: policy.Checker{Limits: c.Limits}, Templates: &render.Charts{}, bundles: &bundle.Assembler{Fleet: e.Module}}
	if c.ReuseFrom != nil {
		f.Templates = c.ReuseFrom.Templates
	}
	var faults diag.List
	faults.Add(f.readyJsonnet(e.All()))
	var err error
	f.Results, f.noted = c.Results(), c.Kubernetes == "" && len(c.Edits) == 0
	f.crds.Earlier = f.Results
	f.Charts, err = c.FindCharts(ctx, f.Results, e.Dir, f.ChartUsers(ctx, e.All()))
	faults.Add(err)
	faults.Add(f.readCRDs())
	checked := diag.All(fleet.WithForms(cuediag.Misread(e.Dir, f.checkValues(ctx, e.All())).Err(), e.All().Clusters, true))
	faults.Add(checked.Err())
	faults.Add(withoutCovered(e.Faults, checked))
	return f, faults.Err()
}

// FindCharts finds each chart of a fleet once.
func (c *Compiler) FindCharts(ctx context.Context, results *results.Store, root string, users map[fleet.ChartRef]*ChartUse) (map[fleet.ChartRef]LoadedChart, error) {
	const atATime = 8 // a courtesy to repositories; finding charts is waiting
	source := c.Source(root)
	refs := SortedRefs(users)
	found := ordered.Map(ctx, atATime, len(refs), func(ctx context.Context, i int) (LoadedChart, error) {
		known, ok := c.known(refs[i])
		if ok && refs[i].Digest != "" {
			return known, nil
		}
		ch, err := source.Chart(ctx, refs[i])
		if err != nil {
			return LoadedChart{}, users[refs[i]].Blame(err)
		}
		if ok && known.Digest == ch.Digest {
			return known, nil
		}
		types, err := results.Types(ch)
		if err != nil {
			return LoadedChart{}, users[refs[i]].Blame(err)
		}
		if err := types.Complete(ch); err != nil {
			return LoadedChart{}, users[refs[i]].Blame(err)
		}
		return LoadedChart{ch, render.AsksForAPIs(ch), types, results.Accepted(ch)}, nil
	})
	charts := map[fleet.ChartRef]LoadedChart{}
	var faults diag.List
	for ch, err := range found {
		if err != nil {
			faults.Add(err)
			continue
		}
		charts[ch.Ref] = ch
	}
	return charts, faults.Err()
}

// known returns a chart that was found for the other fleet.
func (c *Compiler) known(ref fleet.ChartRef) (LoadedChart, bool) {
	if c.ReuseFrom == nil {
		return LoadedChart{}, false
	}
	ch, ok := c.ReuseFrom.Charts[ref]
	return ch, ok
}

// Source returns where the charts of the fleet with the given root come from.
func (c *Compiler) Source(root string) *chart.Source {
	return &chart.Source{Root: root, Cache: c.Cache, Offline: c.Offline}
}

// Bundles compiles the clusters and yields their bundles in the order of their
// IDs. At most as many as are compiled at a time are held in memory. A
// cluster's faults are yielded in its place.
func (f *Fleet) Bundles(ctx context.Context) iter.Seq2[*fleet.Bundle, error] {
	return ordered.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) (*fleet.Bundle, error) {
		b, err := f.Compile(ctx, f.Clusters[i])
		return b, fleet.InCluster(f.Clusters[i], err)
	})
}

// Compile renders one cluster, checks its objects and returns its bundle.
func (f *Fleet) Compile(ctx context.Context, c *fleet.Cluster) (*fleet.Bundle, error) {
	b, err := f.Assemble(ctx, c)
	if err != nil {
		return nil, err
	}
	f.NoteRendered(c)
	return b, nil
}

// Assemble is [Fleet.Compile] that also returns the bundle when checks found faults,
// for further checks. There is no bundle when a release does not render.
func (f *Fleet) Assemble(ctx context.Context, c *fleet.Cluster) (*fleet.Bundle, error) {
	var faults diag.List
	objs, hooks, err := f.CheckedObjects(ctx, c)
	if faults.Add(err); err != nil && objs == nil {
		return nil, faults.Err()
	}
	var pins []fleet.Pin
	for _, r := range c.Releases {
		if ch := f.Charts[r.Chart]; ch.Chart != nil {
			pin := fleet.Pin{Release: r.Name, Chart: ch.Ref}
			pin.Chart.Digest = cmp.Or(ch.Ref.Digest, ch.Digest)
			pins = append(pins, pin)
		}
	}
	b, err := f.bundles.Assemble(c, objs, pins)
	if b != nil {
		b.Hooks = hooks
	}
	if len(faults) == 0 { // the checks of objects say more
		faults.Add(err)
	}
	return b, faults.Err()
}

// CanRender reports whether the layers of a cluster have no faults and all of its
// charts were found.
func (f *Fleet) CanRender(c *fleet.Cluster) bool {
	if !slices.Contains(f.Clusters, c) {
		return false
	}
	for _, r := range c.Releases {
		if _, ok := f.Charts[r.Chart]; r.Chart != (fleet.ChartRef{}) && !ok {
			return false
		}
	}
	return true
}

// checkDate returns a fault when the date is not empty and none.
func checkDate(date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil && date != "" {
		return &diag.Diag{Msg: fmt.Sprintf("%q is no date", date), Hint: "write it as 2026-12-31"}
	}
	return nil
}
