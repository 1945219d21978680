package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// matched returns the items that a target selects, and whether one of them has
// a fault already.
func (a *application) matched(target fleet.Selector) (items []*item, broken bool) {
	for _, it := range a.items {
		switch {
		case it.deleted || !target.Matches(a.placed(it.Object, target)):
		case it.broken:
			broken = true
		default:
			items = append(items, it)
		}
	}
	return items, broken
}

// selected returns the objects that the selector matches.
func (a *application) selected(objs []fleet.Object, s fleet.Selector) []fleet.Object {
	return slices.DeleteFunc(slices.Clone(objs), func(o fleet.Object) bool { return !s.Matches(a.placed(o, s)) })
}

// placed returns the object for a match: with the namespace of its release if
// it has none and its kind is namespaced.
func (a *application) placed(o fleet.Object, target fleet.Selector) fleet.Object {
	if a.release != nil {
		o.Release = a.release
	}
	if len(target.Namespaces) == 0 || o.GetNamespace() != "" || !a.namespaced(o) {
		return o
	}
	meta, ok := o.Object["metadata"].(map[string]any)
	if !ok {
		return o
	}
	meta = maps.Clone(meta)
	meta["namespace"] = o.Release.Namespace
	top := maps.Clone(o.Object)
	top["metadata"] = meta
	o.Unstructured, o.Shared = &unstructured.Unstructured{Object: top}, false
	return o
}

// namespaced reports whether the kind of an object is namespaced, as far as
// known.
func (a *application) namespaced(o fleet.Object) bool {
	gvk := o.GroupVersionKind()
	if k, served := a.kube.Kind(gvk); served {
		return k.Namespaced
	}
	for _, api := range a.apis {
		if api.APIVersion == gvk.GroupVersion().String() && api.Kind == gvk.Kind {
			return api.Namespaced
		}
	}
	return true
}

// A rule is a part of a release that has a target, for messages.
type rule struct {
	at     []diag.Pos
	path   string
	noun   string // a patch
	target string // the field that is its target
	among  string // the objects that its target selects from, such as those of the release
	absent string // the hint when it matches nothing
}

// rule returns the rule with a name in a field of the release.
func (a *application) rule(field, name string, pos diag.Pos) rule {
	r := rule{
		path: a.release.Path(field, label(name)), noun: map[string]string{"patches": "a patch", "ownership": "ownership"}[field],
		target: "target", among: "the release has", absent: "remove it, or set optional: true",
	}
	for _, pos := range []diag.Pos{pos, a.release.Pos} {
		if pos.IsValid() {
			r.at = []diag.Pos{pos}
			break
		}
	}
	return r
}

// unmatched returns the fault of a rule whose target t matches no object. It
// names the first part of the target that excludes the remaining objects, and
// returns how many parts of the target leave something.
func (a *application) unmatched(r rule, t fleet.Selector) (d *diag.Diag, part int) {
	left := itemObjects(a.items)
	d = &diag.Diag{Code: diag.CodePatchUnmatched, At: r.at, Path: r.path + "." + r.target}
	if len(left) == 0 {
		d.Path = r.path
		d.Msg, d.Hint = "matches nothing: "+r.among+" no objects", r.absent
		return d, 0
	}
	ownRelease := r.noun + " applies only to its own release, which is not %s"
	if a.release == nil {
		ownRelease = "no release is called %s"
	}
	kindText := kindFor(t.Kinds)
	kindOf := func(o fleet.Object) string { return kindText(o.GroupVersionKind().GroupKind()) }
	for i, part := range []struct {
		by   fleet.Selector
		want []string
		of   func(o fleet.Object) string
		msg  string
	}{
		{fleet.Selector{Releases: t.Releases}, t.Releases, a.releaseOf, ownRelease},
		{fleet.Selector{Kinds: t.Kinds}, t.Kinds, kindOf, r.among + " no %s"},
		{fleet.Selector{Namespaces: t.Namespaces}, t.Namespaces, a.namespaceOf, "none of the objects is in namespace %s"},
		{fleet.Selector{Names: t.Names}, t.Names, fleet.Object.GetName, "none of the objects is called %s"},
		{fleet.Selector{Labels: t.Labels}, labelTexts(t.Labels), nil, "none of the objects has the labels %s"},
	} {
		if next := a.selected(left, part.by); len(next) > 0 {
			left = next
			continue
		}
		d.Msg = "matches nothing: " + fmt.Sprintf(part.msg, diag.JoinFirst(diag.Each(part.want, visible), maxNamed))
		if part.of != nil {
			d.Hint = near(part.want, diag.Each(left, part.of))
		}
		if d.Hint == "" {
			d.Hint = "use one of " + list(left)
		}
		return d, i + 1
	}
	return d, 0 // unreachable: the target would match
}

