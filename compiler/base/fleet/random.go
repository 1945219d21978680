package fleet

import "github.com/fleetc/fleetc/compiler/base/diag"

// A RandomField is the rule for a field that differs in every rendering, such
// as a password, a certificate or a time.
type RandomField struct {
	Object string   // Kind/name
	Field  []string // keys and list indices of the field; includes everything below it
	Action RandomAction
	Value  any      // for SetRandom, as decoded JSON
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
