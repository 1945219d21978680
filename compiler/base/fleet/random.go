package fleet

import (
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A RandomField is the rule for a field that differs in every rendering, such
// as a password, a certificate or a time.
type RandomField struct {
	Object string   // Kind/name
	Field  []string // keys and list indices of the field; for KeepRandom, of nondeterministic fields at or below it
	Action RandomAction
	Value  any      // for SetRandom, as decoded JSON; for KeepRandom, the rendered value
	Pos    diag.Pos // position of the rule
}

// A RandomAction is the treatment of a random field.
type RandomAction int

// The treatments.
const (
	KeepRandom RandomAction = iota // keep the value of the last bundle; generate one if there is none
	DropRandom                     // remove the field
	SetRandom                      // set the field to a value
)

// KeptText stands for a kept value of a Secret that an export encrypts. It is base64 of
// "kept", which most fields accept.
const KeptText = "a2VwdA=="

// Keeps reports whether the release has a rule that keeps values of random fields.
func (r *Release) Keeps() bool {
	return slices.ContainsFunc(r.Random, func(d RandomField) bool { return d.Action == KeepRandom })
}

// RandomRule returns the index of the rule for a nondeterministic field of an object, -1
// when the release has none.
func (r *Release) RandomRule(o Object, field []string) int {
	name := o.GetKind() + "/" + o.GetName()
	return slices.IndexFunc(r.Random, func(d RandomField) bool {
		return d.Object == name && len(d.Field) <= len(field) && slices.Equal(d.Field, field[:len(d.Field)])
	})
}
