package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// matchChecks is RuleChecks for policies, rules for health and ownership.
func matchChecks(c *fleet.Cluster, objs, crds []fleet.Object) []fleet.RuleCheck {
	m := &matchChecker{application: newApplication(c), kinds: kindsOf(c, objs, crds)}
	for _, p := range c.Policies {
		m.check(p.Match, p.Texts, objs)
		// Other kinds may come later.
		m.checkKinds(slices.DeleteFunc(withField(p.Texts, "objects"), func(t fleet.MatchText) bool {
			return !m.existing(t) && diag.Nearest(t.Text, diag.Each(m.kinds, func(k schema.GroupKind) string { return k.Kind })) == ""
		}))
		for _, w := range p.Waivers {
			// A waiver that matches nothing is a fault of its cluster already.
			if among := m.selected(objs, p.Match); len(m.selected(among, w.Match)) > 0 {
				m.check(w.Match, w.Texts, among)
			}
		}
	}
	for _, r := range c.Releases {
		for _, p := range r.Patches {
			m.checkKinds(withField(p.Texts, "kinds"))
		}
	}
	health := func(rules []fleet.HealthRule, objs []fleet.Object) {
		for _, h := range rules {
			// Kinds of Kubernetes are checked before anything is rendered.
			custom := slices.DeleteFunc(slices.Clone(h.Texts), func(t fleet.MatchText) bool {
				return t.Field == "kinds" && (!strings.Contains(t.Text, ".") || kube.HasGroup(schema.ParseGroupKind(t.Text).Group))
			})
			m.check(h.Match, custom, objs)
		}
	}
	health(c.Health, objs)
	for _, r := range c.Releases {
		if len(r.Health) == 0 && len(r.Ownership) == 0 {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(objs), func(o fleet.Object) bool { return o.Release.Name != r.Name })
		health(r.Health, own)
		for _, o := range r.Ownership {
			// A target that matches nothing is a fault of its cluster already.
			if len(m.selected(own, o.Target)) > 0 {
				m.check(o.Target, o.Texts, own)
			}
		}
	}
	return m.checks
}

// targetChecks says of the texts of the target of a patch whether each of them matches
// one of the objects, as the patches before left them.
func (a *application) targetChecks(p *fleet.Patch) []fleet.RuleCheck {
	if len(p.Texts) == 0 {
		return nil
	}
	// Kinds are checked among the objects of the cluster, which are not rendered yet.
	m := &matchChecker{application: a}
	texts := slices.DeleteFunc(slices.Clone(p.Texts), func(t fleet.MatchText) bool { return t.Field == "kinds" })
	m.check(p.Target, texts, itemObjects(a.items))
	return m.checks
}

// itemObjects returns the objects that patches have not deleted.
func itemObjects(items []*item) []fleet.Object {
	var objs []fleet.Object
	for _, it := range items {
		if !it.deleted {
			objs = append(objs, it.Object)
		}
	}
	return objs
}

// kindsOf returns the kinds that exist in a cluster, beside those of Kubernetes.
func kindsOf(c *fleet.Cluster, objs, crds []fleet.Object) []schema.GroupKind {
	seen := map[schema.GroupKind]bool{}
	for _, o := range objs {
		seen[o.GroupVersionKind().GroupKind()] = true
	}
	for _, api := range c.APIs {
		gv, _ := schema.ParseGroupVersion(api.APIVersion)
		seen[gv.WithKind(api.Kind).GroupKind()] = true
	}
	for _, crd := range crds {
		seen[fleet.DefinedKind(crd.Unstructured)] = true
	}
	for _, gk := range kube.GroupKinds() {
		seen[gk] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// A matchChecker checks texts of selectors against the objects of a cluster.
type matchChecker struct {
	*application
	kinds  []schema.GroupKind // that exist
	checks []fleet.RuleCheck
}

// check checks the texts of a selector, field by field. A kind need only exist: a
// policy may be for objects that are added later. Where the cluster has no object that
// the fields before leave, there is nothing to say about the next.
func (m *matchChecker) check(match fleet.Selector, texts []fleet.MatchText, objs []fleet.Object) {
	if len(texts) == 0 {
		return
	}
	noun := "object"
	if n := len(match.Kinds); n > 0 && n <= maxNamed {
		noun = strings.Join(diag.Each(match.Kinds, visible), " or ")
	}
	left := m.selected(objs, fleet.Selector{Releases: match.Releases})
	m.checkKinds(withField(texts, "kinds"))
	left = m.selected(left, fleet.Selector{Kinds: match.Kinds})
	left = m.checkField(withField(texts, "namespaces"), fleet.Selector{Namespaces: match.Namespaces}, left, m.namespaceOf, noun+" is in namespace %s")
	left = m.checkField(withField(texts, "names"), fleet.Selector{Names: match.Names}, left, fleet.Object.GetName, noun+" is called %s")
	for _, t := range withField(texts, "labels") {
		value := func(o fleet.Object) string { return o.GetLabels()[t.Key] }
		left = m.checkField([]fleet.MatchText{t}, t.Selector(), left, value, noun+" has the label "+visible(t.Key)+" with the value %s")
	}
}

// checkKinds checks that the kinds exist.
func (m *matchChecker) checkKinds(texts []fleet.MatchText) {
	m.checks = append(m.checks, fleet.CheckTexts(texts, m.existing,
		func(t fleet.MatchText) string { return "no cluster with this rule has a kind " + visible(t.Text) }, diag.Each(m.kinds, kindFor(diag.Each(texts, func(t fleet.MatchText) string { return t.Text }))))...)
}

// checkField checks the texts of one field among the objects that are left, and
// returns those that the field selects.
func (m *matchChecker) checkField(texts []fleet.MatchText, field fleet.Selector, left []fleet.Object, of func(fleet.Object) string, msg string) []fleet.Object {
	if len(left) == 0 {
		return nil
	}
	m.checks = append(m.checks, fleet.CheckTexts(texts,
		func(t fleet.MatchText) bool {
			selector := t.Selector()
			return slices.ContainsFunc(left, func(o fleet.Object) bool { return selector.Matches(m.placed(o, selector)) })
		},
		func(t fleet.MatchText) string { return "no " + fmt.Sprintf(msg, visible(t.Text)) },
		slices.DeleteFunc(diag.Each(left, of), func(s string) bool { return s == "" }))...)
	return m.selected(left, field)
}

// existing reports whether the kind that a text names exists.
func (m *matchChecker) existing(t fleet.MatchText) bool {
	return slices.ContainsFunc(m.kinds, func(gk schema.GroupKind) bool { return t.Text == gk.Kind || t.Text == gk.String() })
}

// withField returns the texts of a field.
func withField(texts []fleet.MatchText, field string) []fleet.MatchText {
	return slices.DeleteFunc(slices.Clone(texts), func(t fleet.MatchText) bool { return t.Field != field })
}
