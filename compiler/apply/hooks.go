package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// A hook is what an object that Helm runs as a hook says of itself.
type hook struct {
	pre, post bool // whether it runs now: before the other objects of the stage, and after them
	weight    int
	deletions []string

	// object is what runs on deletion, when the bundle has it no more; nil of
	// other hooks.
	object *unstructured.Unstructured
}

// hookOf returns what the object says of itself as a hook, nil when it is none.
// A hook runs when its release is not recorded as applied as it is in the
// bundle: a release that did not change has its hooks behind it.
func (p *planner) hookOf(o fleet.Object) *hook {
	if !fleet.IsHook(o.Unstructured) {
		return nil
	}
	event := "install"
	switch {
	case p.installed[o.Release.Name] && p.Origin.Rollback > 0:
		event = "rollback"
	case p.installed[o.Release.Name]:
		event = "upgrade"
	}
	h := hookOn(o, event)
	if p.inventory.Releases[o.Release.Name] == p.digests.releases[o.Release.Name] {
		h.pre, h.post = false, false
	}
	return h
}

// hookOn returns what a hook says of itself, and when it runs on an event:
// before, which is also when a test runs, or after.
func hookOn(o fleet.Object, event string) *hook {
	events := fleet.HookEvents(o.Unstructured)
	h := &hook{weight: fleet.HookWeight(o.Unstructured), deletions: fleet.HookDeletions(o.Unstructured)}
	h.pre = slices.Contains(events, "pre-"+event) || slices.Contains(events, event) || event == "test"
	h.post = slices.Contains(events, "post-"+event)
	if len(h.deletions) == 0 {
		h.deletions = []string{"before-hook-creation"}
	}
	return h
}

// findInstalled finds the releases that are there: those on record, those that are
// taken over from Helm and, where the record was lost, those of which fleetc has
// applied something.
func (p *planner) findInstalled(ctx context.Context, first bool) error {
	p.installed = map[string]bool{}
	for name := range p.inventory.Releases {
		p.installed[name] = true
	}
	if !first && !p.mayAdoptHelm() {
		return nil
	}
	hooked := map[string]bool{}
	for _, o := range p.Bundle.Objects {
		if fleet.IsHook(o.Unstructured) && !p.installed[o.Release.Name] && p.inScope(o.Release.Stage, o.Release.Name) {
			hooked[o.Release.Name] = true
		}
	}
	objs := slices.DeleteFunc(slices.Clone(p.Bundle.Objects), func(o fleet.Object) bool {
		return fleet.IsHook(o.Unstructured) || !hooked[o.Release.Name]
	})
	there := make([]bool, len(objs))
	err := each(ctx, len(objs), func(ctx context.Context, i int) error {
		was, err := p.object(ctx, live.RefOf(objs[i].Unstructured))
		if was == nil || err != nil {
			if live.ReasonOf(err) == live.Forbidden {
				return nil // a missing right, which is named with the others
			}
			return err
		}
		_, helm := was.GetAnnotations()[helmRelease]
		there[i] = first && ownFields(was) != nil || p.mayAdoptHelm() && helm
		return nil
	})
	for i, o := range objs {
		p.installed[o.Release.Name] = p.installed[o.Release.Name] || there[i]
	}
	return err
}

// ended reports whether a hook that is healthy is through: a pod is healthy
// while it runs.
func ended(o *unstructured.Unstructured) bool {
	if o == nil || o.GetKind() != "Pod" {
		return true
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase == "Succeeded"
}
