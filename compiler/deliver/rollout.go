package deliver

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// RolloutOptions are the options of applies that go wave by wave.
type RolloutOptions struct {
	Wave      string           // only the clusters of this wave; all when empty
	Unordered bool             // do not go wave by wave; only freezes hold
	Day       string           // today, as in 2026-12-31; the day of Now in UTC when empty
	Now       func() time.Time // time.Now when nil
}

func (o RolloutOptions) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// mark sets the mark of a decision that a user makes now, and keeps one with the same bundle
// and reason.
func (o RolloutOptions) mark(at **WaveMark, by, digest, reason string) {
	if *at == nil || (*at).Bundle != digest || (*at).Reason != reason {
		*at = &WaveMark{Bundle: digest, By: by, Time: o.now().UTC().Truncate(time.Second), Reason: reason}
	}
}

func (o RolloutOptions) day() string { return cmp.Or(o.Day, o.now().UTC().Format(time.DateOnly)) }

// Rollout is the state of the waves up to the last one with a selected cluster.
type Rollout struct {
	*RolloutState
	Fleet    *compiler.Fleet
	Statuses map[string]*Status // by cluster ID

	ids      []string                         // of all clusters of the fleet; none with --no-rollout
	records  map[string]map[string]WaveRecord // by cluster ID and wave
	selected map[string]bool                  // by cluster ID
	options  ApplyOptions
	servers  Servers
	same     map[string]error         // faults of contexts that lead to the same cluster, by cluster ID
	targets  map[string]*fleet.Bundle // bundles with deletion hooks only, by cluster ID
	failed   map[string]bool          // clusters that failed in this run, by ID
	verified int                      // number of waves whose checks have passed in this run
}

// LoadRollout loads the clusters that the patterns select, and those of earlier waves. The
// Rollout is nil if the fleet has none.
func LoadRollout(ctx context.Context, c *compiler.Compiler, o ApplyOptions, patterns ...string) (*compiler.Fleet, *Rollout, error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil || e.Faults != nil {
		f, err := c.LoadEvaluated(ctx, e)
		return f, nil, err
	}
	order := rolloutOf(e.Clusters)
	if order == nil {
		if o.Wave != "" || o.Unordered {
			return nil, nil, noRollout()
		}
		f, err := c.LoadEvaluated(ctx, e)
		return f, nil, err
	}
	if !o.Unordered && len(o.Stages)+len(o.Releases) > 0 {
		return nil, nil, &diag.Diag{
			Code: diag.CodeFlagCombination,
			Msg:  "the waves of the rollout apply whole bundles, but --stage and --release select a part",
			Hint: "leave them out, or pass --no-rollout",
		}
	}
	r := &Rollout{RolloutState: &RolloutState{Fleet: e.Module, order: order}, options: o, records: map[string]map[string]WaveRecord{}, selected: map[string]bool{}, failed: map[string]bool{}}
	last, err := r.selectClusters(e.Clusters)
	if err != nil {
		return nil, nil, err
	}
	if r.Fleet, err = r.load(ctx, c, e, len(patterns) == 0, last); err != nil {
		return nil, nil, err
	}
	for i, clusters := range order.Clusters(r.Fleet.Clusters) {
		if i > last {
			break
		}
		w := &Wave{Wave: &order.Waves[i]}
		for _, c := range clusters {
			w.Clusters = append(w.Clusters, &WaveCluster{Cluster: c, Frozen: order.FrozenBy(c, o.day())})
		}
		r.Waves = append(r.Waves, w)
	}
	return r.Fleet, r, nil
}

// rolloutOf returns the rollout of a fleet, nil if it has none.
func rolloutOf(clusters []*fleet.Cluster) *fleet.Rollout {
	if len(clusters) == 0 {
		return nil
	}
	return clusters[0].Rollout
}

// noRollout returns the fault of a fleet without waves.
func noRollout() error {
	return &diag.Diag{Code: diag.CodeNoRollout, Msg: "the fleet has no rollout", Hint: "write its waves in environments/rollout.cue: rollout: schema.#Rollout & {waves: [...]}"}
}

// selectClusters selects the clusters that are in the wave of the options, and returns the
// index of the last wave with one of them.
func (r *Rollout) selectClusters(clusters []*fleet.Cluster) (last int, err error) {
	wave := r.options.Wave
	if names := r.order.WaveNames(); wave != "" && !slices.Contains(names, wave) {
		return 0, noWave(r.order, wave)
	}
	for i, clusters := range r.order.Clusters(clusters) {
		if wave != "" && r.order.Waves[i].Name != wave {
			continue
		}
		for _, c := range clusters {
			r.selected[c.ID], last = true, i
		}
	}
	if len(r.selected) == 0 {
		return 0, &diag.Diag{Code: diag.CodeNoMatch, Msg: "wave " + wave + " has none of the named clusters", Hint: "name none to select all clusters of the wave"}
	}
	return last, nil
}

