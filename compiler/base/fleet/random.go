package fleet

import "github.com/fleetc/fleetc/compiler/base/diag"

// A Random says what becomes of a field that a chart makes up anew whenever it
// renders: a password, a certificate, a time.
type Random struct {
	Object string   // Kind/name
	Field  []string // of the object: keys, and indexes of lists; with all that is below it
	Action RandomAction
	Value  any      // of SetRandom, as encoding/json decodes it
	Pos    diag.Pos // where it is written
}

// A RandomAction is what becomes of such a field.
type RandomAction int

// What can become of it.
const (
	KeepRandom RandomAction = iota // it has the value of the last bundle, and a new one only where there is none
	DropRandom                     // it is removed
	SetRandom                      // it has a value
)
