package apply

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/kube"
)

// A Lasting is something that going back to an earlier bundle does not bring
// back to how it was. The names of its fields in JSON stay as they are.
type Lasting struct {
	ID  string `json:"id,omitempty"` // of an object; empty when it is of none
	Why string `json:"why"`          // a clause
}

// Lasting returns what the plan, which goes back to an earlier bundle, does not
// undo. The bundles are those that ran since, the oldest first, after the one
// that is gone back to.
func (p *Plan) Lasting(target *fleet.Bundle, since []*fleet.Bundle) []Lasting {
	touched := map[string]bool{} // releases
	for _, it := range p.Items {
		touched[it.Release] = touched[it.Release] || it.Action != Unchanged
	}
	var out []Lasting
	for i := range p.Items {
		if it := &p.Items[i]; touched[it.Release] {
			for _, why := range it.lasts() {
				out = append(out, Lasting{it.ID, why})
			}
		}
	}
	return append(out, ranSince(target, since)...)
}

// lasts says what of an object is not undone.
func (it *Item) lasts() []string {
	gk := it.kind()
	there := it.uid != ""
	switch {
	case gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"} && it.Before != nil && it.object != nil:
		return goneVersions(it.Before, it.object)
	case gk == schema.GroupKind{Kind: "PersistentVolumeClaim"} && it.Action != Prune && there:
		return []string{"what was written to it stays as it is"}
	case gk == schema.GroupKind{Group: "apps", Kind: "StatefulSet"} && there && hasVolumes(it.object, it.Before):
		return []string{"what was written to its volumes stays as it is"}
	case it.Action != Prune:
		return nil
	case gk == schema.GroupKind{Kind: "Namespace"}:
		return []string{"all that is in it goes with it"}
	case fleet.IsProtected(gk):
		return []string{"all objects of its kind, or the data in it, go with it"}
	case !kube.HasKind(gk):
		return []string{"what its controller made for it may go with it"}
	}
	if names := othersOf(it.Before); len(names) > 0 {
		return []string{"what " + strings.Join(names, " and ") + " wrote to it goes with it"}
	}
	return nil
}

// goneVersions says which versions of a CRD go away.
func goneVersions(before, after *unstructured.Unstructured) []string {
	stays := versionsOf(after)
	stored, _, _ := unstructured.NestedStringSlice(before.Object, "status", "storedVersions")
	var out []string
	for _, v := range versionsOf(before) {
		switch {
		case slices.Contains(stays, v):
		case slices.Contains(stored, v):
			out = append(out, fmt.Sprintf("version %s goes away, in which objects are stored: store them in another one, and take it out of status.storedVersions", diag.Visible(v, diag.MaxText)))
		default:
			out = append(out, fmt.Sprintf("version %s goes away, and who asks for it gets nothing", diag.Visible(v, diag.MaxText)))
		}
	}
	return out
}

func versionsOf(crd *unstructured.Unstructured) []string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var out []string
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, ok := version["name"].(string); ok {
			out = append(out, name)
		}
	}
	return out
}

func hasVolumes(objects ...*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		if o == nil {
			return false
		}
		templates, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
		return len(templates) > 0
	})
}

// ranSince returns the hooks of later bundles, which ran when their releases
// came or changed.
func ranSince(target *fleet.Bundle, since []*fleet.Bundle) []Lasting {
	var out []Lasting
	seen := map[string]bool{}
	last := digestsOf(target)
	for _, b := range since {
		now := digestsOf(b)
		for _, o := range b.Objects {
			if !fleet.IsHook(o.Unstructured) || seen[o.ID()] || !fleet.HookRuns(o.Unstructured) || now.releases[o.Release.Name] == last.releases[o.Release.Name] {
				continue
			}
			if slices.ContainsFunc(fleet.HookEvents(o.Unstructured), func(e string) bool { return strings.HasSuffix(e, "-install") || strings.HasSuffix(e, "-upgrade") }) {
				seen[o.ID()] = true
				out = append(out, Lasting{o.ID(), "what it did, as a hook of release " + o.Release.Name + ", stays done"})
			}
		}
		last = now
	}
	return out
}
