package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
)

// waveFlags adds the flags of commands that go wave by wave.
func waveFlags(cmd *cobra.Command, o *options, into *deliver.RolloutOptions) {
	f := cmd.Flags()
	waveFlag(cmd, o, &into.Wave, "apply only to the clusters of this `wave` of the rollout")
	f.BoolVar(&into.Unordered, "no-rollout", false, "apply to all selected clusters now: ignore waves, soaks, checks, approvals, pauses and aborts, but not freezes")
}

// waveFlag adds --wave.
func waveFlag(cmd *cobra.Command, o *options, into *string, usage string) {
	cmd.Flags().Func("wave", usage, func(text string) error {
		if *into != "" { // the last of several values would hide the others
			return fmt.Errorf("it is already %s: run the command for one after the other", diag.Visible(*into, diag.MaxText))
		}
		*into = text
		return nil
	})
	_ = cmd.RegisterFlagCompletionFunc("wave", waveArgs(o))
}

// waveArgs completes the names of waves.
func waveArgs(o *options) cobra.CompletionFunc {
	return fleetValues(o, func(f *fleet.Fleet) []string {
		if len(f.Clusters) == 0 || f.Clusters[0].Rollout == nil {
			return nil
		}
		return f.Clusters[0].Rollout.WaveNames()
	})
}

// checkWave rejects flags that contradict each other.
func (a *applyOptions) checkWave() error {
	if a.Unordered && a.Wave != "" {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--wave and --no-rollout cannot be combined", Hint: "pass one of them"}
	}
	return nil
}

// isSkipped reports whether the cluster was not planned, because its wave waits or a
// rollback leaves it out.
func (c *applyCluster) isSkipped() bool {
	return c.Plan == nil && (len(c.Waits) > 0 || c.Runs || c.Other)
}

// stopped reports whether err says that the cluster got no change, because its wave
// waits.
func (c *applyCluster) stopped(err error) bool {
	wait, ok := errors.AsType[*deliver.WaitError](err)
	if ok {
		c.Waits = wait.Waits
	}
	return ok
}

// outcome returns the faults of all clusters. Without faults, clusters that wait are
// differences.
func (r *applyReport) outcome() error {
	var faults diag.List
	faults.Add(r.faults())
	waits := false
	for _, c := range r.clusters {
		waits = waits || len(c.Waits) > 0
		for _, w := range c.Waits {
			switch {
			case w.IsFailure:
				faults.Add(diag.In(c.Cluster.ID, &diag.Diag{
					Code: diag.CodeWaveWaits,
					Msg:  "wave " + c.Wave + " waits: " + w.Text, Hint: "see fleetc status --health; correct the cluster or the change, and run apply again",
				}))
			case w.Reason == deliver.ForCheck:
				faults.Add(diag.In(c.Cluster.ID, w.Fault))
			case w.Reason == deliver.ForRecord:
				faults.Add(diag.In(c.Cluster.ID, &diag.Diag{Code: diag.CodeWaveWaits, Msg: "wave " + c.Wave + " waits: " + w.Text, Hint: "see the rights for rollouts in the documentation"}))
			}
		}
	}
	return orDifferences(faults.Err(), waits)
}

// printWaits says which waves wait and for what. After a run, it leaves out the clusters
// that it named before.
func (r *applyReport) printWaits(out io.Writer, ran bool) {
	type wait struct{ wave, text string }
	var waits []wait
	clusters := map[wait][]string{}
	for _, c := range r.clusters {
		if len(c.Waits) == 0 || ran && c.Plan == nil {
			continue
		}
		w := wait{c.Wave, (&deliver.WaitError{Waits: c.Waits}).Error()}
		if clusters[w] == nil {
			waits = append(waits, w)
		}
		clusters[w] = append(clusters[w], c.Cluster.ID)
	}
	for _, w := range waits {
		fmt.Fprintf(out, "wave %s waits (%s): %s\n", w.wave, diag.JoinFew(clusters[w], 3), w.text)
	}
}
