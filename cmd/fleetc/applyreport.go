package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/spf13/cobra"
)

// An applyReport prints the plans and results of clusters.
type applyReport struct {
	cmd      *cobra.Command
	json     bool
	console  *applyConsole
	style    diff.Style
	clusters []*applyCluster
	rollout  *deliver.Rollout // nil when the clusters are not in waves
	destroys bool
}

// An applyCluster is one cluster of a report.
type applyCluster struct {
	*deliver.ClusterPlan
	err      error // faults of the plan or the apply
	ran      bool
	result   apply.Result
	rollback *deliver.Rollback // nil when the bundle was compiled
}

func (r *applyReport) add(p *deliver.ClusterPlan) {
	c := &applyCluster{ClusterPlan: p}
	if !c.isSkipped() {
		c.err = p.Faults()
	}
	r.clusters = append(r.clusters, c)
}

// plans returns the plans of all clusters, and nil if a cluster could not be planned.
func (r *applyReport) plans() []*apply.Plan {
	var plans []*apply.Plan
	for _, c := range r.clusters {
		if c.Plan == nil {
			return nil
		}
		plans = append(plans, c.Plan)
	}
	return plans
}

// addFault adds a fault, which may be nil, to all clusters.
func (r *applyReport) addFault(fault error) {
	for _, c := range r.clusters {
		c.err = slices.Concat(diag.All(c.err), diag.All(diag.In(c.Cluster.ID, fault))).Err()
	}
}

// checkFrozen adds faults of clusters that have changed since a plan was
// saved.
func (r *applyReport) checkFrozen(frozen *planFile) {
	if frozen == nil {
		return
	}
	for _, c := range r.clusters {
		if c.Plan == nil {
			continue
		}
		f, ok := frozen.of(c.Cluster.ID)
		if !ok {
			c.err = diag.In(c.Cluster.ID, &diag.Diag{Code: diag.CodeStalePlan, Msg: "the plan does not have this cluster", Hint: "plan again"})
			continue
		}
		if err := f.Check(c.Plan); err != nil {
			c.err = diag.In(c.Cluster.ID, err)
		}
		c.Plan.KeepRecords(f)
	}
}

// checkActions adds faults of clusters with actions that cannot run.
func (r *applyReport) checkActions() {
	for _, c := range r.clusters {
		if c.err == nil && !c.isSkipped() {
			c.err = c.CheckActions()
		}
	}
}

// ready returns the clusters with changes and without faults.
func (r *applyReport) ready() []*applyCluster {
	return diag.Filter(r.clusters, func(c *applyCluster) bool { return c.err == nil && !c.isSkipped() && !c.Plan.IsUpToDate() })
}

// question returns the question whether to apply.
func (r *applyReport) question(ready []*applyCluster) string {
	n, of := len(ready), len(r.clusters)
	switch back := ready[0].rollback; {
	case back != nil && n > 1:
		return fmt.Sprintf("roll %d clusters of wave %s back", n, back.Wave) + alsoDeletes(ready)
	case back != nil:
		return fmt.Sprintf("roll %s back to revision %d", back.Cluster.ID, back.To.Number) + alsoDeletes(ready)
	case n < of:
		return fmt.Sprintf("apply to %d of %d clusters", n, of) + alsoDeletes(ready)
	}
	return "apply to " + diag.Count(n, "cluster", "clusters") + alsoDeletes(ready)
}

// run applies the plans and records the results.
func (r *applyReport) run(parallel int, exact bool, ready []*applyCluster) {
	plans := diag.Each(ready, func(c *applyCluster) *deliver.ClusterPlan { return c.ClusterPlan })
	r.console.show, r.console.clear = newApplyProgress(r.cmd.ErrOrStderr(), ready)
	for _, p := range plans {
		if slices.ContainsFunc(p.Plan.Actions, func(a apply.PlannedAction) bool { return a.Manual != "" }) {
			r.console.listen()
		}
	}
	ctx := mayUndo(r.cmd.Context())
	results := deliver.Run(ctx, plans, parallel, exact, r.console.tell)
	if r.rollout != nil {
		var failed []string
		for _, c := range r.clusters {
			if c.err != nil {
				failed = append(failed, c.Cluster.ID)
			}
		}
		results = r.rollout.Run(ctx, plans, failed, parallel, exact, r.console.tell)
	}
	i := 0
	for result, err := range results {
		c := ready[i]
		if !c.stopped(err) {
			c.ran, c.result, c.err = true, result, err
		}
		i++
	}
}

// faults returns the faults of all clusters.
func (r *applyReport) faults() error {
	var faults diag.List
	for _, c := range r.clusters {
		faults.Add(c.err)
	}
	return faults.Err()
}

// planned reports the plans. If there is nothing to do, it says so.
func (r *applyReport) planned(differences bool) error {
	if r.json {
		if err := r.printJSON(); err != nil {
			return err
		}
	}
	if !r.json && len(r.ready()) == 0 {
		for _, c := range r.clusters {
			if c.status() == "unchanged" {
				c.printLines(r.cmd.OutOrStdout(), c.summary())
			}
		}
	}
	return orDifferences(r.faults(), differences && len(r.ready()) > 0)
}

