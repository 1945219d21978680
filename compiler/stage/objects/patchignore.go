package objects

import (
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

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
