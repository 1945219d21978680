package cuediag

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// withoutDefaults removes conflicts with alternatives of a disjunction, such as its default, if
// another alternative has the type of the value and refuses it: 0 for *2 | int & >=1 is too
// small.
func withoutDefaults(l diag.List, disjunctions map[string]bool) diag.List {
	all := slices.Clone(l)
	return slices.DeleteFunc(l, func(d *diag.Diag) bool {
		return disjunctions[d.Path] && conflict.MatchString(d.Msg) && slices.ContainsFunc(all, func(e *diag.Diag) bool {
			return e.Path == d.Path && strings.HasPrefix(e.Msg, "invalid value")
		})
	})
}
