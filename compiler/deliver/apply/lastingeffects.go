package apply

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A LastingEffect is something that a rollback does not undo. Its JSON field names
// are stable.
type LastingEffect struct {
	ID  string `json:"id,omitempty"` // of an object; may be empty
	Why string `json:"why"`          // a clause
}

// LastingEffects returns what a rollback to the target does not undo. since lists
// the bundles that ran after the target, the oldest first.
func (p *Plan) LastingEffects(target *fleet.Bundle, since []*fleet.Bundle) []LastingEffect {
	touched := map[string]bool{} // releases
	for _, it := range p.Items {
		touched[it.Release] = touched[it.Release] || it.Action != Unchanged
	}
	var out []LastingEffect
	for i := range p.Items {
		if it := &p.Items[i]; touched[it.Release] {
			for _, why := range it.lastingEffects() {
				out = append(out, LastingEffect{it.ID, why})
			}
		}
	}
	return append(out, hooksRunSince(target, since)...)
}

// lastingEffects returns what a rollback does not undo of an object.
func (it *Item) lastingEffects() []string {
	gk := it.kind()
	exists := it.uid != ""
	switch {
	case gk == fleet.CRDKind && it.Before != nil && it.object != nil:
		return it.removedVersions()
	case gk == schema.GroupKind{Kind: "PersistentVolumeClaim"} && it.Action != Prune && exists:
		return []string{"data written to it stays"}
	case gk == schema.GroupKind{Group: "apps", Kind: "StatefulSet"} && exists && hasVolumes(it.object, it.Before):
		return []string{"data on its volumes stays"}
	case it.Action != Prune:
		return nil
	case it.IsHelm():
		return []string{"Helm's history of it is deleted"}
	case gk == schema.GroupKind{Kind: "Namespace"}:
		return []string{"everything in it is deleted"}
	case fleet.IsProtected(gk):
		return []string{"all objects of its kind, or its data, are deleted with it"}
	case !kube.HasKind(gk):
		return []string{"objects that its controller created may be deleted with it"}
	}
	if names := otherManagers(it.Before); len(names) > 0 {
		return []string{"fields of " + strings.Join(names, " and ") + " are lost"}
	}
	return nil
}

// removedVersions returns the versions that a CRD loses.
func (it *Item) removedVersions() []string {
	stays, stored := versionsOf(it.object), storedVersionsOf(it.Before)
	var out []string
	for _, v := range versionsOf(it.Before) {
		switch {
		case slices.Contains(stays, v):
		case slices.Contains(stored, v) && !slices.Contains(it.unstored, v):
			out = append(out, fmt.Sprintf("version %s is removed, and objects are stored in it: store them in another version, and remove it from status.storedVersions", diag.Visible(v, diag.MaxText)))
		default:
			out = append(out, fmt.Sprintf("version %s is removed, and requests for it fail", diag.Visible(v, diag.MaxText)))
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

// hooksRunSince returns the hooks of later bundles, which ran when their releases
// were installed or changed.
func hooksRunSince(target *fleet.Bundle, since []*fleet.Bundle) []LastingEffect {
	var out []LastingEffect
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
				out = append(out, LastingEffect{o.ID(), "effects of this hook of release " + o.Release.Name + " are not undone"})
			}
		}
		last = now
	}
	return out
}
