package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// ReadRollout reads the state of all waves of a fleet.
func ReadRollout(ctx context.Context, c *compiler.Compiler, o ApplyOptions) (*Rollout, error) {
	_, r, err := LoadRollout(ctx, c, o)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, noRollout()
	}
	return r, r.Read(ctx)
}

// Report returns the state of the waves for users. The error has the faults of clusters that
// cannot be read.
func (r *Rollout) Report() (RolloutReport, error) {
	var faults diag.List
	report := r.RolloutState.Report(r.options.now(), func(c *WaveCluster) WaveClusterReport {
		s := r.Statuses[c.ID]
		err := diag.In(c.ID, s.Err)
		faults.Add(err)
		line := WaveClusterReport{Applying: s.Holder, Unhealthy: []string{}}
		if v := s.Revision(); v != nil {
			line.Revision, line.Commit, line.Dirty, line.Since = v.Number, v.Commit, v.Dirty, v.LastApply().Time
		}
		if s.Inventory != nil {
			line.Running = s.Inventory.Bundle
		}
		for _, u := range s.Unhealthy {
			line.Unhealthy = append(line.Unhealthy, u.String())
		}
		line.Faults = diag.Texts(err)
		return line
	})
	for _, w := range r.Waves {
		if w.RecordErr != nil && !w.Clusters[0].IsLost() {
			faults.Add(diag.In(w.Clusters[0].ID, w.RecordErr))
		}
	}
	return report, faults.Err()
}

// noWave returns the fault of a wave that does not exist.
func noWave(order *fleet.Rollout, name string) error {
	return &diag.Diag{Code: diag.CodeNoRollout, Msg: fmt.Sprintf("the rollout has no wave %q", diag.Visible(name, diag.MaxText)), Hint: diag.OneOf(name, order.WaveNames())}
}

// approvable returns the digest of a wave if it needs an approval, and the given digest is
// its own or the begin of it. hint says how to see the change.
func approvable(w *Wave, digest, hint string) (string, error) {
	if w.Approve == "" {
		return "", &diag.Diag{Code: diag.CodeWaveChange, At: []diag.Pos{w.Pos}, Msg: "wave " + w.Name + " needs no approval", Hint: `set approve: "..." in the wave to require one`}
	}
	target := w.Digest()
	if !isDigestOf(digest, target) {
		return "", &diag.Diag{
			Code: diag.CodeWaveChange,
			Msg:  fmt.Sprintf("the bundle of wave %s is %s, not %s: nothing was approved", w.Name, target, diag.Visible(digest, diag.MaxText)),
			Hint: hint,
		}
	}
	return target, nil
}

// Approve records that the clusters of a wave may get the bundles with the digest. Another
// digest than that of the wave is refused.
func (r *Rollout) Approve(ctx context.Context, name, digest, reason string) error {
	w, err := r.wave(name)
	if err != nil {
		return err
	}
	target, err := approvable(w, digest, "see the change with fleetc apply --dry-run --wave "+w.Name+", then approve this bundle")
	if err != nil {
		return err
	}
	_, err = r.change(ctx, approveWave, []*Wave{w}, func(_ *Wave, record *WaveRecord) {
		r.options.mark(&record.Approval, r.options.By, target, reason)
	})
	return err
}

// isDigestOf reports whether the text is the digest, or its first twelve digits or more.
func isDigestOf(text, digest string) bool {
	const shortest = 12
	hash := strings.TrimPrefix(text, "sha256:")
	return len(hash) >= shortest && strings.HasPrefix(strings.TrimPrefix(digest, "sha256:"), hash)
}

// A DecisionResult says which waves have a decision.
type DecisionResult struct {
	Waves     []string // all of them
	Unchanged []string // those that had it before
}

func (r *DecisionResult) add(wave string, isChanged bool) {
	r.Waves = append(r.Waves, wave)
	if !isChanged {
		r.Unchanged = append(r.Unchanged, wave)
	}
}

// Pause stops the named waves until they are resumed. Without names, it stops all waves. It
// returns the paused waves, also beside the faults of the others.
func (r *Rollout) Pause(ctx context.Context, names []string, reason string) (DecisionResult, error) {
	return r.changeNamed(ctx, pauseWave, names, func(_ *Wave, record *WaveRecord) {
		r.options.mark(&record.Pause, r.options.By, "", reason)
	})
}

// Resume ends pauses and aborts of the named waves. Without names, it resumes all waves. It
// returns the resumed waves, also beside the faults of the others.
func (r *Rollout) Resume(ctx context.Context, names []string) (DecisionResult, error) {
	return r.changeNamed(ctx, resumeWave, names, func(_ *Wave, record *WaveRecord) { record.Pause, record.Abort = nil, nil })
}

