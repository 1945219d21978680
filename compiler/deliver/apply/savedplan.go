package apply

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A SavedPlan is a plan without the contents of objects, to be stored and compared
// with a later one. Its JSON field names are stable.
type SavedPlan struct {
	Cluster string        `json:"cluster"` // ID
	UID     string        `json:"uid"`
	Bundle  string        `json:"bundle"`                  // digest
	Objects []SavedItem   `json:"objects"`                 // except unchanged ones
	Actions []SavedAction `json:"actions"`                 // actions to run
	Hooks   string        `json:"deletionHooks,omitempty"` // digest of those that the digest of the bundle does not cover

	Records []SavedRecord `json:"helmRecords,omitempty"` // records to remove
}

// A SavedItem is an object of a [SavedPlan].
type SavedItem struct {
	ID     string `json:"id"`
	Action Action `json:"action"`
	State  string `json:"state"` // digest of the live object at the time of the plan; empty when it did not exist. Of a release that Helm delivers, also of its desired state

	Cascade []string `json:"cascade,omitempty"` // hashes of the UIDs of objects that are deleted along with it
}

// A SavedAction is an action of a [SavedPlan].
type SavedAction struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // of its definition in the fleet
}

// Saved returns the plan in the form to be stored.
func (p *Plan) Saved() SavedPlan {
	f := SavedPlan{Cluster: p.Cluster, UID: p.UID, Bundle: p.Bundle, Objects: []SavedItem{}, Actions: []SavedAction{}, Hooks: p.hooksDigest, Records: p.savedRecords()}
	for _, it := range p.Items {
		if it.Action != Unchanged {
			f.Objects = append(f.Objects, SavedItem{it.ID, it.Action, it.state(), it.cascadeHashes()})
		}
	}
	for _, a := range p.Actions {
		a.Pos = diag.Pos{}
		f.Actions = append(f.Actions, SavedAction{a.ID(), digestOf(a.Action)})
	}
	return f
}

// cascadeHashes returns a short hash of each object that is deleted along with the
// item or its parts.
func (it *Item) cascadeHashes() []string {
	var out []string
	if it.Cascade != nil {
		for _, uid := range it.Cascade.uids {
			out = append(out, hexSum([]byte(uid), 8))
		}
	}
	for i := range it.Parts {
		out = append(out, it.Parts[i].cascadeHashes()...)
	}
	return out
}

// state returns a digest of the parts of the live object that its owners decide,
// without the fields that the release leaves to others. The state of a Secret is
// its resource version, so that it reveals nothing about the content.
func (it *Item) state() string {
	if it.IsHelm() {
		return it.helmState()
	}
	o := it.Before
	if o == nil {
		return ""
	}
	state := any(content(o))
	if paths := it.ownershipPaths(true); len(paths) > 0 {
		state = runtime.DeepCopyJSONValue(state)
		for _, path := range paths {
			clearAt(state, path)
		}
	}
	if strings.EqualFold(o.GetKind(), "Secret") {
		state = o.GetResourceVersion()
	}
	return stateOf(o.GetUID(), state)
}

// helmState returns a digest of a release that Helm delivers: its live and desired
// state, and the plan for its objects.
func (it *Item) helmState() string {
	parts := diag.Each(it.Parts, func(part Item) []any { return []any{part.ID, part.Action, part.uid, part.state()} })
	return stateOf(it.uid, it.digest, parts)
}

// stateOf returns a digest of several values.
func stateOf(state ...any) string { return digestOf(state) }

// digestOf returns a digest of a value.
func digestOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?" // differs from every stored digest
	}
	return hexSum(text, 16)
}

// clearAt removes the values at a path.
func clearAt(v any, path []fleet.Step) {
	last := path[len(path)-1]
	if last.Key == "" {
		for _, element := range fleet.Elements(v, path) {
			if m, ok := element.(map[string]any); ok {
				clear(m)
			}
		}
		return
	}
	for _, parent := range fleet.Elements(v, path[:len(path)-1]) {
		if m, ok := parent.(map[string]any); ok {
			delete(m, last.Key)
		}
	}
}

