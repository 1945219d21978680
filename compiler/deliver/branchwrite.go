package deliver

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// Export writes the clusters whose turn it is to the branch, in one commit. When the branch
// moves, it decides again, so that two exports at once do not skip a wave. source is the
// commit of the fleet.
func (r *BranchRollout) Export(ctx context.Context, source string) error {
	r.Summary = export.Join() // without clusters
	results, err := r.options.Remote.Push(ctx, r.options.Check, r.update(func(ctx context.Context, dir, base string) (export.BranchChange, error) {
		tree := r.tree(dir)
		session, err := tree.Begin(ctx)
		if err != nil {
			return export.BranchChange{}, err
		}
		chosen := map[string]bool{}
		if err = r.read(ctx, tree, session, base); err == nil {
			chosen, err = r.choose(ctx)
		}
		session.Keep(func(id string) bool { return chosen[id] })
		if err == nil {
			r.holdRemovals(session, r.whyHeld(chosen))
			r.Summary, err = session.Commit()
		}
		digests := map[string]string{}
		for id := range chosen {
			digests[id] = r.followers[id].target
		}
		return ExportCommit(r.Summary, digests, source, r.options.Version), errors.Join(err, session.Close())
	}))
	if err == nil {
		r.Pushed = results[0]
		r.writtenNow(r.Summary)
	}
	return err
}

// choose returns the clusters that get their targets now, which are syncing from then on.
func (r *BranchRollout) choose(ctx context.Context) (map[string]bool, error) {
	chosen := map[string]bool{}
	r.unchecked = map[string][]Wait{}
	for i, w := range r.Waves {
		var waiting []*WaveCluster
		syncing := 0
		for _, c := range w.Clusters {
			changes := r.followers[c.ID].result.Changes()
			switch {
			case c.State == TargetSyncing, c.IsLost() && changes == 0: // a lost cluster may be syncing
				syncing++
			case c.Frozen == nil && changes > 0:
				waiting = append(waiting, c)
			}
		}
		if len(waiting) == 0 || len(r.Waits(i, r.options.now(), nil)) > 0 {
			continue
		}
		if waits := r.verify(ctx, i); len(waits) > 0 {
			r.unchecked[w.Name] = waits
			break
		}
		free := max(w.AtATime(len(w.Clusters))-syncing, 0)
		for _, c := range waiting[:min(free, len(waiting))] {
			chosen[c.ID] = true
			if !c.IsLost() {
				c.State = TargetSyncing
			}
		}
	}
	return chosen, ctx.Err()
}

// holdRemovals drops the staged removals if there is a reason.
func (r *BranchRollout) holdRemovals(session *export.Session, reason string) {
	r.held = nil
	if reason == "" {
		return
	}
	for _, id := range session.HoldRemovals() {
		r.held = append(r.held, Removal{Cluster: id, Reason: reason})
	}
}

// whyHeld returns why no directory of a cluster is removed now; empty if they are. The
// fleet no longer says in which wave a removed cluster was, and a new cluster may be the same
// one under another name.
func (r *BranchRollout) whyHeld(chosen map[string]bool) string {
	for _, f := range r.order.Freezes {
		if day := r.options.day(); f.From <= day && day <= f.To {
			return frozenWait(&f).Text
		}
	}
	for _, w := range r.Waves {
		switch abort := w.Record.Abort; {
		case w.Record.Pause != nil:
			return "wave " + w.Name + " is paused"
		case abort != nil && w.isForDigest(abort):
			return "the change is aborted in wave " + w.Name
		}
	}
	for _, w := range r.Waves {
		for _, c := range w.Clusters {
			if r.followers[c.ID].result.Before == "" && !chosen[c.ID] {
				return "the new cluster " + c.ID + " is not written yet"
			}
		}
	}
	return ""
}

// verify runs the checks of the waves before the one with the index, each once in a run of
// the process. It returns what the wave waits for.
func (r *BranchRollout) verify(ctx context.Context, i int) []Wait {
	if r.options.Check {
		return nil
	}
	for _, w := range r.Waves[:i] {
		key := w.Name + " " + w.Digest()
		if r.passed[key] {
			continue
		}
		if waits := verifyWave(ctx, r.Fleet, r.options.Actions, w, func(c *fleet.Cluster) Server { return r.jobServer(ctx, c) }); len(waits) > 0 {
			return waits
		}
		r.passed[key] = true
	}
	return nil
}

// jobServer returns the connection to a cluster for the Job of a check.
func (r *BranchRollout) jobServer(ctx context.Context, c *fleet.Cluster) Server {
	switch {
	case r.options.Reports != nil:
		return Server{Err: &diag.Diag{Code: diag.CodeActionInvalid, Msg: "its Job needs a connection to " + c.ID + ", and with --reports there is none", Hint: "use http, exec or prometheus"}}
	case c.KubeContext == "":
		return Server{Err: noContext(c)}
	}
	return connectTo(ctx, c, r.options.Access)
}

// Outcome returns the faults of clusters that have failed, and of checks. wait reports
// whether, without faults, a cluster does not run its bundle yet.
func (r *BranchRollout) Outcome() (wait bool, err error) {
	var faults diag.List
	for _, w := range r.Waves {
		for _, c := range w.Clusters {
			f := r.followers[c.ID]
			switch {
			case c.State == TargetUnhealthy:
				faults.Add(&diag.Diag{
					Code: diag.CodeNotReady, Clusters: []string{c.ID},
					Msg:  "the cluster has the bundle, but is not healthy: " + strings.Join(f.verdict.Texts, "; "),
					Hint: "correct the change or the cluster, and export again; see fleetc rollout status" + r.Flags(),
				})
			case c.IsLost():
				faults.Add(diag.In(c.ID, f.err))
			}
			wait = wait || c.State != TargetDone
		}
		for _, wait := range r.unchecked[w.Name] {
			faults.Add(wait.Fault)
		}
	}
	return wait || len(r.held) > 0, faults.Err()
}

// Report returns the state of the waves for users. The error has the faults of clusters that
// cannot be read.
func (r *BranchRollout) Report() (RolloutReport, error) {
	var faults diag.List
	report := r.RolloutState.Report(r.options.now(), func(c *WaveCluster) WaveClusterReport {
		f := r.followers[c.ID]
		line := WaveClusterReport{Running: f.result.Before, Commit: f.commit, Since: f.changed, Unhealthy: append([]string{}, f.verdict.Texts...), Faults: []string{}}
		if c.IsLost() {
			faults.Add(diag.In(c.ID, f.err))
			line.Faults = diag.Texts(f.err)
		}
		return line
	})
	report.Removals = r.held
	report.Complete = report.Complete && len(r.held) == 0
	for i := range report.Waves {
		w := &report.Waves[i]
		if waits := r.unchecked[w.Name]; len(waits) > 0 {
			w.State, w.Waits = WaveWaiting, append(w.Waits, waits...)
		}
	}
	return report, faults.Err()
}

// writtenNow describes the clusters that the last export wrote: they have the commit of the
// push.
func (r *BranchRollout) writtenNow(sum export.Summary) {
	for _, c := range sum.Clusters {
		if f := r.followers[c.Cluster]; f != nil && c.Changes() > 0 {
			f.result.Before, f.commit, f.changed = f.target, r.Pushed.Commit, time.Time{}
			f.verdict.Texts = nil
		}
	}
}
