package compiler

import (
	"context"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/source"
	"github.com/fleetc/fleetc/compiler/stage/validate"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// Fleet is a loaded fleet: its clusters without faults, their charts, and the state of
// rendering them.
type Fleet struct {
	*fleet.Fleet
	Charts    map[fleet.ChartRef]LoadedChart
	KnownCRDs map[string][]fleet.Object // CRDs that clusters have without a release, by cluster ID
	Parallel  int                       // clusters that are compiled at a time

	// Keep returns the source of values for fields that keep theirs. The fields stay as
	// they are rendered when it is nil or returns nil.
	Keep func(ctx context.Context, c *fleet.Cluster) render.Keeper

	keepsPlaceholders bool // whether Keep returns placeholders, which need not fit their fields

	// Last returns the objects of a cluster in the previous export, from which fields keep
	// their values. Nil without one.
	Last func(cluster string) ([]fleet.Object, error)

	// Exported returns the objects of a cluster in the previous export whose files are as
	// the export wrote them. Nil before the first export.
	Exported func(cluster string) ([]fleet.Object, error)

	// Results are the results of earlier runs. OnCacheLookup is called for each release
	// of a chart with whether its result was stored; it may be nil.
	Results       *cache.Store
	OnCacheLookup func(r *fleet.Release, hit bool)

	Rules sync.Map // the []fleet.RuleCheck of [Fleet.CheckRules], by cluster ID

	renderer
	checks
	renderLog
	blamer  origin.Blamer
	checked sync.Map // the valueCheck of each *fleet.Release with a chart
	bundles *objects.Assembler
}

// LoadedChart is a chart with the types of its values.
type LoadedChart struct {
	*fleet.Chart
	Types    *values.Type
	usedAPIs render.UsedAPIs
}

// renderer renders releases, and memoizes what clusters share.
type renderer struct {
	Templates *render.Charts
	jsonnet   *source.JsonnetRenderer
	remotes   *RemoteReader
	packages  []load.Package                        // of charts that Jsonnet may render by name
	read      par.ResultMemo[string, Kustomization] // kustomizations and manifests by kind and path
	crdDirs   par.Memo[*fleet.Chart, []string]      // API versions of the CRDs in the crds directories of charts
	groups    renderGroups
	Slots     chan struct{} // has an element for each chart that is being rendered
	unshared  bool          // whether clusters do not share results, for tests
}

// checks are the checks of objects.
type checks struct {
	Kinds    validate.Checker
	crds     validate.CRDChecker
	policies validate.PolicyChecker
	date     string // the current day for the ends of waivers; empty if they do not end
}

// renderLog records what the run rendered.
type renderLog struct {
	UsesClock sync.Map // IDs of clusters with a chart that read the clock
	changed   sync.Map // IDs of clusters with a release that was rendered or fetched
	unstored  sync.Map // *fleet.Release whose results are not stored
	takeNotes bool     // whether inputs of releases are recorded: the fleet is compiled as its files are
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
