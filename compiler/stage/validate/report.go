package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxOrigins = 5  // origins in the message of a fault; the rest is counted
	maxPlaces  = 10 // positions of a fault
)

// fault returns a fault of one object.
func fault(o fleet.Object, msg, hint string) *diag.Diag {
	return &diag.Diag{Code: diag.CodeObjectValue, At: diag.Positions(o.Pos), Path: o.Title(), Msg: msg + " (" + o.Origin() + ")", Hint: hint}
}

// reportUnknown adds one fault for each kind that the cluster does not serve.
func (k *check) reportUnknown() {
	for gvk, objs := range k.unknown {
		msg, hint := k.kinds.unknown(gvk)
		msg += " (" + objs[0].Origin()
		if n := len(objs) - 1; n > 0 {
			msg += fmt.Sprintf("; %d more of this kind", n)
		}
		k.faults = append(k.faults, &diag.Diag{Code: diag.CodeUnknownKind, At: positions(objs), Path: objs[0].Title(), Msg: msg + ")", Hint: hint})
	}
}

// reportDuplicates adds one fault for each object that occurs more than once.
func (k *check) reportDuplicates() {
	for _, objs := range k.seen {
		if len(objs) < 2 {
			continue
		}
		times := "twice"
		if len(objs) > 2 {
			times = fmt.Sprintf("%d times", len(objs))
		}
		from := diag.Each(objs[:min(len(objs), maxOrigins)], fleet.Object.Origin)
		msg := fmt.Sprintf("the cluster has it %s: %s", times, strings.Join(from, "; "))
		if n := len(objs) - len(from); n > 0 {
			msg += fmt.Sprintf("; %d more", n)
		}
		k.faults = append(k.faults, &diag.Diag{
			Code: diag.CodeSameObject,
			At:   positions(objs), Path: objs[0].Title(), Msg: msg, Hint: "leave it out or rename it in all but one",
		})
	}
}

// positions returns the first positions of the objects, without duplicates.
func positions(objs []fleet.Object) []diag.Pos {
	var at []diag.Pos
	for _, o := range objs {
		if len(at) < maxPlaces && o.Pos.IsValid() && !slices.Contains(at, o.Pos) {
			at = append(at, o.Pos)
		}
	}
	return at
}
