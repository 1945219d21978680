package query

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query/diff"
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
// not the right one, or has objects that the user is not allowed to read, the error is returned
// beside the result for the rest.
func DiffLive(ctx context.Context, c *compiler.Compiler, req LiveRequest) (*diff.Result, error) {
	f, err := c.Load(ctx, req.Clusters...)
	if err != nil {
		return nil, err
	}
	if err := deliver.CheckContexts(f.Clusters, nil); err != nil {
		return nil, err
	}
	all := deliver.ConnectAll(ctx, f.Clusters, req.Access, true)
	all.Keep(f)
	d := &liveDiffer{LiveRequest: req, Fleet: f, servers: all, releases: map[string]bool{}, secrets: deliver.NewSecretResolver(f.Fleet, req.AllowExec), simulated: map[string]*diff.Prediction{}}
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
		return nil, &diag.Diag{Code: diag.CodeNoMatch, Msg: "no cluster has a release " + req.Release, Hint: fleet.ReleaseHint(req.Release, slices.Sorted(maps.Keys(d.releases)))}
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
	secrets   *deliver.SecretResolver
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
		t.Bundle, t.Secrets, err = d.secrets.Values(ctx, b, deliver.NewSecretReader(s))
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
	out.changes, out.ignored = deliver.LiveChanges(out.compared, d.Key, c.IgnoreRules())
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
		d.Faults.Add(diag.In(c.ID, apply.UnreadFault(unknown[why], why, "docs/diff.md")))
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
