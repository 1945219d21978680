package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/secrets"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// LiveRequest selects the running clusters to compare, and says how to connect to them.
type LiveRequest struct {
	DiffRequest // without Tree and Commit
	cluster.Access
	Strict    bool // whether an apply would revert changes made by hand, see [apply.Options]
	AllowExec bool // whether secrets may run commands
}

// DiffLive compares the live objects of clusters with the result of an apply. It writes
// nothing and needs only the right to read, see [apply.Target.Compare].
//
// If the fleet has faults, DiffLive returns only them. If a cluster is not reachable, is
// not the right one, or has objects that the user may not read, the error is returned
// beside the result for the rest.
func DiffLive(ctx context.Context, c *compiler.Compiler, req LiveRequest) (*diff.Result, error) {
	f, err := c.Load(ctx, req.Clusters...)
	if err != nil {
		return nil, err
	}
	if err := deliver.CheckContexts(f.Clusters); err != nil {
		return nil, err
	}
	all := deliver.ConnectAll(ctx, f, req.Access)
	for id := range all {
		s := all.Of(id)
		s.ReadOnly = true
		all[id] = func() deliver.Server { return s }
	}
	all.Keep(f)
	d := &liveDiffer{LiveRequest: req, Fleet: f, servers: all, releases: map[string]bool{}, secrets: secrets.NewResolver(f.Fleet, req.AllowExec), simulated: map[string]*diff.Prediction{}}
	compared := par.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) (liveClusterDiff, error) {
		return d.cluster(ctx, f.Clusters[i])
	})
	var faults diag.List
	i := 0
	for one, err := range compared {
		faults.Add(err)
		d.add(f.Clusters[i], one)
		i++
		if req.Each != nil {
			req.Each(len(f.Clusters))
		}
	}
	if err := cmp.Or(ctx.Err(), faults.Err()); err != nil {
		return nil, err
	}
	if req.Release != "" && !d.releases[req.Release] && len(d.missing) == 0 {
		return nil, &diag.Diag{Msg: "no cluster has a release " + req.Release, Hint: diag.OneOf(req.Release, slices.Sorted(maps.Keys(d.releases)))}
	}
	return d.result(), d.Faults.Err()
}

// liveDiffer compares running clusters with the fleet.
type liveDiffer struct {
	LiveRequest
	*compiler.Fleet

	servers   deliver.Servers
	groups    diff.Grouper
	missing   []string // IDs of clusters that are not compared
	releases  map[string]bool
	secrets   *secrets.Resolver
	simulated map[string]*diff.Prediction // objects without a dry run, by the reason
	Faults    diag.List                   // of clusters
}

// liveClusterDiff is the difference between one cluster and the fleet.
type liveClusterDiff struct {
	changes  []diff.Change
	ignored  []diff.Change
	compared *apply.Comparison
	err      error // why the cluster cannot be compared
}

// cluster compares one cluster. The error is about the fleet.
func (d *liveDiffer) cluster(ctx context.Context, c *fleet.Cluster) (liveClusterDiff, error) {
	var out liveClusterDiff
	s := d.servers.Of(c.ID)
	if out.err = s.Err; out.err != nil {
		return out, ctx.Err()
	}
	t := apply.Target{Fleet: d.Module, Charts: deliver.ChartsByHelm(d.Fleet, c), Live: s.Live, Options: apply.Options{Strict: d.Strict}}
	b, err := d.Compile(ctx, c)
	if err == nil {
		t.Bundle, t.Secrets, err = d.secrets.Values(ctx, b, deliver.SecretReader(s))
	}
	if _, ok := errors.AsType[*cluster.UnreadableError](err); ok {
		out.err = err
		return out, ctx.Err()
	}
	if err != nil {
		return out, diag.In(c.ID, err)
	}
	if d.Release != "" {
		t.Releases = []string{d.Release}
	}
	if out.compared, out.err = t.Compare(ctx); out.err != nil {
		return out, ctx.Err()
	}
	out.changes, out.ignored = liveChanges(out.compared, d.Key, c.IgnoreRules())
	for i := range out.compared.Objects {
		o := &out.compared.Objects[i]
		o.Before, o.After = nil, nil
	}
	return out, nil
}

