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

// checkApproval returns a fault if a wave needs no approval, or if the given digest is not its own
// or the begin of it. hint says how to see the change.
func (r *RolloutState) checkApproval(name, digest, hint string) error {
	w, err := r.wave(name)
	switch {
	case err != nil:
		return err
	case w.Approve == "":
		return &diag.Diag{Code: diag.CodeWaveChange, At: []diag.Pos{w.Pos}, Msg: "wave " + w.Name + " needs no approval", Hint: `set approve: "..." in the wave to require one`}
	case !isDigestOf(digest, w.Digest()):
		return &diag.Diag{
			Code: diag.CodeWaveChange,
			Msg:  fmt.Sprintf("the bundle of wave %s is %s, not %s: nothing was approved", w.Name, w.Digest(), diag.Visible(digest, diag.MaxText)),
			Hint: hint,
		}
	}
	return nil
}

// Approve records that the clusters of a wave may get the bundles with the digest. Another
// digest than that of the wave is refused.
func (r *Rollout) Approve(ctx context.Context, name, digest, reason string) error {
	err := r.checkApproval(name, digest, "see the change with fleetc apply --dry-run --wave "+name+", then approve this bundle")
	if err == nil {
		_, err = r.Decide(ctx, approval(reason), []string{name})
	}
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

// A Decision is what people record for waves.
type Decision struct{ Command, Done, Reason string }

func approval(reason string) Decision { return Decision{"approve", "approved", reason} }

// Pause stops waves until they are resumed.
func Pause(reason string) Decision { return Decision{"pause", "paused", reason} }

// Resume ends pauses and aborts of waves.
func Resume() Decision { return Decision{"resume", "resumed", ""} }

// Abort stops the present change of waves. A change with other bundles goes on.
func Abort(reason string) Decision { return Decision{"abort", "aborted", reason} }

// change changes the record of a wave with the digest and the clusters. by is the user who decides.
func (d Decision) change(r *WaveRecord, o RolloutOptions, by, digest string, clusters []string) {
	switch d.Command {
	case "approve":
		o.mark(&r.Approval, by, digest, d.Reason)
	case "pause":
		o.mark(&r.Pause, by, "", d.Reason)
		r.Clusters = diag.Distinct(slices.Concat(r.Clusters, clusters)) // some may be in other waves by now
	case "resume":
		r.Pause, r.Abort, r.Clusters = nil, nil, nil
	case "abort":
		o.mark(&r.Abort, by, digest, d.Reason)
	}
}

// Decide records a decision for the named waves, or for all waves without names. It returns the
// waves that have it, also beside the faults of the others.
func (r *Rollout) Decide(ctx context.Context, d Decision, names []string) (DecisionResult, error) {
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
	var recorded DecisionResult
	var faults diag.List
	for _, w := range waves {
		isChanged := true
		if len(w.Clusters) > 0 {
			var err error
			if isChanged, err = r.decide(ctx, d, w); err != nil {
				faults.Add(d.fault(w, err))
				continue
			}
		}
		recorded.add(w.Name, isChanged)
	}
	return recorded, cmp.Or(ctx.Err(), faults.Err())
}

// fault returns the fault of a wave whose record could not be changed.
func (d Decision) fault(w *Wave, err error) *diag.Diag {
	first := w.Clusters[0].ID
	out := &diag.Diag{Code: diag.CodeWaveChange, At: []diag.Pos{w.Pos}}
	for _, c := range w.Clusters {
		out.Clusters = append(out.Clusters, c.ID)
	}
	text := err.Error()
	if all := diag.All(err); len(all) > 0 {
		text, out.At = all[0].Msg, all[0].At
	}
	out.Msg = fmt.Sprintf("wave %s is not %s: its record in %s, its first cluster, cannot be changed: %s", w.Name, d.Done, first, diag.Visible(text, diag.MaxText))
	out.Hint = "correct this, then run fleetc rollout " + d.Command + " again"
	if d.Command == "pause" || d.Command == "abort" {
		out.Hint = "an apply that can reach " + first + " may begin with this wave: stop such applies; " + out.Hint
	}
	return out
}

// WayBack returns the commands that roll back the waves with a cluster that runs its target or has
// an unfinished apply, the last wave first.
func (r *Rollout) WayBack() []string {
	var out []string
	for _, w := range slices.Backward(r.Waves) {
		if slices.ContainsFunc(w.Clusters, canRollBack) {
			out = append(out, "fleetc rollback --wave "+w.Name)
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
