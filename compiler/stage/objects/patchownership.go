package objects

import (
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckOwnership returns the faults of a release's rules about field ownership
// and recreation: a target or kind that matches no object, an owned field that
// no object has, an ignored field that no object can have, and a field that is
// both. objs are the objects after all patches; others has the CRDs of the
// cluster.
func CheckOwnership(c *fleet.Cluster, r *fleet.Release, objs, others []fleet.Object) error {
	if len(r.Ownership) == 0 && len(r.Replace) == 0 {
		return nil
	}
	a := newApplication(c)
	a.release = r
	for _, o := range objs {
		a.items = append(a.items, &item{Object: o})
	}
	crds := slices.DeleteFunc(slices.Clone(others), func(o fleet.Object) bool { return !isCRD(o) })
	var faults diag.List
	rules := map[string][]ownershipRule{} // by IDs of objects
	for i := range r.Ownership {
		o := &r.Ownership[i]
		matched, _ := a.matched(o.Target)
		if len(matched) == 0 {
			if !o.Optional {
				d, _ := a.unmatched(a.rule("ownership", o.Name, o.Pos), o.Target)
				faults.Add(d)
			}
			continue
		}
		for j, f := range o.Fields {
			at := rule{at: []diag.Pos{f.Pos}, path: fmt.Sprintf("%s.fields.%d", r.Path("ownership", label(o.Name)), j)}
			found := false
			for _, it := range matched {
				exists := len(fleet.Elements(it.Object.Object, f.Path)) > 0
				found = found || exists
				if exists || o.Leave {
					faults.Add(contradiction(at, it.Object, f, o, rules[it.ID()]))
					rules[it.ID()] = append(rules[it.ID()], ownershipRule{o, f})
				}
			}
			switch {
			case found:
			case !o.Leave && !o.Optional:
				faults.Add(a.noField(at, f, matched))
			default:
				if d, _ := a.cannotHave(at, f, matched, crds); d != nil {
					faults.Add(d)
				}
			}
		}
	}
	for i, k := range r.Replace {
		if matched, _ := a.matched(fleet.Selector{Kinds: []string{k.Kind}}); len(matched) == 0 {
			d, _ := a.unmatched(rule{at: []diag.Pos{k.Pos}, noun: "a kind", among: "the release has", absent: "remove it"}, fleet.Selector{Kinds: []string{k.Kind}})
			d.Path = r.Path("replace", fmt.Sprint(i))
			faults.Add(d)
		}
	}
	return faults.Err()
}

// noField returns the fault of a path that none of the objects has, with the
// fields that exist instead.
func (a *application) noField(at rule, f fleet.FieldPath, matched []*item) *diag.Diag {
	d := &diag.Diag{Code: diag.CodeOwnership, At: at.at, Path: at.path}
	d.Msg = fmt.Sprintf("no field %s exists in %s", visible(fleet.StepsText(f.Path)), list(itemObjects(matched)))
	d.Hint = "name a field that the release sets, or remove this line"
	return d
}

// An ownershipRule is a rule about a field of an object.
type ownershipRule struct {
	by    *fleet.Ownership
	field fleet.FieldPath
}

// contradiction returns the fault of a field with contradicting rules, or nil.
func contradiction(at rule, o fleet.Object, f fleet.FieldPath, by *fleet.Ownership, rules []ownershipRule) error {
	for _, s := range rules {
		if s.by.Leave != by.Leave && (fleet.HasPrefix(s.field.Path, f.Path) || fleet.HasPrefix(f.Path, s.field.Path)) {
			return &diag.Diag{
				Code: diag.CodeOwnership,
				At:   append(at.at, s.field.Pos), Path: at.path,
				Msg:  fmt.Sprintf("%s of %s is both taken and left", visible(fleet.StepsText(f.Path)), visible(o.ID())),
				Hint: "choose one of them",
			}
		}
	}
	return nil
}
