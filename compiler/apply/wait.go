package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/live"
)

const (
	waitPoll       = 500 * time.Millisecond
	defaultTimeout = 5 * time.Minute
)

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, defaultTimeout) }

// wait waits until all of the objects are healthy. One that has failed ends
// the wait, as does the time.
func (r *runner) wait(ctx context.Context, stage string, items []*Item) error {
	end := time.After(r.timeout())
	waiting := slices.Clone(items)
	reasons := make(map[string]string, len(items))
	for first := true; ; first = false {
		states := make([]Health, len(waiting))
		why := make([]string, len(waiting))
		err := each(ctx, len(waiting), func(ctx context.Context, i int) error {
			o, err := r.Live.Object(ctx, waiting[i].ref)
			if err == nil {
				states[i], why[i] = healthOf(o)
			}
			return err
		})
		if err != nil {
			return err
		}
		var left []*Item
		var faults diag.List
		for i, it := range waiting {
			switch states[i] {
			case Failed:
				faults.Add(&diag.Diag{At: it.at, Path: it.ID, Msg: diag.Visible(cmp.Or(why[i], "it failed"), diag.MaxText)})
			case NotReady:
				left = append(left, it)
				if first || reasons[it.ID] != why[i] {
					r.tell(Event{Stage: stage, ID: it.ID, What: "wait", Text: why[i]})
				}
				reasons[it.ID] = why[i]
			default:
				if !first {
					r.tell(Event{Stage: stage, ID: it.ID, What: "ready"})
				}
			}
		}
		if len(faults) > 0 || len(left) == 0 {
			return faults.Err()
		}
		waiting = left
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return r.late(waiting, reasons)
		case <-time.After(waitPoll):
		}
	}
}

// late returns the faults of the objects that were waited for in vain.
func (r *runner) late(waiting []*Item, reasons map[string]string) error {
	var faults diag.List
	for _, it := range waiting {
		faults.Add(&diag.Diag{
			At: it.at, Path: it.ID,
			Msg:  fmt.Sprintf("it is not ready after %s: %s", r.timeout(), diag.Visible(strings.TrimSuffix(reasons[it.ID], "."), diag.MaxText)),
			Hint: "apply again to go on waiting; --timeout says for how long",
		})
	}
	return faults.Err()
}

// waitGone waits until an object is deleted.
func (r *runner) waitGone(ctx context.Context, it *Item) error {
	end := time.After(r.timeout())
	for {
		o, err := r.Live.Object(ctx, it.ref)
		if err != nil || o == nil || string(o.GetUID()) != it.uid {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return &diag.Diag{
				At: it.at, Path: it.ID, Msg: fmt.Sprintf("it is not gone after %s", r.timeout()),
				Hint: "see metadata.finalizers, which name who holds it",
			}
		case <-time.After(waitPoll):
		}
	}
}

// hooks runs hooks by weight and, as Helm does, by name.
func (r *runner) hooks(ctx context.Context, items []*Item) error {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.hook.weight, b.hook.weight))
	})
	for _, it := range items {
		if err := r.runHook(ctx, it); err != nil {
			return err
		}
		r.result.Hooks++
	}
	// Helm keeps what succeeded until all hooks of the event have.
	for _, it := range items {
		if slices.Contains(it.hook.deletions, "hook-succeeded") {
			if err := r.deleteHook(ctx, it); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) runHook(ctx context.Context, it *Item) error {
	if it.Before != nil && slices.Contains(it.hook.deletions, "before-hook-creation") {
		if err := r.deleteHook(ctx, it); err != nil {
			return err
		}
	}
	r.tell(Event{Stage: it.Stage, ID: it.ID, What: "hook"})
	is, err := r.apply(ctx, it)
	if err != nil {
		return it.failed(err)
	}
	it.Before, it.uid = is, string(is.GetUID())
	end := time.After(r.timeout())
	for waited := false; ; waited = true {
		health, why := hookDone(is)
		switch health {
		case Ready:
			if waited {
				r.tell(Event{Stage: it.Stage, ID: it.ID, What: "ready"})
			}
			return nil
		case Failed:
			if slices.Contains(it.hook.deletions, "hook-failed") {
				if err := r.deleteHook(ctx, it); err != nil {
					return err
				}
			}
			return &diag.Diag{At: it.at, Path: it.ID, Msg: "the hook failed: " + diag.Visible(why, diag.MaxText)}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return r.late([]*Item{it}, map[string]string{it.ID: why})
		case <-time.After(waitPoll):
		}
		if is, err = r.Live.Object(ctx, it.ref); err != nil {
			return err
		}
	}
}

// deleteHook deletes what a hook made, now or at an earlier apply, and nothing
// that is no hook.
func (r *runner) deleteHook(ctx context.Context, it *Item) error {
	if _, ok := it.Before.GetAnnotations()[hookAnnotation]; !ok {
		return &diag.Diag{At: it.at, Path: it.ID, Msg: "an object of this name is there, and is no hook", Hint: "rename one of them"}
	}
	if err := r.lease.Check(ctx); err != nil {
		return err
	}
	it.uid = string(it.Before.GetUID())
	if err := r.Live.Delete(ctx, it.ref, it.uid); err != nil && live.ReasonOf(err) != live.Moved {
		return it.failed(err)
	}
	if err := r.waitGone(ctx, it); err != nil {
		return err
	}
	it.Before, it.uid = nil, ""
	return nil
}
