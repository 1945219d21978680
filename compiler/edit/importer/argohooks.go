package importer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// argoTool is the name of Argo CD in the model.
const argoTool = "argocd"

// argoHook is the annotation for the hooks of Argo CD.
const argoHook = labelPrefix + "hook"

// asHelm says what fleetc does with the hooks of Helm.
const asHelm = "nothing to do: fleetc runs it when Helm does, and Argo CD in each sync"

// syncHooks say what fleetc does with the objects that a successful sync of Argo CD applies, by
// their hook. It does not apply those with other hooks.
var syncHooks = map[string]string{
	"PreSync":     "fleetc applies it with the other objects: give it the annotation helm.sh/hook: pre-install,pre-upgrade to run it before them",
	"Sync":        "fleetc applies it with the other objects: write it as an action if it must run in each apply, see docs/actions.md",
	"PostSync":    "fleetc applies it with the other objects: give it the annotation helm.sh/hook: post-install,post-upgrade to run it after them",
	"pre-install": asHelm, "pre-upgrade": asHelm, "post-install": asHelm, "post-upgrade": asHelm,
	"crd-install": "fleetc does not apply it: remove the annotation helm.sh/hook",
}

// hookOf returns the hook of an object, and what fleetc does with it. isApplied reports whether a
// successful sync of Argo CD applies the object. annotation returns the value of an annotation.
func hookOf(annotation func(key string) string) (hook, effect string, isApplied bool) {
	if hook = annotation(argoHook); hook == "" {
		hook = annotation(fleet.HookAnnotation)
	}
	for _, one := range fleet.ListItems(hook) {
		if effect = syncHooks[one]; effect != "" {
			return hook, effect, true
		}
	}
	return hook, "", hook == ""
}

// hookOfObject is [hookOf] for a rendered object.
func hookOfObject(o fleet.Object) (hook, effect string, isApplied bool) {
	return hookOf(func(key string) string { return o.GetAnnotations()[key] })
}

// skipHooks adds patches that remove the objects of charts which no sync of Argo CD applies.
func (w *work) skipHooks(ctx context.Context) {
	charts := &render.Charts{}
	isHooked := func(f fleet.File) bool { return bytes.Contains(f.Data, []byte(argoHook)) }
	for _, c := range w.model.Clusters {
		for _, r := range c.Releases {
			if ch := w.chart(r); w.model.Tool != argoTool || ch == nil || !slices.ContainsFunc(ch.Files, isHooked) {
				continue
			}
			for _, o := range w.renderChart(ctx, charts, c, r, kube.Capabilities(c.Kubernetes)).Objects {
				hook, _, isApplied := hookOfObject(o)
				if isApplied {
					continue
				}
				kind := strings.TrimSuffix(o.GetKind()+"."+o.GroupVersionKind().Group, ".")
				r.Patches = append(r.Patches, Patch{
					Name: "00-without-" + nameOf(o.GetKind()+"-"+o.GetName()), Target: map[string]any{"kinds": []any{kind}, "names": []any{o.GetName()}},
					Form: "strategic", Body: nodeOf(map[string]any{"$patch": "delete"}, nil),
				})
				w.model.Note(Note{Pos: r.Pos, Doc: r.Origin, Do: withoutSync(o.ID(), hook)})
			}
		}
	}
}

// withoutSync says that the import leaves an object out for its hook.
func withoutSync(title, hook string) string {
	return "a sync does not apply " + title + ", for its hook " + hook + ": write it as an action if the fleet needs it, see docs/actions.md"
}

// noteHooks notes what fleetc does with the hooks of the releases.
func (w *work) noteHooks() {
	for _, c := range w.model.Clusters {
		for _, r := range c.Releases {
			if w.model.Tool != argoTool || r.expected == nil {
				continue
			}
			objects := map[string][]string{} // by hook
			effect := map[string]string{}
			for _, o := range r.expected.objects {
				if hook, text, _ := hookOfObject(o); text != "" {
					objects[hook], effect[hook] = append(objects[hook], o.ID()), text
				}
			}
			for _, hook := range sortedKeys(effect) {
				ids := diag.Distinct(objects[hook])
				w.model.Note(Note{Pos: r.Pos, Doc: r.Origin, Do: fmt.Sprintf("release %s has the hook %s (%s): %s", r.Name, hook, strings.Join(ids, ", "), effect[hook])})
			}
		}
	}
}
