package deliver

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// ClusterState compares the bundle that a cluster runs with the bundle of the fleet.
type ClusterState string

// The states of clusters.
const (
	UpToDate     ClusterState = "up to date"
	Behind       ClusterState = "behind"        // it runs another bundle than the fleet's
	Applied      ClusterState = "applied"       // it runs a complete bundle, which was not compared
	Destroyed    ClusterState = "destroyed"     // all objects that fleetc applied are deleted, except retained ones
	Unfinished   ClusterState = "unfinished"    // the last apply failed or was partial
	NeverApplied ClusterState = "never applied" // fleetc never applied to it
	Unreachable  ClusterState = "unreachable"
	Forbidden    ClusterState = "forbidden" // the user has no right to read its inventory, or kube-system
	Unknown      ClusterState = "unknown"   // its files do not evaluate, it has no context, or its inventory could not be read
	Refused      ClusterState = "refused"   // it is not the right cluster, or its inventory is invalid
)

// Status is the bundle that a cluster runs, compared with the fleet. Its JSON field names
// are stable.
type Status struct {
	*ClusterRecord `json:"-"`
	ID             string                  `json:"id"`
	State          ClusterState            `json:"state"`
	Running        *apply.RevisionReport   `json:"running"`            // the revision of the record; nil when there is none
	Compiled       string                  `json:"compiled,omitempty"` // digest of the fleet's bundle; empty if it was not compiled
	Holder         string                  `json:"applying,omitempty"` // holder of the lease of a running apply; empty when there is none
	Unhealthy      []apply.UnhealthyObject `json:"unhealthy"`          // objects that are not ready; nil without the option Health, or if the objects cannot be read
	Orphans        []string                `json:"orphans"`            // IDs of objects, sorted; nil without the option Orphans, or if the cluster cannot be read
	Unread         []string                `json:"unread,omitempty"`   // kinds that could not be listed for orphans, sorted
	Faults         []string                `json:"faults"`             // of Err and Compile

	Compile     error     `json:"-"` // why the cluster does not compile
	HooksDiffer bool      `json:"-"` // whether an apply would store other deletion hooks
	ReadySince  time.Time `json:"-"` // when the last object became ready, with the option Health; zero if unknown
}

// StatusOptions select the parts of a status.
type StatusOptions struct {
	ApplyOptions
	NoCompile bool // do not compare with the fleet's bundle
	Health    bool // read every object
	Orphans   bool // find objects that are in no inventory
}