func (a *application) releaseOf(o fleet.Object) string {
	return a.placed(o, fleet.Selector{}).Release.Name
}

func (a *application) namespaceOf(o fleet.Object) string {
	return a.placed(o, fleet.Selector{Namespaces: []string{"*"}}).GetNamespace()
}

// kindFor returns the function that formats kinds: with their groups if a wanted kind
// has one.
func kindFor(wanted []string) func(gk schema.GroupKind) string {
	grouped := slices.ContainsFunc(wanted, func(k string) bool { return strings.Contains(k, ".") })
	return func(gk schema.GroupKind) string {
		if grouped {
			return gk.String()
		}
		return gk.Kind
	}
}

func labelTexts(labels map[string]string) []string {
	return diag.Each(slices.Sorted(maps.Keys(labels)), func(k string) string { return k + "=" + labels[k] })
}

// near returns a suggestion for a wanted name among the existing ones.
func near(wanted, there []string) string {
	for _, w := range wanted {
		if len(w) > maxShown {
			continue
		}
		if hint := diag.DidYouMean(w, diag.Each(there, visible)); hint != "" {
			return hint
		}
	}
	return ""
}

// maxListed is the maximum number of objects in a hint.
const maxListed = 8

// list lists objects by kind and name, and counts the rest.
func list(objs []fleet.Object) string {
	names := diag.Each(objs, func(o fleet.Object) string { return visible(o.GetKind() + " " + o.GetName()) })
	return diag.JoinFirst(diag.Distinct(names), maxListed)
}

// RuleChecks says of the rules of diff.ignore and drift.ignore of a cluster whether they match any
// of its objects, and whether one of these can have each of the fields; and of the
// texts that its layers write in policies, rules for health and ownership whether each
// of them matches an object. known are CRDs that describe custom resources and are not
// objects of the cluster's releases.
func RuleChecks(c *fleet.Cluster, objs, known []fleet.Object) []fleet.RuleCheck {
	crds := slices.DeleteFunc(slices.Concat(objs, known), func(o fleet.Object) bool { return !isCRD(o) })
	out := matchChecks(c, objs, crds)
	rules := c.AllIgnoreRules()
	for i := range rules {
		out = append(out, ignoreChecks(c, &rules[i], objs, crds)...)
	}
	return append(out, imageChecks(c, objs)...)
}

// ignoreChecks is RuleChecks for one rule to ignore.
func ignoreChecks(c *fleet.Cluster, r *fleet.IgnoreRule, objs, crds []fleet.Object) []fleet.RuleCheck {
	a := newApplication(c)
	in := rule{at: []diag.Pos{r.Pos}, path: r.Path(), noun: "a rule", target: "match", among: "its clusters have", absent: "remove it"}
	for _, o := range objs {
		if r.Release == "" || o.Release.Name == r.Release {
			a.items = append(a.items, &item{Object: o})
		}
	}
	if i := slices.IndexFunc(c.Releases, func(of *fleet.Release) bool { return of.Name == r.Release }); i >= 0 {
		a.release, in.among = c.Releases[i], "the release has"
	}
	matched, _ := a.matched(r.Match)
	check := fleet.RuleCheck{Path: r.Path("match"), Pos: r.Pos, Holds: len(matched) > 0}
	if !check.Holds {
		d, near := a.unmatched(in, r.Match)
		check.Near, check.Msg, check.Hint = near, d.Msg, d.Hint
		return []fleet.RuleCheck{check}
	}
	m := &matchChecker{application: a, kinds: kindsOf(c, objs, crds)}
	m.check(r.Match, r.Texts, itemObjects(a.items))
	out := append([]fleet.RuleCheck{check}, m.checks...)
	for i, f := range r.Fields {
		path := r.Path("fields", fmt.Sprint(i))
		check := fleet.RuleCheck{Path: path, Pos: f.Pos, Holds: true}
		if d, near := a.cannotHave(rule{at: []diag.Pos{f.Pos}, path: path}, f, matched, crds); d != nil {
			check.Holds, check.Near, check.Msg, check.Hint = false, near, d.Msg, d.Hint
		}
		out = append(out, check)
	}
	return out
}