// load loads the selected clusters and all clusters of the waves up to the last one. e has
// the clusters that the patterns select; all says that these are all clusters.
func (r *Rollout) load(ctx context.Context, c *compiler.Compiler, e compiler.Evaluation, all bool, last int) (*compiler.Fleet, error) {
	var ids []string
	if r.options.Unordered {
		for id := range r.selected {
			ids = append(ids, id)
		}
	} else {
		whole := e
		if !all {
			whole = c.Evaluate(ctx, nil)
			if err := unreadableClusters(whole); err != nil {
				return nil, err // of clusters that may be in an earlier wave
			}
		}
		r.ids = fleet.IDs(whole.All().Clusters)
		for _, clusters := range r.order.Clusters(whole.All().Clusters)[:last+1] {
			ids = append(ids, fleet.IDs(clusters)...)
		}
	}
	slices.Sort(ids)
	if slices.Equal(ids, slices.Sorted(slices.Values(fleet.IDs(e.Clusters)))) {
		return c.LoadEvaluated(ctx, e)
	}
	return c.Load(ctx, ids...)
}

// Read connects to the clusters, compiles them, and reads the state of all waves.
func (r *Rollout) Read(ctx context.Context) error {
	if err := cmp.Or(CheckContexts(r.Fleet.Clusters, nil), checkApproved(r.Fleet.Clusters, r.options.Actions.Approved)); err != nil {
		return err
	}
	r.servers = connectClusters(ctx, r.Fleet.Clusters, r.options.Access, false)
	r.servers.Keep(r.Fleet)
	r.targets, r.Statuses = map[string]*fleet.Bundle{}, map[string]*Status{}
	var faults diag.List
	compiled := par.Map(ctx, r.Fleet.Parallel, len(r.Fleet.Clusters), func(ctx context.Context, i int) (*fleet.Bundle, error) {
		b, err := r.Fleet.Compile(ctx, r.Fleet.Clusters[i])
		if err != nil {
			return nil, diag.In(r.Fleet.Clusters[i].ID, err)
		}
		r.Fleet.NoteRules(b)
		return apply.OnlyDeletionHooks(b), nil
	})
	i := 0
	for target, err := range compiled {
		faults.Add(err)
		r.targets[r.Fleet.Clusters[i].ID] = target
		i++
	}
	if err := cmp.Or(ctx.Err(), faults.Err()); err != nil {
		return err
	}
	r.same = sameClusters(r.Fleet.Clusters, r.servers)
	return r.read(ctx, len(r.Waves))
}

// read reads the state and the records of the first n waves.
func (r *Rollout) read(ctx context.Context, n int) error {
	clusters := slices.Concat(diag.Each(r.Waves[:n], func(w *Wave) []*WaveCluster { return w.Clusters })...)
	statuses, storeRecords := make([]*Status, len(clusters)), make([]func(), len(clusters))
	if err := par.ForEach(ctx, readAtATime, len(clusters), func(ctx context.Context, i int) error {
		statuses[i], storeRecords[i] = r.status(ctx, clusters[i].Cluster), r.readRecordsIn(ctx, clusters[i].ID)
		return ctx.Err()
	}); err != nil {
		return err
	}
	for i, s := range statuses {
		r.Statuses[s.Cluster.ID] = s
		r.setState(clusters[i], s)
		storeRecords[i]()
	}
	for _, w := range r.Waves[:n] {
		w.Record = r.recordOf(w)
	}
	return nil
}

// status reads what a cluster runs and, if it runs its target, the health of its objects.
func (r *Rollout) status(ctx context.Context, c *fleet.Cluster) *Status {
	s := r.readStatus(ctx, c)
	if s.State == Unfinished && s.Holder == "" {
		s = r.readStatus(ctx, c) // a running apply may have ended in between
	}
	return s
}

func (r *Rollout) readStatus(ctx context.Context, c *fleet.Cluster) *Status {
	record := readRecord(ctx, c, r.servers.Of(c.ID), r.RolloutState.Fleet, r.same[c.ID])
	s := &Status{ClusterRecord: record, ID: c.ID}
	s.compareWith(r.targets[c.ID])
	s.setState()
	s.readLive(ctx, StatusOptions{Health: s.State == UpToDate}, r.RolloutState.Fleet)
	return s
}

// setState sets the state of a cluster from its status.
func (r *Rollout) setState(c *WaveCluster, s *Status) {
	c.Target, c.Hooks, c.Since, c.Applying = s.Compiled, apply.DeletionHooksDigest(r.targets[c.ID]), time.Time{}, s.Holder != ""
	switch {
	case s.State == Forbidden:
		c.State = TargetForbidden
	case !s.Reached:
		c.State = TargetUnreachable
	case s.Err != nil:
		c.State = TargetFailed
	case s.State == UpToDate && len(s.Unhealthy) > 0:
		c.State = TargetUnhealthy
	case s.State == UpToDate:
		c.State = TargetDone
		if v := s.Inventory.Current(); v != nil {
			c.Since = v.LastApply().Time
		}
		if s.ReadySince.After(c.Since) {
			c.Since = s.ReadySince
		}
	case s.State == Unfinished:
		c.State = TargetUnfinished
	case s.State == Behind:
		c.State = TargetBehind
	default:
		c.State = TargetNeverApplied
	}
	if r.failed[c.ID] && c.State != TargetDone {
		c.State = TargetFailed
	}
	if (c.State == TargetNeverApplied || !s.Reached) && keepsRandom(c.Cluster) {
		c.Target = "new" // its bundle has new random values in each run
	}
}

// keepsRandom reports whether the bundle of the cluster has values that its first apply
// creates.
func keepsRandom(c *fleet.Cluster) bool {
	return slices.ContainsFunc(c.Releases, (*fleet.Release).Keeps)
}