// Abort stops the present change in all waves. A change with other bundles goes on. It
// returns the aborted waves, also beside the faults of the others.
func (r *Rollout) Abort(ctx context.Context, reason string) (DecisionResult, error) {
	return r.changeNamed(ctx, abortWave, nil, func(w *Wave, record *WaveRecord) {
		r.options.mark(&record.Abort, r.options.By, w.Digest(), reason)
	})
}

// changeNamed changes the records of the named waves, or of all waves without names.
func (r *Rollout) changeNamed(ctx context.Context, d decision, names []string, change func(*Wave, *WaveRecord)) (DecisionResult, error) {
	waves := r.Waves
	if len(names) > 0 {
		waves = nil
	}
	for _, name := range names {
		w, err := r.wave(name)
		if err != nil {
			return DecisionResult{}, err
		}
		waves = append(waves, w)
	}
	return r.change(ctx, d, waves, change)
}

// change changes the records of waves, and returns the waves whose records are as they should
// be. A wave whose record cannot be changed does not stop the others.
func (r *Rollout) change(ctx context.Context, d decision, waves []*Wave, change func(*Wave, *WaveRecord)) (DecisionResult, error) {
	var recorded DecisionResult
	var faults diag.List
	for _, w := range waves {
		isChanged := true
		if len(w.Clusters) > 0 {
			s := r.servers.Of(w.Clusters[0].ID)
			err := s.Err
			if err == nil {
				isChanged, err = changeWaveRecord(ctx, s.Live, r.RolloutState.Fleet, w.Name, func(record *WaveRecord) {
					change(w, record)
					w.Record = *record
				})
			}
			if err != nil {
				faults.Add(d.fault(w, err))
				continue
			}
		}
		recorded.add(w.Name, isChanged)
	}
	return recorded, cmp.Or(ctx.Err(), faults.Err())
}

// A decision is what people record for waves.
type decision struct{ command, done string }

// The decisions.
var (
	approveWave = decision{"approve", "approved"}
	pauseWave   = decision{"pause", "paused"}
	resumeWave  = decision{"resume", "resumed"}
	abortWave   = decision{"abort", "aborted"}
)

// fault returns the fault of a wave whose record could not be changed.
func (d decision) fault(w *Wave, err error) *diag.Diag {
	first := w.Clusters[0].ID
	out := &diag.Diag{Code: diag.CodeWaveChange, At: []diag.Pos{w.Pos}}
	for _, c := range w.Clusters {
		out.Clusters = append(out.Clusters, c.ID)
	}
	text := err.Error()
	if all := diag.All(err); len(all) > 0 {
		text, out.At = all[0].Msg, all[0].At
	}
	out.Msg = fmt.Sprintf("wave %s is not %s: its record in %s, its first cluster, cannot be changed: %s", w.Name, d.done, first, diag.Visible(text, diag.MaxText))
	out.Hint = "correct this, then run fleetc rollout " + d.command + " again"
	if d == pauseWave || d == abortWave {
		out.Hint = "an apply that can reach " + first + " may begin with this wave: stop such applies; " + out.Hint
	}
	return out
}

// Applied returns the names of the waves with a cluster that runs its target or has an
// unfinished apply, the last wave first. These can be rolled back.
func (r *Rollout) Applied() []string {
	var out []string
	for _, w := range slices.Backward(r.Waves) {
		if slices.ContainsFunc(w.Clusters, canRollBack) {
			out = append(out, w.Name)
		}
	}
	return out
}

// canRollBack reports whether the cluster got its target, at least in part.
func canRollBack(c *WaveCluster) bool { return !c.HasWork() || c.State == TargetUnfinished }

// PlanWaveRollback plans to roll back the clusters of a wave that run their targets or have
// an unfinished apply, the last cluster first. Other clusters have no plan. It compiles the
// fleet.
func PlanWaveRollback(ctx context.Context, c *compiler.Compiler, wave string, o ApplyOptions, key []byte) ([]*Rollback, error) {
	r, err := ReadRollout(ctx, c, o)
	if err != nil {
		return nil, err
	}
	w, err := r.wave(wave)
	if err != nil {
		return nil, err
	}
	var out []*Rollback
	held := w.Held()
	for _, c := range slices.Backward(w.Clusters) {
		s := r.Statuses[c.ID]
		back := &Rollback{Held: held, ClusterPlan: &ClusterPlan{Cluster: c.Cluster, Reached: s.Reached, Wave: w.Name, Err: diag.In(c.ID, s.Err)}}
		switch {
		case back.Err != nil:
		case !canRollBack(c):
			back.Other = true
		default:
			back.Err = diag.In(c.ID, back.read(ctx, s.ClusterRecord, 0, apply.Target{Fleet: r.RolloutState.Fleet, Live: s.server.Live, Options: o.Options}, key))
		}
		out = append(out, back)
	}
	return out, ctx.Err()
}
