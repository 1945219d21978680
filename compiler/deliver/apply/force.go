package apply

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A Force selects the conflicts that an apply wins, by owner or by object. The zero
// value selects none.
type Force struct {
	All      bool
	Releases []string // names
	Managers []string // names of field managers
	Objects  []string // IDs: Deployment.apps web/web
}

// ForceAll is the text of a [Force] that wins all conflicts.
const ForceAll = "all"

// ParseForce parses values of --force-conflicts: all, release:NAME, manager:NAME or
// object:ID.
func ParseForce(texts []string) (Force, error) {
	var f Force
	var faults diag.List
	for _, text := range texts {
		kind, name, _ := strings.Cut(text, ":")
		list := map[string]*[]string{"release": &f.Releases, "manager": &f.Managers, "object": &f.Objects}[kind]
		switch {
		case text == ForceAll || text == "true":
			f.All = true
		case text == "false":
		case list != nil && name != "":
			*list = append(*list, name)
		default:
			faults.Add(&diag.Diag{
				Code: diag.CodeFlagValue,
				Msg:  "--force-conflicts does not accept " + quote(text),
				Hint: "write --force-conflicts=release:NAME, manager:NAME or object:ID, such as object:'Deployment.apps web/web'; or pass the flag without a value to take all fields",
			})
		}
	}
	return f, faults.Err()
}

// takes reports whether the item takes the fields of a manager.
func (f Force) takes(it *Item, manager string) bool {
	return f.All || slices.Contains(f.Releases, it.Release) || slices.Contains(f.Objects, it.ID) || slices.Contains(f.Managers, manager)
}

// takesAll reports whether the item takes all of the fields.
func (f Force) takesAll(it *Item, fields []cluster.Field) bool {
	return !slices.ContainsFunc(fields, func(field cluster.Field) bool { return !f.takes(it, field.Manager) })
}

// conflictHint says how to solve a conflict. Rollbacks have no --strict.
func (p *planner) conflictHint(it *Item) string {
	undo := ""
	if p.Origin.Rollback == 0 && !it.takeover.byHand && slices.ContainsFunc(it.Fields, isChangeByHand) {
		undo = "--strict to undo changes by hand, or "
	}
	return "pass " + undo + "--force-conflicts=release:" + it.Release + " to take these fields, or manager:NAME or object:ID; or set ownership of the release"
}

// Unused returns a fault for each release and object that is in none of the plans.
// A manager without a conflicting field is not a fault: an earlier apply may have
// taken all of them.
func (f Force) Unused(plans []*Plan) error {
	var releases, objects []string
	for _, p := range plans {
		for _, it := range withParts(p.Items) {
			releases, objects = append(releases, it.Release), append(objects, it.ID)
		}
	}
	var faults diag.List
	check := func(kind string, names, known []string) {
		known = diag.Distinct(known)
		for _, name := range names {
			if !slices.Contains(known, name) {
				faults.Add(&diag.Diag{
					Code: diag.CodeNoMatch,
					Msg:  "--force-conflicts=" + kind + ":" + diag.Visible(name, diag.MaxText) + ": no plan has this " + kind,
					Hint: diag.DidYouMean(name, known),
				})
			}
		}
	}
	check("release", f.Releases, releases)
	check("object", f.Objects, objects)
	return faults.Err()
}
