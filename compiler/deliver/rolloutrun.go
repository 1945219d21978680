package deliver

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// waits returns what a wave waits for, beside freezes of clusters.
func (r *Rollout) waits(i int, assume func(*WaveCluster) bool) []Wait {
	if r.options.Unordered {
		return nil
	}
	return r.Waits(i, r.options.now(), assume)
}

// turns returns what each selected cluster waits for, if all clusters that wait for nothing
// get their target in this run.
func (r *Rollout) turns() map[string][]Wait {
	turns, applied := map[string][]Wait{}, map[string]bool{}
	for i, w := range r.Waves {
		waits := r.waits(i, func(c *WaveCluster) bool { return applied[c.ID] })
		for _, c := range w.Clusters {
			if !r.selected[c.ID] {
				continue
			}
			mine := c.WaitsOf(waits)
			turns[c.ID] = mine
			applied[c.ID] = len(mine) == 0 && !c.IsLost()
		}
	}
	return turns
}

// retriesFirst returns clusters with those first that are tried again.
func retriesFirst(clusters []*WaveCluster) []*WaveCluster {
	others := diag.Filter(clusters, func(c *WaveCluster) bool { return !c.isRetry() })
	return append(diag.Filter(clusters, (*WaveCluster).isRetry), others...)
}

