package deliver

import (
	"context"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// A State is what a cluster runs, beside what it is to run.
type State string

// The states of clusters.
const (
	UpToDate     State = "up to date"
	Behind       State = "behind"        // it runs another bundle than the fleet compiles to
	Applied      State = "applied"       // it runs a whole bundle, which is compared with nothing
	Destroyed    State = "destroyed"     // all that fleetc applied is gone, except objects that were kept
	Unfinished   State = "unfinished"    // an apply did not end well, or was of a part
	NeverApplied State = "never applied" // by fleetc
	Unreachable  State = "unreachable"
	Refused      State = "refused" // it is another cluster, or what it has on record cannot be used
)

// A Status is what a cluster runs.
type Status struct {
	*Record
	State     State
	Revision  *apply.Revision         // that it runs or, when an apply is unfinished, ran last; nil when there is none
	Compiled  string                  // digest of the bundle that the fleet compiles to; empty when it is not known
	Compile   error                   // why it does not compile
	Holder    string                  // who applies to it at this moment; empty when nobody does
	Unhealthy []apply.UnhealthyObject // objects that are not ready, when they were asked for
	Orphans   *apply.Orphans          // objects that no inventory has; nil when they were not asked for, or there is Err
}

// StatusOptions say what is to be known of clusters.
type StatusOptions struct {
	ApplyOptions
	NoCompile bool // compare with nothing
	Health    bool // read every object
	Orphans   bool // find objects that no inventory has
}

// ReadStatus asks the clusters that the patterns select what they run, compiles them and
// compares the two, in the order of IDs. The error has the faults of the fleet; clusters
// that can be asked are returned beside it.
func ReadStatus(ctx context.Context, c *compiler.Compiler, o StatusOptions, patterns ...string) ([]*Status, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	records, err := records(ctx, e, o.ApplyOptions)
	if err != nil {
		return nil, err
	}
	var f *compiler.Fleet
	faults := unread(e)
	if !o.NoCompile {
		f, faults = c.LoadEvaluated(ctx, e)
		all := Servers{}
		for _, r := range records {
			all[r.Cluster.ID] = func() Server { return r.server }
		}
		all.Keep(f)
	}
	var out []*Status
	var all diag.List
	all.Add(faults)
	asked := ordered.Map(ctx, c.Parallel(), len(records), func(ctx context.Context, i int) (*Status, error) {
		s := &Status{Record: records[i]}
		if f != nil && s.Err == nil {
			s.compile(ctx, f, faults)
		}
		s.conclude()
		s.ask(ctx, o, e.Module)
		return s, ctx.Err()
	})
	for s, err := range asked {
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		if fleet.FaultsOf(s.Cluster.ID, faults) == nil {
			all.Add(s.Compile)
		}
	}
	return out, all.Err()
}

// compile compiles the cluster, if the fleet's faults let it.
func (s *Status) compile(ctx context.Context, f *compiler.Fleet, faults error) {
	if s.Compile = fleet.FaultsOf(s.Cluster.ID, faults); s.Compile != nil {
		return
	}
	b, err := f.Compile(ctx, s.Cluster)
	if err != nil {
		s.Compile = diag.In(s.Cluster.ID, err)
		return
	}
	s.Compiled = b.Digest
}

// ask asks the cluster what its record does not tell.
func (s *Status) ask(ctx context.Context, o StatusOptions, module string) {
	if s.Err != nil {
		return
	}
	var err error
	if s.Holder, err = apply.Holder(ctx, s.server.Live); err == nil && o.Health && s.Inventory != nil {
		s.Unhealthy, err = s.Inventory.UnhealthyObjects(ctx, s.server.Live, s.Cluster)
	}
	if err == nil && o.Orphans {
		s.Orphans, err = apply.FindOrphans(ctx, s.server.Live, module, s.Inventory)
	}
	s.Err = diag.In(s.Cluster.ID, err)
}

// conclude sets the state by the record.
func (s *Status) conclude() {
	if v := s.Inventory; v != nil {
		if s.Revision = v.Current(); s.Revision == nil && len(v.History) > 0 {
			s.Revision = &v.History[len(v.History)-1]
		}
	}
	switch {
	case !s.Reached:
		s.State = Unreachable
	case s.Err != nil:
		s.State = Refused
	case s.Inventory == nil:
		s.State = NeverApplied
	case s.Inventory.Destroyed():
		s.State = Destroyed
	case s.Inventory.Bundle == "":
		s.State = Unfinished
	case s.Compiled == "":
		s.State = Applied
	case s.Compiled == s.Inventory.Bundle:
		s.State = UpToDate
	default:
		s.State = Behind
	}
}
