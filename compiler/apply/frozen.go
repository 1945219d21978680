package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A Frozen is a plan to be kept: what it does, and what it takes for granted.
// It has no content of objects. The names of its fields in JSON stay as they
// are.
type Frozen struct {
	Cluster string       `json:"cluster"` // ID
	UID     string       `json:"uid"`     // of the cluster
	Bundle  string       `json:"bundle"`  // digest
	Objects []FrozenItem `json:"objects"` // those that are not unchanged
}

// A FrozenItem is an object of a [Frozen] plan.
type FrozenItem struct {
	ID     string `json:"id"`
	Action Action `json:"action"`
	State  string `json:"state"` // says what the object was when the plan was made; empty when it was not there
}

// Frozen returns the plan to be kept.
func (p *Plan) Frozen() Frozen {
	f := Frozen{Cluster: p.Cluster, UID: p.UID, Bundle: p.Bundle, Objects: []FrozenItem{}}
	for _, it := range p.Items {
		if it.Action != Unchanged {
			f.Objects = append(f.Objects, FrozenItem{it.ID, it.Action, stateOf(it.Before)})
		}
	}
	return f
}

// stateOf returns a text that is another one when what owners decide of an
// object is. That of a Secret is not made from what it holds.
func stateOf(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	state := any(content(o))
	if strings.EqualFold(o.GetKind(), "Secret") {
		state = o.GetResourceVersion()
	}
	text, err := json.Marshal([]any{o.GetUID(), state})
	if err != nil {
		return "?" // never equal to what was read from a file
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
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
	}
	for _, it := range f.Objects {
		if !is[it.ID] {
			faults.Add(&diag.Diag{Path: diag.Visible(it.ID, diag.MaxText), Msg: fmt.Sprintf("it is not as the plan has it: the plan has %s, and now there is nothing to do", diag.Visible(string(it.Action), diag.MaxText)), Hint: again})
		}
	}
	return faults.Err()
}