// end reports the results.
func (r *applyReport) end() error {
	if r.json {
		if err := r.printJSON(); err != nil {
			return err
		}
		return r.outcome()
	}
	r.printWaits(r.cmd.OutOrStdout(), true)
	for _, c := range r.clusters {
		if len(c.Waits) > 0 {
			continue
		}
		lines := []string{c.summary()}
		if c.rollback != nil && c.ran && c.err == nil {
			lines = append(lines, c.nextApply())
		}
		if c.ran {
			lines = append(lines, c.recordNotes()...)
		}
		if r.destroys && c.ran && c.err == nil {
			lines = append(lines, c.destroyNotes(c.Plan.Partial)...)
		}
		c.printLines(r.cmd.OutOrStdout(), lines...)
	}
	return r.outcome()
}

// printLines prints lines about the cluster.
func (c *applyCluster) printLines(w io.Writer, lines ...string) {
	for _, line := range lines {
		fmt.Fprintf(w, "%s: %s\n", c.Cluster.ID, line)
	}
}

// revision returns the current revision of the cluster, if known.
func (c *applyCluster) revision() int {
	if c.Plan != nil && !c.ran && c.status() == "unchanged" {
		return c.Plan.Current
	}
	return c.result.Revision
}

// status returns the result in one word.
func (c *applyCluster) status() string {
	switch {
	case c.Runs || c.Other:
		return "unchanged"
	case len(c.Waits) > 0:
		return "waiting"
	case c.IsForbidden():
		return "forbidden"
	case !c.Reached:
		return "unreachable"
	case c.ran && c.err != nil:
		return "failed"
	case c.err != nil:
		return "refused"
	case c.ran && c.result.UpToDate:
		return "unchanged"
	case c.ran && c.destroys():
		return "destroyed"
	case c.ran:
		return "applied"
	case c.Plan.IsUpToDate():
		return "unchanged"
	}
	return "planned"
}

func (c *applyCluster) summary() string {
	status := c.status()
	switch status {
	case "forbidden", "unreachable", "refused":
		return status + ", nothing was written"
	case "unchanged":
		if c.Other {
			return "runs another bundle than the fleet's, nothing was written"
		}
		if c.destroys() {
			return "has nothing to destroy, nothing was written"
		}
		return strings.Join(append([]string{"runs its bundle, nothing was written"}, c.pendingText()...), "; ")
	}
	parts := []string{counts(c.result.Created, c.result.Changed, c.result.Pruned, c.result.Replaced)}
	if n := c.result.Cascaded; n > 0 {
		parts = append(parts, diag.Count(n, "object", "objects")+" deleted along with them")
	}
	parts = append(parts, c.pendingText()...)
	if c.result.Hooks > 0 {
		parts = append(parts, diag.Count(c.result.Hooks, "hook", "hooks")+" run")
	}
	outcomes := map[apply.ActionOutcome]int{}
	for _, outcome := range c.result.Actions {
		outcomes[outcome]++
	}
	var counts []string
	for _, o := range []apply.ActionOutcome{apply.ActionDone, apply.ActionSkipped, apply.ActionUndone, apply.ActionNotUndone} {
		if n := outcomes[o]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(counts) > 0 {
		parts = append(parts, "actions: "+strings.Join(counts, ", "))
	}
	if len(c.result.NotReached) > 0 {
		parts = append(parts, "not reached: "+strings.Join(c.result.NotReached, ", "))
	}
	if c.result.Revision > 0 {
		parts = append(parts, fmt.Sprintf("this is revision %d", c.result.Revision))
	}
	return status + ": " + strings.Join(parts, "; ")
}

// counts returns the numbers of written objects as text.
func counts(created, changed, pruned, replaced int) string {
	s := fmt.Sprintf("%d created, %d changed, %d pruned", created, changed, pruned)
	if replaced > 0 {
		s += fmt.Sprintf("; %d replaced", replaced)
	}
	return s
}

// printPlan shows the plans. It returns an error of a write, so that fleetc does not apply a
// plan that it could not show.
func (r *applyReport) printPlan() error {
	if r.json {
		return nil
	}
	w := bufio.NewWriter(r.cmd.OutOrStdout())
	var g diff.Grouper
	for _, c := range r.clusters {
		if c.Plan != nil {
			g.Add(c.Cluster.ID, c.Changes)
		}
	}
	if result := g.Result(); !result.Summary.Empty() {
		if err := diff.WriteText(w, result, r.style); err != nil {
			return err
		}
	}
	for _, c := range r.clusters {
		if c.Plan != nil {
			c.printLines(w, c.notes()...)
		}
	}
	r.printWaits(w, false)
	return w.Flush()
}

// actionMoment says when an action runs: before stage apps.
func actionMoment(a *fleet.Action) string {
	at, what := "before ", "stage "+a.Stage
	if a.After {
		at = "after "
	}
	if a.Release != "" {
		what = "release " + a.Release
	}
	return at + what
}

// contested describes a field of an object that another manager owns.
func (c *applyCluster) contested(id string, f cluster.Field) string {
	text := fmt.Sprintf("%s: %s is %s's", id, strings.TrimPrefix(f.Path, "."), f.Manager)
	if v, ok := c.ConflictChange(id, f); ok {
		return fmt.Sprintf("%s, who has %s; the bundle has %s", text, appliedText(v.Before, v.HasBefore), appliedText(v.After, v.HasAfter))
	}
	return text
}

func appliedText(v any, exists bool) string {
	if !exists {
		return "none"
	}
	return valueText(v, diag.MaxText)
}
