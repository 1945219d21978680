package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A DriftRequest selects the clusters to check, and says how.
type DriftRequest struct {
	cluster.Access
	Clusters  []string      // patterns; all clusters when empty
	Release   string        // check only the objects of this release; all when empty
	Strict    bool          // whether changes by hand that an apply ignores count, see [apply.Options]
	AllowExec bool          // whether secrets may run commands
	Key       []byte        // for hashes of Secrets, see diff.Objects
	Today     string        // the day for the ends of rules, 2006-01-02; empty for the day of the check in UTC
	Timeout   time.Duration // for reading one cluster
	Each      func(of int)  // called after each cluster; may be nil

	// Done is called with each cluster as soon as it is checked, in any order and also by
	// several goroutines at a time. It may be nil.
	Done func(*DriftCluster)
}

// readAtATime is the number of clusters that are connected to or read at a time. It is more
// than the number of CPUs, since both are mostly waiting.
const readAtATime = 16

// CheckDrift checks the clusters that the request selects, each as soon as it is connected and
// compiled. The error says why nothing was checked; what went wrong with a cluster is in
// the report.
func CheckDrift(ctx context.Context, c *compiler.Compiler, req DriftRequest) (*DriftReport, error) {
	e := c.Evaluate(ctx, req.Clusters)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	f, faults := c.LoadEvaluated(ctx, e)
	all := e.All()
	if len(all.Clusters) == 0 && len(unevaluated(nil, faults)) == 0 && faults != nil {
		return nil, faults // of no cluster, such as a pattern that selects none
	}
	k := newChecker(ctx, f, all.Clusters, faults, req)
	report := newDriftReport()
	report.files = faults
	results := par.Map(ctx, len(all.Clusters), len(all.Clusters), func(ctx context.Context, i int) (*DriftCluster, error) {
		one, err := par.Recover(func() (*DriftCluster, error) { return k.check(ctx, all.Clusters[i]) })
		if err != nil && ctx.Err() == nil {
			one = newCluster(all.Clusters[i]) // a panic does not hide the other clusters
			one.fail(err)
			err = nil
		}
		k.done(one, err)
		return one, err
	})
	var checked []*DriftCluster
	for one, err := range results {
		if err != nil {
			return nil, err
		}
		checked = append(checked, one)
		if req.Each != nil {
			req.Each(len(all.Clusters))
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	same := sameClusters(all.Clusters, k.servers)
	for _, one := range checked {
		if err := same[one.ID]; err != nil {
			one.Findings, one.Ignored = []DriftFinding{}, []DriftFinding{}
			one.fail(err)
			k.done(one, nil)
		}
	}
	for _, one := range unevaluated(all.Clusters, faults) {
		k.done(one, nil)
		checked = append(checked, one)
	}
	slices.SortFunc(checked, func(a, b *DriftCluster) int { return cmp.Compare(a.ID, b.ID) })
	for _, one := range checked {
		report.Add(one)
	}
	err := k.checkRelease(report)
	if k.Release != "" {
		for _, one := range report.Clusters {
			one.Releases = slices.DeleteFunc(one.Releases, func(name string) bool { return name != k.Release })
		}
	}
	return report, err
}

// unevaluated returns the clusters of faults whose layers could not be evaluated.
func unevaluated(clusters []*fleet.Cluster, faults error) []*DriftCluster {
	var out []*DriftCluster
	seen := map[string]bool{}
	for _, c := range clusters {
		seen[c.ID] = true
	}
	for _, d := range diag.All(faults) {
		for _, id := range d.Clusters {
			if seen[id] {
				continue
			}
			seen[id] = true
			c := newCluster(&fleet.Cluster{ID: id})
			c.fail(fleet.FaultsOf(id, faults))
			out = append(out, c)
		}
	}
	return out
}

// A driftChecker checks the clusters of a fleet.
type driftChecker struct {
	DriftRequest
	*compiler.Fleet

	faults    error // of the fleet
	servers   Servers
	secrets   *SecretResolver
	compiling chan struct{} // slots
	reading   chan struct{} // slots
}

// newChecker returns a checker that connects to the clusters.
func newChecker(ctx context.Context, f *compiler.Fleet, clusters []*fleet.Cluster, faults error, req DriftRequest) *driftChecker {
	k := &driftChecker{
		DriftRequest: req, Fleet: f, secrets: NewSecretResolver(f.Fleet, req.AllowExec),
		compiling: make(chan struct{}, f.Parallel), reading: make(chan struct{}, readAtATime),
	}
	var all diag.List
	all.Add(faults)
	all.Add(CheckContexts(clusters, faults))
	k.faults = all.Err()
	valid := slices.DeleteFunc(slices.Clone(clusters), func(c *fleet.Cluster) bool { return fleet.FaultsOf(c.ID, k.faults) != nil })
	k.servers = connectClusters(ctx, valid, req.Access, true)
	k.servers.Keep(f)
	return k
}

// done reports a checked cluster.
func (k *driftChecker) done(c *DriftCluster, err error) {
	if k.Done != nil && err == nil {
		k.Done(c)
	}
}

// check checks one cluster. The error is that of the context.
func (k *driftChecker) check(ctx context.Context, c *fleet.Cluster) (*DriftCluster, error) {
	out := newCluster(c)
	if err := fleet.FaultsOf(c.ID, k.faults); err != nil {
		out.fail(err)
		return out, nil
	}
	s := k.servers.Of(c.ID)
	if s.Err != nil {
		out.fail(s.Err)
		return out, ctx.Err()
	}
	if err := acquire(ctx, k.reading); err != nil {
		return out, err
	}
	defer func() { <-k.reading }()
	defer s.Live.Close()
	out.Checked = true
	b, err := k.compile(ctx, c)
	if err != nil {
		out.fail(err)
		return out, ctx.Err()
	}
	out.Bundle = b.Digest
	out.fail(k.limit(ctx, func(ctx context.Context) error { return k.compare(ctx, c, s, b, out) }))
	out.sort()
	return out, ctx.Err()
}

// compile compiles a cluster. Random values are read from the cluster.
func (k *driftChecker) compile(ctx context.Context, c *fleet.Cluster) (b *fleet.Bundle, err error) {
	if err := acquire(ctx, k.compiling); err != nil {
		return nil, err
	}
	defer func() { <-k.compiling }()
	err = k.limit(ctx, func(ctx context.Context) (err error) {
		b, err = k.Compile(ctx, c)
		return err
	})
	return b, err
}

// limit calls f with the time limit of a check.
func (k *driftChecker) limit(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	err := f(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &diag.Diag{Code: diag.CodeNetwork, Msg: fmt.Sprintf("the check took longer than %s", k.Timeout), Hint: "see whether the API server is overloaded, or raise --check-timeout", Cause: err}
	}
	return err
}

// compare compares the live objects of a cluster with the bundle.
func (k *driftChecker) compare(ctx context.Context, c *fleet.Cluster, s Server, b *fleet.Bundle, out *DriftCluster) (err error) {
	t := apply.Target{Fleet: k.Module, Charts: ChartsByHelm(k.Fleet, c), Live: s.Live, Options: apply.Options{Strict: k.Strict}}
	if k.Release != "" {
		t.Releases = []string{k.Release}
	}
	if t.Bundle, t.Secrets, err = k.secrets.Values(ctx, b, NewSecretReader(s)); err != nil {
		return err
	}
	compared, err := t.Drift(ctx)
	if err != nil {
		return err
	}
	out.setRunning(compared, b.Digest)
	for _, r := range compared.Releases {
		if _, known := out.places[r]; !known {
			out.Releases = append(out.Releases, r)
		}
	}
	slices.Sort(out.Releases)
	var faults diag.List
	rules := c.DriftRules(cmp.Or(k.Today, time.Now().UTC().Format(time.DateOnly)))
	faults.Add(out.addFindings(compared, k.Key, rules))
	orphans, unlisted, err := t.OrphanedObjects(ctx, compared.Inventory)
	faults.Add(err)
	out.addOrphans(orphans, rules)
	out.Unlisted = append(out.Unlisted, unlisted...)
	return faults.Err()
}

// setRunning sets the bundle that the cluster runs. That of a cluster to which Flux or
// Argo CD apply is not known.
func (c *DriftCluster) setRunning(compared *apply.Comparison, digest string) {
	v := compared.Inventory
	if v == nil {
		c.Behind = !compared.ByGitOps
		return
	}
	c.applied = true
	c.Behind = v.Bundle != digest
	if r := v.Current(); r != nil {
		c.Running = &RunningBundle{Revision: r.Number, Bundle: r.Bundle, Commit: r.Commit}
	}
}

// checkRelease returns a fault for a release that no cluster has.
func (k *driftChecker) checkRelease(r *DriftReport) error {
	known := map[string]bool{}
	for _, c := range r.Clusters {
		for _, name := range c.Releases {
			known[name] = true
		}
	}
	if k.Release == "" || known[k.Release] || r.Summary.Unchecked > 0 {
		return nil
	}
	return &diag.Diag{Code: diag.CodeNoMatch, Msg: "no cluster has a release " + diag.Visible(k.Release, diag.MaxText), Hint: fleet.ReleaseHint(k.Release, slices.Sorted(maps.Keys(known)))}
}

// acquire waits for a slot.
func acquire(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
