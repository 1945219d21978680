package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// stages applies the stages in order.
func (r *runner) stages(ctx context.Context) error {
	for i, s := range r.plan.due {
		r.tell(Event{Stage: s, What: "start"})
		r.begun = nil
		err := r.stage(ctx, s)
		if err != nil {
			err = r.undo(ctx, err)
		} else {
			r.note(s)
			err = r.save(ctx)
		}
		if err != nil {
			r.result.NotReached = r.plan.due[i+1:]
			r.tell(Event{Stage: s, What: "failed"})
			return err
		}
		r.result.Done = append(r.result.Done, s)
		r.tell(Event{Stage: s, What: "done"})
	}
	return nil
}

// stage applies one stage, level by level: the releases of a level apply when those
// of the levels before are ready. Actions of the stage run before the first level and
// after the last one.
func (r *runner) stage(ctx context.Context, stage string) error {
	if err := r.act(ctx, stage, ofStage, false); err != nil {
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
	return r.act(ctx, stage, ofStage, true)
}

// nextLevel records that the releases of the level before are applied and healthy,
// so that a later failure does not repeat their hooks, and tells what comes next.
func (r *runner) nextLevel(ctx context.Context, step fleet.ApplyStep) error {
	r.noteReleases(fleet.ApplyStep{Stage: step.Stage, Level: step.Level - 1})
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
		r.tell(Event{Stage: step.Stage, What: "level", Text: strings.Join(names, ", ")})
	}
	return nil
}

// step applies the releases of one level: namespaces and CRDs, hooks before, all
// else in the order of the bundle, and hooks after, when the rest is healthy. What
// is to be done before a release finds its namespace.
func (r *runner) step(ctx context.Context, step fleet.ApplyStep) error {
	of := r.itemsOf(step)
	if err := r.applyAll(ctx, of.base); err != nil {
		return err
	}
	if err := r.wait(ctx, step.Stage, of.base); err != nil {
		return err
	}
	if slices.ContainsFunc(of.base, func(it *Item) bool { return it.Action.writes() }) {
		r.Live.Renew()
	}
	if err := r.act(ctx, step.Stage, step.Level, false); err != nil {
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
		of.rest = append(of.rest, it.present()...)
	}
	if err := r.wait(ctx, step.Stage, of.rest); err != nil {
		return err
	}
	if err := r.hooks(ctx, of.post); err != nil {
		return err
	}
	return r.act(ctx, step.Stage, step.Level, true)
}

// stepItems are the objects of the bundle that apply in one step.
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

// note records that a stage is applied and healthy, with its releases.
func (r *runner) note(stage string) {
	if len(r.Options.Releases) == 0 {
		r.record.Stages[stage] = r.plan.settled.Stages[stage]
	}
	for _, step := range r.Bundle.Cluster.StepsOf(stage) {
		r.noteReleases(step)
	}
}

// noteReleases records that the releases of a step are applied with all hooks.
func (r *runner) noteReleases(step fleet.ApplyStep) {
	for _, rel := range r.Bundle.Cluster.Releases {
		if rel.ApplyStep() == step && r.inScope(rel.Stage, rel.Name) {
			r.record.Releases[rel.Name] = r.plan.settled.Releases[rel.Name]
		}
	}
}
