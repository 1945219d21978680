package apply

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// A PlannedAction is an action that a plan does.
type PlannedAction struct {
	fleet.Action
	Reason, Hint string // why its Job is refused, and what to do about that; may be empty

	level int // of its release; ofStage when it is of none
}

// due returns the stages that have something to be done or are not known to be
// healthy.
func (p *planner) due(plan *Plan) []string {
	var out []string
	for _, s := range p.Bundle.Cluster.Stages {
		writes := slices.ContainsFunc(plan.Items, func(it Item) bool { return it.Stage == s && it.object != nil && it.Action.writes() })
		stale := plan.settled.Stages[s] != plan.inventory.Stages[s]
		if writes || stale && p.inScope(s, "") && len(p.Options.Releases) == 0 || p.unfinished(plan, s) {
			out = append(out, s)
		}
	}
	return out
}

// unfinished reports whether a release that is chosen was not applied to its end.
func (p *planner) unfinished(plan *Plan, stage string) bool {
	return len(p.Options.Releases) > 0 && slices.ContainsFunc(p.Bundle.Cluster.Releases, func(rel *fleet.Release) bool {
		return rel.Stage == stage && p.inScope(stage, rel.Name) && plan.settled.Releases[rel.Name] != plan.inventory.Releases[rel.Name]
	})
}

// actions returns the actions that are done: those of the stages that are due
// and, of the releases in these, of those that have something to be done or were
// not applied to their end.
func (p *planner) actions(ctx context.Context, plan *Plan) ([]PlannedAction, error) {
	var out []PlannedAction
	for _, stage := range plan.due {
		var of []PlannedAction
		for _, a := range p.Bundle.Cluster.AllActions() {
			if a.Stage == stage && (a.Release == "" || p.releaseDue(plan, a.Release)) {
				of = append(of, PlannedAction{Action: a, level: p.levelOf(a.Release)})
			}
		}
		slices.SortStableFunc(of, func(a, b PlannedAction) int { return cmp.Compare(a.moment(), b.moment()) })
		out = append(out, of...)
	}
	err := each(ctx, len(out), func(ctx context.Context, i int) error { return p.tryJobs(ctx, &out[i]) })
	return out, err
}

// moment returns when an action is done in its stage, in comparison with others:
// before the stage, then before and after the releases of each level, then after
// the stage.
func (a *PlannedAction) moment() int {
	switch {
	case a.level == ofStage && a.After:
		return math.MaxInt
	case a.After:
		return 2*a.level + 1
	}
	return 2 * a.level
}

// levelOf returns the level of a release of the bundle, [ofStage] for the empty name.
func (p *planner) levelOf(release string) int {
	for _, r := range p.Bundle.Cluster.Releases {
		if r.Name == release {
			return r.Level
		}
	}
	return ofStage
}

func (p *planner) releaseDue(plan *Plan, release string) bool {
	i := slices.IndexFunc(p.Bundle.Cluster.Releases, func(r *fleet.Release) bool { return r.Name == release })
	return p.inScope(p.Bundle.Cluster.Releases[i].Stage, release) && (plan.settled.Releases[release] != plan.inventory.Releases[release] ||
		slices.ContainsFunc(plan.Items, func(it Item) bool { return it.Release == release && it.Action.writes() }))
}

// tryJobs has the cluster try out the Jobs of an action.
func (p *planner) tryJobs(ctx context.Context, a *PlannedAction) error {
	if a.Task.Job != nil {
		if err := p.tryJob(ctx, a, false); err != nil {
			return err
		}
	}
	if a.Undo.Job != nil && a.Reason == "" {
		return p.tryJob(ctx, a, true)
	}
	return nil
}

func (p *planner) tryJob(ctx context.Context, a *PlannedAction, undo bool) error {
	job := jobOf(&a.Action, undo)
	is, err := p.Live.Object(ctx, live.RefOf(job))
	switch {
	case live.ReasonOf(err) == live.Forbidden: // a missing right, which is named with the others
		return nil
	case err != nil:
		return err
	case is != nil && !isJobOf(is, &a.Action):
		a.Reason, a.Hint = taken(is), "delete it, or rename the action"
		return nil
	case is != nil: // what is there of an earlier run cannot be changed, and is deleted first
		return nil
	}
	_, err = p.Live.Apply(ctx, job, live.Application{DryRun: true})
	switch live.ReasonOf(err) {
	case "":
		return err
	case live.Webhook: // a webhook that is to be asked does not answer
	case live.NotFound:
		p.jobWithoutNamespace(a, job.GetNamespace())
	case live.Forbidden:
		if !strings.HasPrefix(err.Error(), "User ") {
			a.Reason = "its Job is refused: " + err.Error()
		}
	default:
		a.Reason = "its Job is refused: " + err.Error()
	}
	return nil
}

// jobWithoutNamespace decides about a Job whose namespace is not there.
func (p *planner) jobWithoutNamespace(a *PlannedAction, namespace string) {
	ns := p.spaces[namespace]
	if ns == nil {
		a.Reason, a.Hint = "its Job is in the namespace "+namespace+", which is not there", "add the Namespace to a release"
		return
	}
	if p.isLater(ns.step(), a) {
		a.Reason = fmt.Sprintf("its Job is in the namespace %s, which comes later, with release %s of stage %s", namespace, ns.Release, ns.Stage)
		a.Hint = "have the action after it, or move the Namespace to an earlier stage"
	}
}

// isLater reports whether a step has not begun when an action is done.
func (p *planner) isLater(step fleet.ApplyStep, a *PlannedAction) bool {
	stages := p.Bundle.Cluster.Stages
	switch at, in := slices.Index(stages, step.Stage), slices.Index(stages, a.Stage); {
	case at != in:
		return at > in
	case a.level == ofStage:
		return !a.After
	default:
		return step.Level > a.level
	}
}
