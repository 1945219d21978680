package diag

// A FixKind is a way to change the files of a fleet.
type FixKind int

// The kinds of fixes. Positions are those of the fault.
const (
	FixName    FixKind = iota + 1 // replace the key or the text Old at the first position by New
	FixValue                      // replace the value at the first position by New, which is CUE
	FixSource                     // replace the source text Old at the first position by the source text New
	FixImport                     // import the package New in the file of the first position
	FixWaiver                     // set the field Path to New, which is CUE with [Reason] in it, in the file of the first position
	FixDefault                    // move the value of the highest layer from values to defaults
	FixChart                      // pin the chart Old in version New again, in the package whose file has a position
)

// Reason is the placeholder that a user replaces with the reason for a waiver.
const Reason = "TODO: say why"

// A Fix is a change of the fleet's files that fixes a fault. An editor applies it only if
// the text to replace is still there.
type Fix struct {
	Kind     FixKind
	Old, New string
	Path     string // a path in CUE's syntax
}

// Respell returns the fix that replaces a misspelled word, as suggested by [DidYouMean]; none
// if no word is similar.
func Respell(word string, among []string) []Fix {
	if near := Nearest(word, among); near != "" {
		return []Fix{{Kind: FixName, Old: word, New: near}}
	}
	return nil
}
