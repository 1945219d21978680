package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A hook describes an object that Helm runs as a hook.
type hook struct {
	pre, post bool // runs in this apply before, and after, the other objects of the stage
	weight    int
	deletions []string

	// object is the hook itself if it runs on deletion and is not in the bundle any
	// more; else nil.
	object *unstructured.Unstructured
}

// hookOf returns the hook of an object, nil when it is not a hook. A hook does not
// run when its release is recorded as applied with the same content.
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

// hookOn returns the hook of an object, and whether it runs before or after an
// event. Tests run before.
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

// findInstalled adds to the recorded releases those that are adopted from Helm and, when
// the inventory is lost, those of which fleetc has applied an object.
func (p *planner) findInstalled(ctx context.Context, first bool) error {
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
	existing, err := collect(ctx, len(objs), func(ctx context.Context, i int) ([]string, error) {
		before, err := p.object(ctx, cluster.RefOf(objs[i].Unstructured))
		switch {
		case cluster.ReasonOf(err) == cluster.Forbidden:
			return nil, nil // a missing right is reported with the others
		case before == nil || err != nil:
			return nil, err
		}
		_, helm := before.GetAnnotations()[helmRelease]
		if first && ownFields(before) != nil || p.mayAdoptHelm() && helm {
			return []string{objs[i].Release.Name}, nil
		}
		return nil, nil
	})
	for _, name := range existing {
		p.installed[name] = true
	}
	return err
}

// hasEnded reports whether a healthy hook has ended: a pod is healthy while it
// runs.
func hasEnded(o *unstructured.Unstructured) bool {
	if o == nil || o.GetKind() != "Pod" {
		return true
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase == "Succeeded"
}
