package apply

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A PlannedAction is an action that a plan runs.
type PlannedAction struct {
	fleet.Action
	Reason, Hint string // why its Job is rejected, and how to solve that; may be empty

	level int // of its release, or noLevel
}

// dueStages returns the stages that have changes or are not recorded as healthy.
func (p *planner) dueStages(plan *Plan) []string {
	var out []string
	for _, s := range p.Bundle.Cluster.Stages {
		writes := slices.ContainsFunc(plan.Items, func(it Item) bool { return it.Stage == s && it.object != nil && it.Action.writes() })
		stale := plan.next.Stages[s] != plan.inventory.Stages[s]
		if writes || stale && p.inScope(s, "") && len(p.Options.Releases) == 0 || p.hasUnfinishedRelease(plan, s) {
			out = append(out, s)
		}
	}
	return out
}

// hasUnfinishedRelease reports whether an earlier apply of a selected release did
// not finish.
func (p *planner) hasUnfinishedRelease(plan *Plan, stage string) bool {
	return len(p.Options.Releases) > 0 && slices.ContainsFunc(p.Bundle.Cluster.Releases, func(rel *fleet.Release) bool {
		return rel.Stage == stage && p.inScope(stage, rel.Name) && plan.next.Releases[rel.Name] != plan.inventory.Releases[rel.Name]
	})
}

// actions returns the actions to run: those of due stages, and of releases in them
// that have changes or whose last apply did not finish.
func (p *planner) actions(ctx context.Context, plan *Plan) ([]PlannedAction, error) {
	var out []PlannedAction
	for _, stage := range plan.dueStages {
		var of []PlannedAction
		for _, a := range p.Bundle.Cluster.AllActions() {
			if a.Stage == stage && (a.Release == "" || p.isReleaseDue(plan, a.Release)) {
				of = append(of, PlannedAction{Action: a, level: p.levelOf(a.Release)})
			}
		}
		slices.SortStableFunc(of, func(a, b PlannedAction) int { return cmp.Compare(a.order(), b.order()) })
		out = append(out, of...)
	}
	err := forEach(ctx, len(out), func(ctx context.Context, i int) error { return p.dryRunJobs(ctx, &out[i]) })
	return out, err
}

// order returns the rank of an action in its stage: before the stage, before and
// after each level, after the stage.
func (a *PlannedAction) order() int {
	switch {
	case a.level == noLevel && a.After:
		return math.MaxInt
	case a.After:
		return 2*a.level + 1
	}
	return 2 * a.level
}

// levelOf returns the level of a release of the bundle, [noLevel] for the empty
// name.
func (p *planner) levelOf(release string) int {
	if r := p.Bundle.Cluster.Release(release); r != nil {
		return r.Level
	}
	return noLevel
}

func (p *planner) isReleaseDue(plan *Plan, release string) bool {
	return p.inScope(p.Bundle.Cluster.Release(release).Stage, release) && (plan.next.Releases[release] != plan.inventory.Releases[release] ||
		slices.ContainsFunc(plan.Items, func(it Item) bool { return it.Release == release && it.Action.writes() }))
}

// dryRunJobs sends the Jobs of an action as dry runs.
func (p *planner) dryRunJobs(ctx context.Context, a *PlannedAction) (err error) {
	if a.Task.Job != nil {
		err = p.dryRunJob(ctx, a, false)
	}
	if err == nil && a.Undo.Job != nil && a.Reason == "" {
		err = p.dryRunJob(ctx, a, true)
	}
	return err
}

func (p *planner) dryRunJob(ctx context.Context, a *PlannedAction, undo bool) error {
	job := jobOf(&a.Action, undo)
	current, err := p.Live.Object(ctx, cluster.RefOf(job))
	switch {
	case cluster.ReasonOf(err) == cluster.Forbidden: // a missing right is reported with the others
		return nil
	case err != nil:
		return err
	case current != nil && !isJobOf(current, &a.Action):
		taken := jobNameTaken(current)
		a.Reason, a.Hint = taken.Msg, taken.Hint
		return nil
	case current != nil: // the Job of an earlier run is deleted first
		return nil
	}
	_, err = p.Live.Apply(ctx, job, cluster.Application{DryRun: true})
	switch cluster.ReasonOf(err) {
	case "":
		return err
	case cluster.Webhook:
	case cluster.NotFound:
		p.jobWithoutNamespace(a, job.GetNamespace())
	default:
		if !cluster.IsMissingRight(err) {
			a.Reason, a.Hint = "its Job is refused: "+err.Error(), refusedHint
		}
	}
	return nil
}

// jobWithoutNamespace decides about a Job whose namespace does not exist.
func (p *planner) jobWithoutNamespace(a *PlannedAction, namespace string) {
	ns := p.bundleNamespaces[namespace]
	if ns == nil {
		a.Reason, a.Hint = "its Job is in the namespace "+namespace+", which does not exist", "add the Namespace to a release"
		return
	}
	if p.isLater(ns.step(), a) {
		a.Reason = fmt.Sprintf("its Job is in the namespace %s, which comes later, with release %s of stage %s", namespace, ns.Release, ns.Stage)
		a.Hint = "run the action after it, or move the Namespace to an earlier stage"
	}
}

// isLater reports whether a step starts after an action runs.
func (p *planner) isLater(step fleet.ApplyStep, a *PlannedAction) bool {
	runs := fleet.ApplyStep{Stage: a.Stage, Level: a.level}
	if a.level == noLevel && a.After {
		runs.Level = math.MaxInt
	}
	return p.Bundle.Cluster.CompareSteps(step, runs) > 0
}
