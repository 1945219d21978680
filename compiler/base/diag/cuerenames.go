package diag

// A Rename is a field of the schema that has another name now. fleetc fix renames it in
// fleets, and fleetc vet says so where the old name is set.
type Rename struct {
	Since      string // first version with the new name
	Definition string // definition that has the field: "#Release"
	Old, New   string // names of the field
}

// Renames are all renames of fields since the first release, in order of time. No field was
// renamed so far. Entries are never removed, so that users can skip versions.
var Renames []Rename
