package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file decides which objects can be created without a dry run. An API server
// accepts a new ConfigMap that vet has accepted, unless the cluster has admission
// webhooks, admission policies or quotas.

// isPlain reports whether vet checks everything that the API server validates for
// the kind.
func (it *Item) isPlain() bool {
	switch it.kind() {
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "ServiceAccount"}:
		return true
	case schema.GroupKind{Kind: "Secret"}:
		typ, _ := it.object.Object["type"].(string)
		return typ == "" || typ == "Opaque"
	}
	return false
}

// planWithoutDryRun plans the creation of an object without a dry run, and reports
// whether that was possible.
func (p *planner) planWithoutDryRun(ctx context.Context, it *Item) (bool, error) {
	if !it.isPlain() {
		return false, nil
	}
	rules, err := p.admission.Get(struct{}{}, func() (*admissionRules, error) { return readAdmission(ctx, p.Live) })
	if err != nil {
		return false, err
	}
	r, served, err := p.Live.Resource(ctx, it.ref.GroupVersionKind)
	if err != nil || !served || rules.match(r.Group, r.Resource) {
		return false, err
	}
	space, err := p.namespaces.Get(it.ref.Namespace, func() (*unstructured.Unstructured, error) {
		return p.object(ctx, cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: it.ref.Namespace})
	})
	if cluster.ReasonOf(err) == cluster.Forbidden {
		return false, nil
	}
	if err != nil || isBeingDeleted(space) {
		return false, err
	}
	if space == nil {
		p.withoutNamespace(it, "")
	} else {
		it.Action, it.After = Create, it.object
	}
	return true, nil
}

// admissionRules lists the resources for which the cluster may reject or change
// objects at admission.
type admissionRules struct {
	unknown bool // the user is not allowed to read all of the configuration
	rules   []admissionRule
}

type admissionRule struct{ groups, resources []string }

// match reports whether a rule applies to a resource.
func (a *admissionRules) match(group, resource string) bool {
	return a.unknown || slices.ContainsFunc(a.rules, func(r admissionRule) bool {
		return matchesAny(r.groups, group) && matchesAny(r.resources, resource)
	})
}

func matchesAny(patterns []string, s string) bool {
	return slices.Contains(patterns, "*") || slices.Contains(patterns, "*/*") || slices.Contains(patterns, s)
}

// admissionKinds are the kinds that configure admission, with a function that reads
// their rules.
var admissionKinds = []struct {
	gvk   schema.GroupVersionKind
	rules func(map[string]any) []admissionRule
}{
	{schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}, webhookRules},
	{schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}, webhookRules},
	{schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}, policyRules},
	{schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}, policyRules},
	{schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}, func(map[string]any) []admissionRule {
		return []admissionRule{{[]string{"*"}, []string{"*"}}}
	}},
}

// readAdmission reads the admission configuration of a cluster. A missing
// permission is not an error.
func readAdmission(ctx context.Context, c *cluster.Cluster) (*admissionRules, error) {
	var out admissionRules
	for _, kind := range admissionKinds {
		objects, err := c.List(ctx, kind.gvk, "", "")
		switch cluster.ReasonOf(err) {
		case "":
		case cluster.NotFound: // the cluster has no such kind
			continue
		default:
			return &admissionRules{unknown: true}, nil
		}
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			out.rules = append(out.rules, kind.rules(o.Object)...)
		}
	}
	return &out, nil
}

// webhookRules returns the rules of a webhook configuration.
func webhookRules(o map[string]any) []admissionRule {
	hooks, _, _ := unstructured.NestedSlice(o, "webhooks")
	var out []admissionRule
	for _, h := range hooks {
		if hook, ok := h.(map[string]any); ok {
			out = append(out, rulesAt(hook, "rules")...)
		}
	}
	return out
}

// policyRules returns the rules of an admission policy. It ignores its bindings,
// which may narrow them.
func policyRules(o map[string]any) []admissionRule {
	return rulesAt(o, "spec", "matchConstraints", "resourceRules")
}

func rulesAt(o map[string]any, path ...string) []admissionRule {
	rules, _, _ := unstructured.NestedSlice(o, path...)
	var out []admissionRule
	for _, r := range rules {
		if rule, ok := r.(map[string]any); ok {
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
			out = append(out, admissionRule{groups, resources})
		}
	}
	return out
}