// Plans plans the selected clusters as [Plans] does, in the order of waves, and yields those
// that get no change now after them, without plans. With preview, it plans all.
func (r *Rollout) Plans(ctx context.Context, preview bool, key []byte) iter.Seq2[*ClusterPlan, error] {
	turns, planned := r.turns(), map[string]*ClusterPlan{}
	var now []*fleet.Cluster
	var later []*ClusterPlan
	for _, w := range r.Waves {
		for _, c := range retriesFirst(w.Clusters) {
			if !r.selected[c.ID] {
				continue
			}
			p := &ClusterPlan{Cluster: c.Cluster, Reached: true, Wave: w.Name, Runs: !c.HasWork() && !c.isRetry()}
			if !p.Runs {
				p.Waits = turns[c.ID]
			}
			if preview || len(turns[c.ID]) == 0 {
				now, planned[c.ID] = append(now, c.Cluster), p
			} else {
				later = append(later, p)
			}
		}
	}
	return func(yield func(*ClusterPlan, error) bool) {
		for p, err := range plansOn(ctx, r.Fleet, now, r.servers, r.options, key) {
			if p != nil {
				p.Wave, p.Waits = planned[p.Cluster.ID].Wave, planned[p.Cluster.ID].Waits
			}
			if !yield(p, err) {
				return
			}
		}
		for _, p := range later {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// Run applies plans as [Run] does, wave by wave: it reads the state of earlier waves again
// before each wave. The plans are in the order of waves. failed are the IDs of clusters that
// could not be planned. A cluster that gets no change now has a [WaitError].
func (r *Rollout) Run(ctx context.Context, plans []*ClusterPlan, failed []string, parallel int, exact bool, report func(apply.Event)) iter.Seq2[apply.Result, error] {
	for _, id := range failed {
		r.failed[id] = true
	}
	if r.options.Unordered {
		return Run(ctx, plans, parallel, exact, report)
	}
	return func(yield func(apply.Result, error) bool) {
		for i, w := range r.Waves {
			n, retries := 0, 0
			for n < len(plans) && plans[n].Wave == w.Name {
				n++
			}
			// Clusters that are tried again come first: the others follow only if these do
			// not fail again.
			for retries < n && r.isRetry(i, plans[retries].Cluster.ID) {
				retries++
			}
			if !r.runPart(ctx, i, plans[:retries], true, parallel, exact, report, yield) || !r.runPart(ctx, i, plans[retries:n], false, parallel, exact, report, yield) {
				return
			}
			plans = plans[n:]
		}
	}
}

// isRetry is [WaveCluster.isRetry] of a cluster in a wave.
func (r *Rollout) isRetry(i int, id string) bool {
	return slices.ContainsFunc(r.Waves[i].Clusters, func(c *WaveCluster) bool { return c.ID == id && c.isRetry() })
}

// runPart applies plans of a wave, unless they wait, and yields the results. It returns false
// if yield did. retry says that the plans are for clusters that are tried again.
func (r *Rollout) runPart(ctx context.Context, i int, plans []*ClusterPlan, retry bool, parallel int, exact bool, report func(apply.Event), yield func(apply.Result, error) bool) bool {
	if len(plans) == 0 {
		return true
	}
	w := r.Waves[i]
	err := r.read(ctx, i+1)
	waits := slices.DeleteFunc(r.waits(i, nil), func(w Wait) bool { return w.Reason == ForCluster })
	if stopped := w.Stopped(false); stopped != nil && !retry {
		waits = append(waits, *stopped)
	}
	if err == nil && len(waits) == 0 {
		waits = r.verify(ctx, i)
	}
	if err == nil && len(waits) > 0 {
		err = &WaitError{Waits: waits}
	}
	if err != nil {
		for range plans {
			if !yield(apply.Result{}, err) {
				return false
			}
		}
		return true
	}
	guard := &waveGuard{rollout: r, wave: w, left: max(w.MaxFailures-len(w.Failures(retry)), 0)}
	for result, err := range runGuarded(ctx, plans, min(parallel, w.AtATime(len(w.Clusters))), exact, report, guard) {
		if !yield(result, err) {
			return false
		}
	}
	return true
}

// waveGuard decides whether the next cluster of a running wave is started. It is safe for
// concurrent use.
type waveGuard struct {
	rollout *Rollout
	wave    *Wave

	mu   sync.Mutex
	left int // clusters that may still fail; negative when too many have failed
}

// fail records that a cluster has failed.
func (g *waveGuard) fail(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left--
	g.rollout.failed[id] = true
}

// mayStart returns a [WaitError] if too many clusters have failed, the wave was
// paused or aborted since it began, or the cluster is frozen since then.
func (g *waveGuard) mayStart(ctx context.Context, c *fleet.Cluster) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.rollout.order.FrozenBy(c, g.rollout.options.day()); f != nil {
		return &WaitError{Waits: []Wait{frozenWait(f)}}
	}
	if g.left < 0 {
		return &WaitError{Waits: []Wait{{Reason: ForCluster, Text: "wave " + g.wave.Name + " has failed", IsFailure: true}}}
	}
	if first := g.wave.Clusters[0].ID; g.rollout.servers.Of(first).Err == nil {
		g.rollout.readRecordsIn(ctx, first)()
		g.wave.Record = g.rollout.recordOf(g.wave)
	}
	waits := slices.DeleteFunc(g.wave.OwnWaits(), func(w Wait) bool { return w.Reason == ForCluster })
	if len(waits) > 0 {
		return &WaitError{Waits: waits}
	}
	return ctx.Err()
}

// verify runs the checks of the waves before the one with the index, each once in a run of
// the process. It returns what the wave waits for.
func (r *Rollout) verify(ctx context.Context, i int) []Wait {
	for ; r.verified < i; r.verified++ {
		waits := verifyWave(ctx, r.Fleet, r.options.Actions, r.Waves[r.verified], func(c *fleet.Cluster) Server { return r.servers.Of(c.ID) })
		if len(waits) > 0 {
			return waits
		}
	}
	return nil
}

// verifyWave runs the checks of a wave. It returns what the next wave waits for. server
// returns the connection to a cluster, for Jobs.
func verifyWave(ctx context.Context, f *compiler.Fleet, o apply.ActionOptions, w *Wave, server func(*fleet.Cluster) Server) []Wait {
	for j := range w.Verify {
		if err := tryCheck(ctx, f, o, w, &w.Verify[j], server); err != nil {
			fault := *diag.All(err)[0]
			text := "wave " + w.Name + " is not verified: check " + w.Verify[j].Name + ": " + fault.Msg
			fault.Path, fault.Msg = "rollout", text
			return []Wait{{Reason: ForCheck, Text: text, Fault: &fault}}
		}
	}
	return nil
}

// tryCheck runs one check of a wave. Its Job runs in the first cluster of the wave.
func tryCheck(ctx context.Context, f *compiler.Fleet, o apply.ActionOptions, w *Wave, a *fleet.Action, server func(*fleet.Cluster) Server) error {
	if len(w.Clusters) == 0 {
		return nil
	}
	first, bundle := w.Clusters[0], w.Digest()
	o.Dir = f.Dir
	runner := apply.ActionRunner{
		ActionOptions: o, Cluster: first.Cluster, Bundle: bundle,
		Hide: kube.SecretHider(o.Secrets(a)),
		Job: func(ctx context.Context, a *fleet.Action, _ bool, timeout time.Duration) error {
			s := server(first.Cluster)
			if s.Err != nil {
				return s.Err
			}
			return apply.CheckJob(ctx, s.Live, a, bundle, timeout)
		},
	}
	return runner.Try(ctx, a)
}
