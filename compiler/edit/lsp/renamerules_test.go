package lsp

import (
	"strings"
	"testing"
)

// Texts in the rules of a fleet are names of releases, and those in values and objects are
// not.
func TestIsReleaseList(t *testing.T) {
	for path, want := range map[string]bool{
		"policies named match releases 0":                 true,
		"releases web health Job match releases 0":        true,
		"releases web patches a target releases 0":        true,
		"differences same allow releases 0":               true,
		"differences same allow charts 1":                 true,
		"differences same allow values 0":                 true,
		"differences same allow objects 0":                false,
		"releases web values match releases 0":            false,
		"releases web defaults prod target releases 0":    false,
		"releases web objects rule spec match releases 0": false,
		"releases web values differences allow releases":  false,
	} {
		if got := isReleaseList(strings.Fields(path)); got != want {
			t.Errorf("%s is a list of releases: %t, want %t", path, got, want)
		}
	}
}
