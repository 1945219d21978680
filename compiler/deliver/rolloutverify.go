package deliver

import (
	"context"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/apply/actions"
	"github.com/fleetc/fleetc/compiler/deliver/rollout"
	"github.com/fleetc/fleetc/compiler/stage/health"
)

// verify runs the checks of the waves before the one with the index, each once in a run of
// the process. It returns what the wave waits for.
func (r *Rollout) verify(ctx context.Context, i int) []rollout.Wait {
	for ; r.verified < i; r.verified++ {
		w := r.Waves[r.verified]
		for j := range w.Verify {
			if err := r.try(ctx, w, &w.Verify[j]); err != nil {
				fault := *diag.All(err)[0]
				text := "wave " + w.Name + " is not verified: check " + w.Verify[j].Name + ": " + fault.Msg
				fault.Path, fault.Msg = "rollout", text
				return []rollout.Wait{{Reason: rollout.ForCheck, Text: text, Fault: &fault}}
			}
		}
	}
	return nil
}

// try runs one check of a wave. Its Job runs in the first cluster of the wave.
func (r *Rollout) try(ctx context.Context, w *rollout.Wave, a *fleet.Action) error {
	if len(w.Clusters) == 0 {
		return nil
	}
	first, bundle := w.Clusters[0], w.Digest()
	o := r.options.Actions
	o.Dir = r.Fleet.Dir
	runner := actions.Runner{
		Options: o, Cluster: first.Cluster, Bundle: bundle,
		Hide: health.Hider(o.Secrets(a)),
		Job: func(ctx context.Context, a *fleet.Action, _ bool, timeout time.Duration) error {
			s := r.servers.Of(first.ID)
			if s.Err != nil {
				return s.Err
			}
			return apply.CheckJob(ctx, s.Live, a, bundle, timeout)
		},
	}
	return runner.Try(ctx, a)
}
