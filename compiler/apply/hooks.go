package apply

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// A hook is what an object that Helm runs as a hook says of itself.
type hook struct {
	pre, post bool // whether it runs now: before the other objects of the stage, and after them
	weight    int
	deletions []string
}

const (
	hookAnnotation   = "helm.sh/hook"
	weightAnnotation = "helm.sh/hook-weight"
	deleteAnnotation = "helm.sh/hook-delete-policy"
)

// hookOf returns what the object says of itself as a hook, nil when it is none.
// A hook runs when its release is not recorded as applied as it is in the
// bundle: a release that did not change has its hooks behind it.
func (p *planner) hookOf(o fleet.Object) *hook {
	a := o.GetAnnotations()
	names, ok := a[hookAnnotation]
	if !ok {
		return nil
	}
	events := words(names)
	recorded, installed := p.inventory.Releases[o.Release.Name]
	event := "install"
	if installed {
		event = "upgrade"
	}
	h := &hook{deletions: words(a[deleteAnnotation])}
	h.weight, _ = strconv.Atoi(strings.TrimSpace(a[weightAnnotation])) // none is 0, as for Helm
	if recorded != p.digests.releases[o.Release.Name] {
		h.pre, h.post = slices.Contains(events, "pre-"+event), slices.Contains(events, "post-"+event)
	}
	if len(h.deletions) == 0 {
		h.deletions = []string{"before-hook-creation"}
	}
	return h
}

func words(list string) []string {
	var out []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// runs reports whether a hook is waited for, as by Helm: Jobs and pods are.
func runs(o *unstructured.Unstructured) bool {
	gk := o.GroupVersionKind().GroupKind()
	return gk == schema.GroupKind{Group: "batch", Kind: "Job"} || gk == schema.GroupKind{Kind: "Pod"}
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
