package validate

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// maxFieldDepth is the maximum depth of the fields of a rule that are compared with those
// of Kubernetes. Some of its schemas refer to themselves.
const maxFieldDepth = 30

// misspelt finds the fields of a rule that no kind of its objects has, and that are similar
// to one that a kind has: a rule with replica?: >1 never applies, and no object satisfies
// one with replica: >1. It reports whether there are any. Objects of custom resources are not
// compared.
func (r *policyRun) misspelt(rl *rule) bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, o := range rl.matched {
		kinds[o.GroupVersionKind()] = true
	}
	var names []string
	var known []*kube.Schema
	for kind := range kinds {
		versions := schemasOf(kind)
		if len(versions) == 0 {
			return false
		}
		names, known = append(names, kind.String()), append(known, versions...)
	}
	slices.Sort(names)
	v := r.k.verdicts.get(cacheKey{rl.source, digestOf(strings.Join(names, "\n"))}, func() result {
		return r.evaluator().misspelt(rl, known)
	})
	for _, f := range v.found {
		r.faults = append(r.faults, &diag.Diag{
			Code: diag.CodePolicyInvalid,
			At:   diag.Positions(f.line, rl.Pos), Path: policyPath(rl.Name) + ".object" + fieldText(f.path),
			Msg: "no object that it matches can have this field", Hint: f.text,
		})
	}
	return len(v.found) > 0
}

// fieldText returns the path of a field of a rule, in which 0 stands for all items of a list.
func fieldText(path []string) string {
	var b strings.Builder
	for _, s := range path {
		if s == "0" {
			b.WriteString("[...]")
		} else {
			b.WriteString("." + fleet.Label(s))
		}
	}
	return b.String()
}

// schemasOf returns the schemas of a kind in the oldest and the newest known version of
// Kubernetes that have it.
func schemasOf(kind schema.GroupVersionKind) []*kube.Schema {
	var all []*kube.Schema
	versions := kube.Versions()
	for _, v := range []*kube.Version{versions[0], versions[len(versions)-1]} {
		if s := v.Schema(kind); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// misspelt returns the misspelt fields of a rule, with the hint as text.
func (e *engine) misspelt(rl *rule, known []*kube.Schema) (v result) {
	defer recoverPanic(&v)
	c := e.compiledRule(rl)
	v.found = c.misspelt(c.policy.LookupPath(cue.MakePath(cue.Str("object"))), known, nil, nil)
	return v
}

func (c *compiledRule) misspelt(rule cue.Value, known []*kube.Schema, path []string, found []finding) []finding {
	if len(known) == 0 || len(path) > maxFieldDepth {
		return found
	}
	var items []*kube.Schema
	fields := map[string][]*kube.Schema{}
	open := false
	for _, s := range known {
		switch {
		case s.Type == kube.List:
			items = append(items, s.Elem)
		case len(s.Fields) == 0 || s.Open:
			open = true // the keys are those of the user
		}
		for name, f := range s.Fields {
			fields[name] = append(fields[name], f)
		}
	}
	if elem := rule.LookupPath(cue.MakePath(cue.AnyIndex)); len(items) > 0 && elem.Exists() {
		found = c.misspelt(elem, items, append(slices.Clip(path), "0"), found)
	}
	it, err := rule.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		sel := it.Selector()
		if sel.LabelType() != cue.StringLabel {
			continue
		}
		name := sel.Unquoted()
		at := append(slices.Clip(path), name)
		if hint := diag.DidYouMean(name, slices.Sorted(maps.Keys(fields))); fields[name] == nil && !open && hint != "" {
			found = append(found, finding{path: at, text: hint, line: c.line(at)})
		}
		found = c.misspelt(it.Value(), fields[name], at, found)
	}
	return found
}
