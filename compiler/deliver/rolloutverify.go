package deliver

import (
	"context"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

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
