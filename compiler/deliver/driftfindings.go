package deliver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// addFindings adds the differences of a comparison. It returns a fault for objects that
// could not be read.
func (c *DriftCluster) addFindings(compared *apply.Comparison, key []byte, rules []fleet.IgnoreRule) error {
	objects := map[string]*apply.ObjectDiff{}
	unread := map[string]int{}
	for i := range compared.Objects {
		o := &compared.Objects[i]
		objects[o.ID] = o
		if o.Finding == apply.Unknown {
			unread[o.Why]++
		}
	}
	changes, ignored := LiveChanges(compared, key, rules)
	whole := wholeRules(rules)
	for _, change := range changes {
		if change.Action != diff.Unknown {
			c.add(findingOf(change, objects[change.ID]), objects[change.ID], whole)
		}
	}
	for _, change := range ignored {
		f := findingOf(change, objects[change.ID])
		f.Rule = change.Fields[0].Ignored.Rule
		c.Ignored = append(c.Ignored, f)
	}
	for i := range compared.Objects {
		if o := &compared.Objects[i]; o.IsUnhealthy() {
			c.add(DriftFinding{ID: o.ID, Release: o.Release, Reason: DriftUnhealthy, Why: fmt.Sprintf("%s: %s", o.Health.State, diag.Visible(o.Health.Reason, diag.MaxText))}, o, whole)
		}
	}
	var faults diag.List
	for _, why := range slices.Sorted(maps.Keys(unread)) {
		faults.Add(apply.UnreadFault(unread[why], why, "docs/drift.md"))
	}
	return faults.Err()
}

// findingOf returns the finding of a changed object.
func findingOf(c diff.Change, o *apply.ObjectDiff) DriftFinding {
	f := DriftFinding{ID: c.ID, Release: c.Release, Reason: DriftReason(c.Live.Reason), Why: diag.Visible(c.Live.Why, diag.MaxText), byHelm: o != nil && o.ByHelm}
	if f.Reason != DriftChanged && f.Reason != DriftConflict {
		return f
	}
	for _, change := range c.Fields {
		field := DriftField{Path: change.Path, Secret: change.Secret}
		if change.HasBefore {
			field.Live = change.Before
		}
		if change.HasAfter {
			field.Fleet = change.After
		}
		if o != nil && o.Before != nil {
			field.By = apply.Authors(o.Before, apply.FieldSteps(change.Path))
		}
		f.Fields = append(f.Fields, field)
	}
	return f
}

// addOrphans adds objects with the labels of the fleet that are neither in the inventory
// nor in the bundle.
func (c *DriftCluster) addOrphans(orphans []apply.LabelledObject, rules []fleet.IgnoreRule) {
	whole := wholeRules(rules)
	for _, o := range orphans {
		f := DriftFinding{ID: o.ID, Release: o.Release, Reason: DriftOrphaned, Why: "it has the labels of the fleet, and is not in the inventory"}
		if o.Owner != "" {
			f.Why = o.Owner + " applied it, and the fleet no longer has it"
		}
		c.add(f, nil, whole)
	}
}

// add adds a finding, as an ignored one if a rule ignores the whole object. o may be nil for an
// object whose content is not known.
func (c *DriftCluster) add(f DriftFinding, o *apply.ObjectDiff, whole []fleet.IgnoreRule) {
	if f.Rule = ruleFor(whole, o, f); f.Rule != "" {
		c.Ignored = append(c.Ignored, f)
		return
	}
	c.Findings = append(c.Findings, f)
}

// wholeRules returns the rules that ignore whole objects.
func wholeRules(rules []fleet.IgnoreRule) []fleet.IgnoreRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r fleet.IgnoreRule) bool { return r.Of != fleet.OfDrift || len(r.Fields) > 0 })
}

// ruleFor returns the path of the first rule that ignores an object, empty when there is
// none. o may be nil for an object whose content is not known.
func ruleFor(rules []fleet.IgnoreRule, o *apply.ObjectDiff, f DriftFinding) string {
	var forms []*unstructured.Unstructured
	if o != nil {
		forms = append(forms, o.Before, o.After)
	}
	forms = append(forms, objectOf(f.ID))
	for i := range rules {
		for _, form := range forms {
			if form != nil && rules[i].Matches(fleet.Object{Unstructured: form, Release: &fleet.Release{Name: f.Release}}) {
				return rules[i].Path()
			}
		}
	}
	return ""
}

// objectOf returns an object with the kind, namespace and name of an ID, as in
// "Deployment.apps web/app".
func objectOf(id string) *unstructured.Unstructured {
	kind, name, _ := strings.Cut(id, " ")
	gk := schema.ParseGroupKind(kind)
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(gk.WithVersion("v1"))
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		o.SetNamespace(namespace)
		name = rest
	}
	o.SetName(name)
	return o
}
