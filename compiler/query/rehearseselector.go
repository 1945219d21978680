package query

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// A selecting kind has objects that select others by labels.
type selectingKind struct {
	path     []string // of the selector
	plain    bool     // whether the selector is a map of labels
	services bool     // whether it selects services; pods otherwise
	across   bool     // whether spec.namespaceSelector selects other namespaces
}

var selectingKinds = map[schema.GroupKind]selectingKind{
	{Kind: "Service"}: {path: []string{"spec", "selector"}, plain: true},
	{Group: "policy", Kind: "PodDisruptionBudget"}:           {path: []string{"spec", "selector"}},
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:      {path: []string{"spec", "podSelector"}},
	{Group: "monitoring.coreos.com", Kind: "PodMonitor"}:     {path: []string{"spec", "selector"}, across: true},
	{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}: {path: []string{"spec", "selector"}, services: true, across: true},
}

// podTemplates are the paths of pod templates by kind.
var podTemplates = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}: {"spec", "template"}, {Group: "apps", Kind: "StatefulSet"}: {"spec", "template"},
	{Group: "apps", Kind: "DaemonSet"}: {"spec", "template"}, {Group: "apps", Kind: "ReplicaSet"}: {"spec", "template"},
	{Group: "batch", Kind: "Job"}: {"spec", "template"}, {Group: "batch", Kind: "CronJob"}: {"spec", "jobTemplate", "spec", "template"},
	{Kind: "Pod"}: {},
}

// A target is an object that others can select.
type target struct {
	fleet.Object
	labels    labels.Set
	isService bool
}

// selectors finds objects that selected others before and select nothing any more.
func (r *rehearsal) selectors() {
	before, after := targetsOf(r.before.Objects), targetsOf(r.after.Objects)
	for _, o := range r.after.Objects {
		old, existed := r.old[o.ID()]
		if _, selects := selectingKinds[kindOf(o)]; !selects || !existed {
			continue
		}
		selectedBefore := selected(old, before)
		// An object without targets, such as a Service that loses its selector on purpose,
		// differs in its own content.
		if len(selectedBefore) == 0 || len(selected(o, after)) > 0 || selectorOf(o) == nil {
			continue
		}
		r.add(about(o, diff.SelectorLost, diff.Check, "it no longer selects any object of the fleet; it selected "+listed(idsOf(selectedBefore)), "change its selector to the new labels"))
	}
}

// targetsOf returns the pods and services among objects, with pods as their workloads.
func targetsOf(objs []fleet.Object) []target {
	var out []target
	for _, o := range objs {
		if path, ok := podTemplates[kindOf(o)]; ok {
			template, _ := fleet.Lookup(o.Object, path)
			out = append(out, target{Object: o, labels: labelsOf(template)})
		} else if kindOf(o) == (schema.GroupKind{Kind: "Service"}) {
			out = append(out, target{Object: o, labels: labelsOf(o.Object), isService: true})
		}
	}
	return out
}

// labelsOf returns the labels of an object or a template.
func labelsOf(value any) labels.Set {
	field, _ := fleet.Lookup(value, []string{"metadata", "labels"})
	m, _ := field.(map[string]any)
	out := labels.Set{}
	for key, v := range m {
		out[key], _ = v.(string)
	}
	return out
}

// selectorOf returns the selector of an object, nil when it has none.
func selectorOf(o fleet.Object) labels.Selector {
	kind := selectingKinds[kindOf(o)]
	field, _ := fleet.Lookup(o.Object, kind.path)
	m, ok := field.(map[string]any)
	if !ok || kind.plain && len(m) == 0 {
		return nil
	}
	if kind.plain {
		m = map[string]any{"matchLabels": m}
	}
	var s metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s) != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil
	}
	return selector
}

// selected returns the targets that an object selects.
func selected(o fleet.Object, targets []target) []fleet.Object {
	selector := selectorOf(o)
	if selector == nil {
		return nil
	}
	kind := selectingKinds[kindOf(o)]
	var out []fleet.Object
	for _, t := range targets {
		if t.isService == kind.services && kind.reaches(o, t.GetNamespace()) && selector.Matches(t.labels) {
			out = append(out, t.Object)
		}
	}
	return out
}

// reaches reports whether an object of the kind selects in a namespace.
func (k selectingKind) reaches(o fleet.Object, namespace string) bool {
	if k.across {
		if all, _ := fleet.Lookup(o.Object, []string{"spec", "namespaceSelector", "any"}); all == true {
			return true
		}
		if names, ok := fleet.Lookup(o.Object, []string{"spec", "namespaceSelector", "matchNames"}); ok {
			return slices.Contains(textsOf(names), namespace)
		}
	}
	return o.GetNamespace() == namespace
}