// Check returns a fault for each difference between the saved plan and a new one,
// nil when they do the same.
func (f SavedPlan) Check(p *Plan) error {
	const again = "plan again"
	switch {
	case f.Cluster != p.Cluster:
		return &diag.Diag{Code: diag.CodeOtherCluster, Msg: "the plan is for cluster " + quote(f.Cluster), Hint: again}
	case f.UID != p.UID:
		return &diag.Diag{
			Code: diag.CodeOtherCluster,
			Msg:  fmt.Sprintf("the plan is for a different cluster than %s: the UID of its namespace kube-system was %s", p.Server, diag.Visible(f.UID, diag.MaxText)),
			Hint: "see cluster.context",
		}
	case f.Hooks != p.hooksDigest && f.Bundle == p.Bundle:
		return &diag.Diag{Code: diag.CodeStalePlan, Msg: "the deletion hooks of this cluster have changed since the plan was made", Hint: again}
	case f.Bundle != p.Bundle:
		return &diag.Diag{Code: diag.CodeStalePlan, Msg: "the bundle of this cluster has changed since the plan was made", Hint: again}
	}
	now := p.Saved()
	var faults diag.List
	differs := func(id, msg string) {
		faults.Add(&diag.Diag{Code: diag.CodeStalePlan, Path: diag.Visible(id, diag.MaxText), Msg: msg, Hint: again})
	}
	planned := map[string]SavedItem{}
	for _, it := range f.Objects {
		planned[it.ID] = it
	}
	found := map[string]bool{}
	for _, it := range now.Objects {
		found[it.ID] = true
		before, ok := planned[it.ID]
		switch {
		case !ok || before.Action != it.Action:
			differs(it.ID, otherAction(before.Action, it.Action))
		case before.State != it.State:
			differs(it.ID, "it was changed since the plan was made")
		}
		if n := (&Cascade{uids: it.Cascade}).countExcept(before.Cascade); ok && n > 0 {
			differs(it.ID, cascadeGrew(n))
		}
	}
	for _, it := range f.Objects {
		if !found[it.ID] {
			differs(it.ID, otherAction(it.Action, ""))
		}
	}
	faults.Add(f.checkActions(now))
	return faults.Err()
}

// otherAction is the message for an object with another action than in the plan.
func otherAction(planned, now Action) string {
	return fmt.Sprintf("it differs from the plan: the action was %s, and now it is %s", diag.Visible(string(cmp.Or(planned, "none")), diag.MaxText), cmp.Or(now, "none"))
}

// checkActions returns a fault for each action that differs from the saved plan.
func (f SavedPlan) checkActions(now SavedPlan) error {
	var faults diag.List
	wrong := func(id, msg string) {
		faults.Add(&diag.Diag{Code: diag.CodeStalePlan, Path: "action " + diag.Visible(id, diag.MaxText), Msg: msg, Hint: "plan again"})
	}
	planned := map[string]string{}
	for _, a := range f.Actions {
		planned[a.ID] = a.Digest
	}
	for _, a := range now.Actions {
		switch digest, ok := planned[a.ID]; {
		case !ok:
			wrong(a.ID, "it is not in the plan")
		case digest != a.Digest || digest == "?":
			wrong(a.ID, "it was changed since the plan was made")
		}
		delete(planned, a.ID)
	}
	for id := range planned {
		wrong(id, "it is in the plan, but would not run now")
	}
	return faults.Err()
}

// checkNewer returns a fault if the cluster got a revision of other files after the earlier
// plan was made, which the history of the fleet's files does not contain: to apply would
// undo its changes.
func (p *Plan) checkNewer(earlier *Plan) error {
	if p.Newer == nil || earlier.Current == p.Current {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeStalePlan,
		Msg:  "since the plan was made, the cluster got " + p.Newer.Title() + ", which the history of these files does not contain",
		Hint: "pull the changes, and run the command again",
	}
}

// Title names a revision with its commit, if it is known, and its user.
func (v *Revision) Title() string {
	const short = 12
	text := fmt.Sprintf("revision %d", v.Number)
	if v.Commit != "" {
		text += " of commit " + diag.Visible(v.Commit[:min(short, len(v.Commit))], short)
	}
	return text + " from " + diag.Visible(v.By, diag.MaxText)
}