// add adds the difference of a cluster to the result.
func (d *liveDiffer) add(c *fleet.Cluster, one liveClusterDiff) {
	if one.err != nil {
		d.missing = append(d.missing, c.ID)
		d.Faults.Add(diag.In(c.ID, one.err))
		return
	}
	if one.compared == nil {
		return // the fleet has a fault
	}
	d.groups.Add(c.ID, one.changes)
	d.groups.AddIgnored(c.ID, one.ignored)
	addReleases(d.releases, c)
	for _, r := range one.compared.Releases {
		d.releases[r] = true
	}
	unknown := map[string]int{}
	for _, o := range one.compared.Objects {
		if o.Finding == apply.Unknown {
			unknown[o.Why]++
		}
		if !o.Simulated {
			continue
		}
		p := d.simulated[o.SimulatedWhy]
		if p == nil {
			p = &diff.Prediction{Why: o.SimulatedWhy}
			d.simulated[o.SimulatedWhy] = p
		}
		if p.Objects++; !slices.Contains(p.Clusters, c.ID) {
			p.Clusters = append(p.Clusters, c.ID)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(unknown)) {
		what := "1 object is unknown"
		if n := unknown[why]; n > 1 {
			what = fmt.Sprintf("%d objects are unknown", n)
		}
		d.Faults.Add(diag.In(c.ID, &diag.Diag{Msg: what + ": " + why, Hint: "see docs/diff.md for the rights that fleetc needs"}))
	}
}

func (d *liveDiffer) result() *diff.Result {
	r := d.groups.Result()
	r.NotCompared = d.missing
	for _, why := range slices.Sorted(maps.Keys(d.simulated)) {
		r.Predicted = append(r.Predicted, *d.simulated[why])
	}
	return &r
}

// liveChanges returns the changes of objects, sorted as by [diff.Objects], and separately
// the changes that the rules ignore. A field in conflict is never ignored, because an apply
// would stop at it.
func liveChanges(compared *apply.Comparison, key []byte, rules []fleet.IgnoreRule) (out, ignored []diff.Change) {
	for _, o := range compared.Objects {
		r, hidden := &fleet.Release{Name: o.Release}, compared.SecretFields[o.ID]
		about := diff.Live{Reason: string(o.Finding), Why: o.Why, Predicted: o.Simulated}
		switch o.Finding {
		case apply.Same:
			continue
		case apply.Unknown:
			out = append(out, diff.Change{ID: o.ID, Action: diff.Unknown, Release: o.Release, Live: about})
			continue
		}
		changes, left := diff.ObjectsIgnoring(contentOf(o.Before, r, hidden), contentOf(o.After, r, hidden), key, rules)
		changes, left = withConflicts(changes, left, o.Fields)
		for _, c := range left {
			c.ID, c.Live = o.ID, about
			ignored = append(ignored, c)
		}
		if len(changes) == 0 && o.Finding == apply.InConflict {
			changes = []diff.Change{{ID: o.ID, Action: diff.Update, Release: o.Release}}
		}
		for _, c := range changes {
			c.ID, c.Live = o.ID, about
			setManagers(&c, o.Fields)
			out = append(out, c)
		}
	}
	diff.Sort(out)
	diff.Sort(ignored)
	return out, ignored
}

// withConflicts moves the fields in conflict from the ignored changes of an object to its
// changes. Each list has at most one change.
func withConflicts(changes, ignored []diff.Change, conflicts []cluster.Field) (out, left []diff.Change) {
	for _, c := range ignored {
		moved := diff.Change{ID: c.ID, Action: c.Action, Release: c.Release}
		inConflict := func(f diff.FieldChange) bool {
			return slices.ContainsFunc(conflicts, func(by cluster.Field) bool { return isConflict(f, by) })
		}
		for _, f := range c.Fields {
			if inConflict(f) {
				f.Ignored = diff.IgnoreReason{}
				moved.Fields = append(moved.Fields, f)
			}
		}
		if len(moved.Fields) == 0 {
			left = append(left, c)
			continue
		}
		if c.Fields = slices.DeleteFunc(c.Fields, inConflict); len(c.Fields) > 0 {
			left = append(left, c)
		}
		if len(changes) == 0 {
			changes = []diff.Change{moved}
			continue
		}
		changes[0].Fields = append(changes[0].Fields, moved.Fields...)
		slices.SortFunc(changes[0].Fields, func(f, g diff.FieldChange) int { return strings.Compare(f.Path, g.Path) })
	}
	return changes, left
}

// isConflict reports whether a field in conflict is the changed field, contains it, or is
// inside of it.
func isConflict(f diff.FieldChange, by cluster.Field) bool {
	at, path := plainPath(f.Path), plainPath(strings.TrimPrefix(by.Path, "."))
	return isWithin(at, path) || isWithin(path, at)
}

// contentOf returns the content of an object as one side of a comparison; nil for nil.
func contentOf(o *unstructured.Unstructured, r *fleet.Release, hidden [][]string) []fleet.Object {
	if o == nil {
		return nil
	}
	return []fleet.Object{{Unstructured: apply.Content(o), Release: r, SecretFields: hidden}}
}

// setManagers sets the managers of the fields in conflict. The fields in conflict without
// a change are listed in the reason for the object.
func setManagers(c *diff.Change, fields []cluster.Field) {
	var others []string
	for _, f := range fields {
		seen := false
		for i := range c.Fields {
			if isConflict(c.Fields[i], f) {
				c.Fields[i].Manager, seen = f.Manager, true
			}
		}
		if !seen {
			others = append(others, f.Manager+" has "+strings.TrimPrefix(f.Path, "."))
		}
	}
	if len(others) > 0 && c.Live.Why == "" {
		c.Live.Why = strings.Join(others, ", ")
	}
}

// plainPath returns the path of a field without the quotes, which an API server
// and fleetc set in different places.
func plainPath(path string) string { return strings.ReplaceAll(path, `"`, "") }

// isWithin reports whether a path is equal to another path or below it.
func isWithin(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