// ReadStatus reads the inventories of the clusters that the patterns select, compiles the
// clusters and compares the two, in the order of IDs. The error has the faults of the
// fleet; the status of evaluated clusters is returned beside it.
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
	faults := unreadableClusters(e)
	if !o.NoCompile {
		f, faults = c.LoadEvaluated(ctx, e)
		all := Servers{}
		for _, r := range records {
			all[r.Cluster.ID] = func() Server { return r.server }
		}
		all.Keep(f)
	}
	out := make([]*Status, len(records))
	err = par.ForEach(ctx, c.Parallel(), len(records), func(ctx context.Context, i int) error {
		s := &Status{ClusterRecord: records[i], ID: records[i].Cluster.ID}
		if f != nil && s.Err == nil {
			s.compile(ctx, f, faults)
		}
		s.setState()
		s.readLive(ctx, o, e.Module)
		s.describe(o)
		out[i] = s
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	var all diag.List
	all.Add(faults)
	for _, s := range out {
		if fleet.FaultsOf(s.Cluster.ID, faults) == nil {
			all.Add(s.Compile)
		}
	}
	return out, all.Err()
}

// compile compiles the cluster, unless the fleet has faults for it.
func (s *Status) compile(ctx context.Context, f *compiler.Fleet, faults error) {
	if s.Compile = fleet.FaultsOf(s.Cluster.ID, faults); s.Compile != nil {
		return
	}
	b, err := f.Compile(ctx, s.Cluster)
	if err != nil {
		s.Compile = diag.In(s.Cluster.ID, err)
		return
	}
	s.compareWith(b)
}

// compareWith sets the fields that compare the inventory with a bundle of the fleet.
func (s *Status) compareWith(b *fleet.Bundle) {
	s.Compiled = b.Digest
	s.HooksDiffer = s.Inventory != nil && s.Inventory.HooksDiffer(b)
}

// readLive reads the parts of the status that are not in the inventory.
func (s *Status) readLive(ctx context.Context, o StatusOptions, module string) {
	if s.Err != nil {
		return
	}
	var err error
	if s.Holder, err = apply.Holder(ctx, s.server.Live); err == nil && o.Health && s.Inventory != nil {
		var h apply.Health
		h, err = s.Inventory.ObjectHealth(ctx, s.server.Live, s.Cluster)
		s.Unhealthy, s.ReadySince = h.Unhealthy, h.ReadySince
		if err == nil && s.Unhealthy == nil {
			s.Unhealthy = []apply.UnhealthyObject{}
		}
	}
	if err == nil && o.Orphans {
		var found []apply.LabelledObject
		if found, s.Unread, err = apply.FindOrphans(ctx, s.server.Live, module, s.Cluster.ID, s.Inventory); err == nil {
			s.Orphans = []string{}
			for _, o := range found {
				if o.Owner == "" {
					s.Orphans = append(s.Orphans, o.ID)
				}
			}
			err = unlistedKinds(s.Unread)
		}
	}
	s.Err = diag.In(s.Cluster.ID, err)
}

// unlistedKinds returns a fault for kinds that could not be listed for orphans.
func unlistedKinds(kinds []string) error {
	if len(kinds) == 0 {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeRights,
		Msg:  diag.Count(len(kinds), "kind", "kinds") + " cannot be listed and may have orphans: " + strings.Join(kinds, ", "),
		Hint: "ask for the right to list them; for API versions, check that their API server answers",
	}
}

// describe completes the fields that only users read.
func (s *Status) describe(o StatusOptions) {
	if v := s.Revision(); v != nil {
		running := v.Report(s.Inventory.Current() != nil)
		s.Running = &running
	}
	if o.Health && s.Err == nil {
		s.Unhealthy = append([]apply.UnhealthyObject{}, s.Unhealthy...)
	}
	s.Faults = append(diag.Texts(s.Err), diag.Texts(s.Compile)...)
}

// setState sets the state from the inventory and the compiled digest.
func (s *Status) setState() {
	switch {
	case !s.Reached && s.server.Err == nil:
		s.State = Unknown
	case hasCode(s.Err, diag.CodeRights):
		s.State = Forbidden
	case !s.Reached:
		s.State = Unreachable
	case isRefusal(s.Err):
		s.State = Refused
	case s.Err != nil:
		s.State = Unknown
	case s.Inventory == nil:
		s.State = NeverApplied
	case s.Inventory.Destroyed():
		s.State = Destroyed
	case s.Inventory.Bundle == "":
		s.State = Unfinished
	case s.Compiled == "":
		s.State = Applied
	case s.Compiled == s.Inventory.Bundle && !s.HooksDiffer:
		s.State = UpToDate
	default:
		s.State = Behind
	}
}

// isRefusal reports whether a fault says that this is not the right cluster, or that its
// inventory is invalid. With others, nothing is known of the inventory.
func isRefusal(err error) bool {
	return hasCode(err, diag.CodeOtherCluster, diag.CodeSameCluster, diag.CodeDamagedRecord, diag.CodeOtherVersion)
}

// hasCode reports whether one of the faults in an error has one of the codes.
func hasCode(err error, codes ...diag.Code) bool {
	return slices.ContainsFunc(diag.All(err), func(d *diag.Diag) bool { return slices.Contains(codes, d.Code) })
}
