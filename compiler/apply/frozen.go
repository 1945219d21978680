package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// A Frozen is a plan to be kept: what it does, and what it takes for granted.
// It has no content of objects. The names of its fields in JSON stay as they
// are.
type Frozen struct {
	Cluster string         `json:"cluster"` // ID
	UID     string         `json:"uid"`     // of the cluster
	Bundle  string         `json:"bundle"`  // digest
	Objects []FrozenItem   `json:"objects"` // those that are not unchanged
	Actions []FrozenAction `json:"actions"` // those that are done

	Records []FrozenRecord `json:"helmRecords,omitempty"` // those that are removed
}

// A FrozenItem is an object of a [Frozen] plan.
type FrozenItem struct {
	ID     string `json:"id"`
	Action Action `json:"action"`
	State  string `json:"state"` // says what the object was when the plan was made; empty when it was not there. Of a release that Helm delivers, also what it is to be

	Cascade []string `json:"cascade,omitempty"` // hashes of the UIDs of the objects that are deleted along with it
}

// A FrozenAction is an action of a [Frozen] plan.
type FrozenAction struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // of all that the fleet says of it
}

// Frozen returns the plan to be kept.
func (p *Plan) Frozen() Frozen {
	f := Frozen{Cluster: p.Cluster, UID: p.UID, Bundle: p.Bundle, Objects: []FrozenItem{}, Actions: []FrozenAction{}, Records: p.frozenRecords()}
	for _, it := range p.Items {
		if it.Action != Unchanged {
			f.Objects = append(f.Objects, FrozenItem{it.ID, it.Action, it.state(), it.cascadeHashes()})
		}
	}
	for _, a := range p.Actions {
		f.Actions = append(f.Actions, FrozenAction{a.ID(), digestOf(a.Action)})
	}
	return f
}

// digestOf returns a text that is another one when an action does something
// else, at another moment or for longer.
func digestOf(a fleet.Action) string {
	a.Pos = diag.Pos{}
	text, err := json.Marshal(a)
	if err != nil {
		return "?" // never equal to what was read from a file
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// cascadeHashes returns a short hash for each object that is deleted along with the
// item or its parts.
func (it *Item) cascadeHashes() []string {
	var out []string
	if it.Cascade != nil {
		for _, uid := range it.Cascade.uids {
			sum := sha256.Sum256([]byte(uid))
			out = append(out, hex.EncodeToString(sum[:8]))
		}
	}
	for i := range it.Parts {
		out = append(out, it.Parts[i].cascadeHashes()...)
	}
	return out
}

// state returns a text that is another one when what owners decide of the object
// that is there is, other than in fields that its release leaves to them. That of
// a Secret is not made from what it holds.
func (it *Item) state() string {
	if it.IsHelm() {
		return it.helmState()
	}
	o := it.Before
	if o == nil {
		return ""
	}
	state := any(content(o))
	if paths := it.owned(true); len(paths) > 0 {
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

// helmState returns a text that is another one when a release that Helm delivers
// is to become something else, or it or what happens to its objects is.
func (it *Item) helmState() string {
	parts := make([][]any, len(it.Parts))
	for i, part := range it.Parts {
		parts[i] = []any{part.ID, part.Action, part.uid, part.state()}
	}
	return stateOf(it.uid, it.digest, parts)
}

func stateOf(state ...any) string {
	text, err := json.Marshal(state)
	if err != nil {
		return "?" // never equal to what was read from a file
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// clearAt empties what a path leads to.
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

// Check returns a fault for everything that is not as it was when the frozen
// plan was made, nil when the plan still does the same.
func (f Frozen) Check(p *Plan) error {
	const again = "plan again"
	switch {
	case f.Cluster != p.Cluster:
		return &diag.Diag{Msg: "the plan is for cluster " + quote(f.Cluster)}
	case f.UID != p.UID:
		return &diag.Diag{Msg: fmt.Sprintf("the plan is for another cluster than %s: the UID of its namespace kube-system was %s", p.Server, diag.Visible(f.UID, diag.MaxText)), Hint: "see cluster.context"}
	case f.Bundle != p.Bundle:
		return &diag.Diag{Msg: "the fleet has another bundle for this cluster than when the plan was made", Hint: again}
	}
	now := p.Frozen()
	planned, is := map[string]FrozenItem{}, map[string]bool{}
	for _, it := range f.Objects {
		planned[it.ID] = it
	}
	var faults diag.List
	for _, it := range now.Objects {
		is[it.ID] = true
		was, ok := planned[it.ID]
		switch {
		case !ok:
			faults.Add(&diag.Diag{Path: it.ID, Msg: fmt.Sprintf("it is not as the plan has it: there was nothing to do, and now it is %s", it.Action), Hint: again})
		case was.Action != it.Action:
			faults.Add(&diag.Diag{Path: it.ID, Msg: fmt.Sprintf("it is not as the plan has it: the plan has %s, and now it is %s", was.Action, it.Action), Hint: again})
		case was.State != it.State:
			faults.Add(&diag.Diag{Path: it.ID, Msg: "it was changed since the plan was made", Hint: again})
		}
		if n := (&Cascade{uids: it.Cascade}).beyond(was.Cascade); ok && n > 0 {
			faults.Add(&diag.Diag{Path: it.ID, Msg: moreDeleted(n), Hint: again})
		}
	}
	for _, it := range f.Objects {
		if !is[it.ID] {
			faults.Add(&diag.Diag{Path: diag.Visible(it.ID, diag.MaxText), Msg: fmt.Sprintf("it is not as the plan has it: the plan has %s, and now there is nothing to do", diag.Visible(string(it.Action), diag.MaxText)), Hint: again})
		}
	}
	faults.Add(f.checkActions(now))
	return faults.Err()
}

// checkActions returns a fault for every action that is not as the plan has it.
func (f Frozen) checkActions(now Frozen) error {
	var faults diag.List
	wrong := func(id, msg string) {
		faults.Add(&diag.Diag{Path: "action " + diag.Visible(id, diag.MaxText), Msg: msg, Hint: "plan again"})
	}
	planned := map[string]string{}
	for _, a := range f.Actions {
		planned[a.ID] = a.Digest
	}
	for _, a := range now.Actions {
		switch digest, ok := planned[a.ID]; {
		case !ok:
			wrong(a.ID, "the plan does not have it")
		case digest != a.Digest || digest == "?":
			wrong(a.ID, "it was changed since the plan was made")
		}
		delete(planned, a.ID)
	}
	for id := range planned {
		wrong(id, "the plan has it, and now it is not to be done")
	}
	return faults.Err()
}
