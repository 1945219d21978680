package apply

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// Faults returns everything that prevents the apply: conflicts, immutable fields,
// rejected objects and Jobs, missing rights, and more pruned objects than allowed;
// nil when nothing does. Objects without their namespace are one fault.
func (p *Plan) Faults() error {
	var faults diag.List
	lacking := map[string]int{} // number of objects by missing namespace
	for _, it := range p.Items {
		if it.noNamespace {
			lacking[it.ref.Namespace]++
		}
	}
	for _, it := range p.Items {
		if it.noNamespace {
			n, first := lacking[it.ref.Namespace]
			if !first {
				continue
			}
			delete(lacking, it.ref.Namespace)
			if n > 1 {
				it.Reason += fmt.Sprintf(", which is also missing for %s", diag.Count(n-1, "other object", "other objects"))
			}
		}
		switch it.Action {
		case Conflict:
			faults.Add(&diag.Diag{Code: diag.CodeFieldConflict, At: it.positions, Path: it.ID, Msg: "other managers own fields of it: " + listFields(it.Fields), Hint: it.Hint})
		case Immutable, Refused:
			faults.Add(&diag.Diag{Code: diag.CodeObjectRefused, At: it.positions, Path: it.ID, Msg: it.Reason, Hint: it.Hint})
		}
	}
	for _, a := range p.Actions {
		if a.Reason != "" {
			faults.Add(&diag.Diag{Code: diag.CodeActionInvalid, At: []diag.Pos{a.Pos}, Path: "action " + a.ID(), Msg: a.Reason, Hint: a.Hint})
		}
	}
	if len(p.MissingRights) > 0 {
		faults.Add(&diag.Diag{Code: diag.CodeRights, Msg: notAllowedTo + listRights(p.MissingRights), Hint: cluster.RightsHint})
	}
	if n := p.pruned(); n > p.PruneLimit {
		faults.Add(&diag.Diag{
			Code: diag.CodePruneLimit,
			Msg:  fmt.Sprintf("%d objects would be pruned, and the limit is %d", n, p.PruneLimit),
			Hint: fmt.Sprintf("look at them with --dry-run; to prune them, pass --prune-limit %d", n),
		})
	}
	return faults.Err()
}

// pruned returns the number of deleted objects, including cascades. An object whose deletion
// waits for a custom resource counts in the first apply without it. Later applies count it
// again only for a limit that the user sets.
func (p *Plan) pruned() int {
	n := p.Cascaded()
	for _, it := range p.Items {
		if it.postponed {
			it.Action = Prune
		}
		if !it.alreadyCounted {
			n += prunes([]Item{it})
		}
	}
	return n
}

// Cascaded returns the number of objects that are deleted along with pruned ones.
func (p *Plan) Cascaded() int { return cascaded(p.Items) }

// cascaded returns the number of objects that are deleted along with items and their parts.
func cascaded(items []Item) int {
	n := 0
	for _, it := range withParts(items) {
		n += it.Cascade.Count()
	}
	return n
}

// prunes returns the number of objects that pruning items deletes. A release that Helm
// delivers counts its objects only.
func prunes(items []Item) int {
	n := 0
	for _, it := range withParts(items) {
		if it.Action == Prune && !it.IsHelm() {
			n++
		}
	}
	return n
}

func listFields(fields []cluster.Field) string {
	text := func(f cluster.Field) string { return strings.TrimPrefix(f.Path, ".") + " (" + f.Manager + ")" }
	return strings.Join(diag.Each(fields, text), ", ")
}

// notAllowedTo begins the reasons that a missing right has.
const notAllowedTo = "the user is not allowed to "

// UnreadFault returns the fault of objects that could not be read because of why. page is the
// page of the documentation with the rights of the command.
func UnreadFault(objects int, why, page string) *diag.Diag {
	d := &diag.Diag{
		Code: diag.CodeAPIServer, Msg: diag.Count(objects, "object", "objects") + " could not be read: " + why,
		Hint: "see the log of the API server, then run the command again",
	}
	if strings.HasPrefix(why, notAllowedTo) {
		d.Code, d.Hint = diag.CodeRights, "see "+page+" for the rights that fleetc needs"
	}
	return d
}

// listRights formats rights: patch deployments.apps in web; get and patch secrets.
func listRights(rights []cluster.Right) string {
	var parts []string
	for i := 0; i < len(rights); {
		r, verbs := rights[i], []string(nil)
		for ; i < len(rights) && sameObjects(rights[i], r); i++ {
			verbs = append(verbs, rights[i].Verb)
		}
		resource, part, isPart := strings.Cut(r.Resource, "/")
		text := verbs[len(verbs)-1] + " " + resource
		if rest := verbs[:len(verbs)-1]; len(rest) > 0 {
			text = strings.Join(rest, ", ") + " and " + text
		}
		if r.Group != "" {
			text += "." + r.Group
		}
		if isPart {
			text += "/" + part
		}
		if r.Namespace != "" {
			text += " in " + r.Namespace
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func sameObjects(a, b cluster.Right) bool {
	return a.Group == b.Group && a.Resource == b.Resource && a.Namespace == b.Namespace
}
