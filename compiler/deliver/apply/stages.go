package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// stages applies the stages in order.
func (r *runner) stages(ctx context.Context) error {
	for i, s := range r.plan.dueStages {
		r.report(Event{Stage: s, What: "start"})
		r.started = nil
		err := r.stage(ctx, s)
		if err != nil {
			err = r.undo(ctx, err)
		} else {
			r.recordStage(s)
			err = r.save(ctx)
		}
		if err != nil {
			r.result.NotReached = r.plan.dueStages[i+1:]
			r.report(Event{Stage: s, What: "failed"})
			return err
		}
		r.result.Done = append(r.result.Done, s)
		r.report(Event{Stage: s, What: "done"})
	}
	return nil
}

// stage applies one stage, level by level: a level starts when the releases of the
// level before are ready. Actions of the stage run before the first level and after
// the last one.
func (r *runner) stage(ctx context.Context, stage string) error {
	if err := r.runActions(ctx, stage, noLevel, false); err != nil {
		return err
	}
	for _, step := range r.Bundle.Cluster.StepsOf(stage) {
		if step.Level > 0 {
			if err := r.nextLevel(ctx, step); err != nil {
				return err
			}
		}
		if err := r.step(ctx, step); err != nil {
			return err
		}
	}
	return r.runActions(ctx, stage, noLevel, true)
}

// nextLevel records that the releases of the previous level are applied and
// healthy, so that a later failure does not repeat their hooks, and reports the
// next level.
func (r *runner) nextLevel(ctx context.Context, step fleet.ApplyStep) error {
	r.recordReleases(fleet.ApplyStep{Stage: step.Stage, Level: step.Level - 1})
	if err := r.save(ctx); err != nil {
		return err
	}
	var names []string
	for _, rel := range r.Bundle.Cluster.Releases {
		if rel.ApplyStep() == step && r.inScope(rel.Stage, rel.Name) {
			names = append(names, rel.Name)
		}
	}
	if len(names) > 0 {
		r.report(Event{Stage: step.Stage, What: "level", Text: strings.Join(names, ", ")})
	}
	return nil
}

// step applies the releases of one level: namespaces and CRDs, actions, hooks
// before, all other objects in the order of the bundle and, when these are healthy,
// hooks and actions after. Actions before a release find its namespace.
func (r *runner) step(ctx context.Context, step fleet.ApplyStep) error {
	of := r.itemsOf(step)
	if err := r.applyAll(ctx, of.base); err != nil {
		return err
	}
	if err := r.wait(ctx, step.Stage, of.base); err != nil {
		return err
	}
	if slices.ContainsFunc(of.base, func(it *Item) bool { return it.Action.writes() }) {
		r.Live.ResetDiscovery()
	}
	if err := r.runActions(ctx, step.Stage, step.Level, false); err != nil {
		return err
	}
	if err := r.hooks(ctx, of.pre); err != nil {
		return err
	}
	if err := r.applyAll(ctx, of.rest); err != nil {
		return err
	}
	for _, it := range of.helms {
		if err := r.applyHelm(ctx, it); err != nil {
			return err
		}
		of.rest = append(of.rest, it.bundleObjects()...)
	}
	if err := r.wait(ctx, step.Stage, of.rest); err != nil {
		return err
	}
	if err := r.hooks(ctx, of.post); err != nil {
		return err
	}
	return r.runActions(ctx, step.Stage, step.Level, true)
}

// stepItems are the items of one step.
type stepItems struct {
	base  []*Item // namespaces and CRDs
	pre   []*Item // hooks before
	rest  []*Item
	helms []*Item // releases that Helm delivers
	post  []*Item // hooks after
}

func (r *runner) itemsOf(step fleet.ApplyStep) stepItems {
	var of stepItems
	for i := range r.plan.Items {
		it := &r.plan.Items[i]
		switch {
		case it.object == nil || it.step() != step:
		case it.hook != nil:
			if it.hook.pre {
				of.pre = append(of.pre, it)
			}
			if it.hook.post {
				of.post = append(of.post, it)
			}
		case it.isBase():
			of.base = append(of.base, it)
		case it.IsHelm():
			of.helms = append(of.helms, it)
		default:
			of.rest = append(of.rest, it)
		}
	}
	return of
}

// recordStage records that a stage and its releases are applied and healthy.
func (r *runner) recordStage(stage string) {
	if len(r.Options.Releases) == 0 {
		r.record.Stages[stage] = r.plan.next.Stages[stage]
	}
	for _, step := range r.Bundle.Cluster.StepsOf(stage) {
		r.recordReleases(step)
	}
}

// recordReleases records that the releases of a step are applied with all hooks.
func (r *runner) recordReleases(step fleet.ApplyStep) {
	for _, rel := range r.Bundle.Cluster.Releases {
		if rel.ApplyStep() == step && r.inScope(rel.Stage, rel.Name) {
			r.record.Releases[rel.Name] = r.plan.next.Releases[rel.Name]
		}
	}
}
