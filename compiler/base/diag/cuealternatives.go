package diag

import (
	"slices"
	"strings"
)

// alternatives are the disjunctions for which CUE reports the error of each alternative, after
// an error that only counts them.
type alternatives struct {
	of     map[string]bool     // paths of disjunctions
	causes map[string][]string // by path, messages that are not about one alternative
}

// add adds the fault of a path, in CUE's order; nil for an error that counts others.
func (a *alternatives) add(path string, d *Diag) {
	switch {
	case d == nil:
		a.of[path] = true
	case causeOf(d) != d.Msg: // an interpolation that uses the field
	case strings.HasPrefix(d.Msg, "invalid value"), conflict.MatchString(d.Msg) && !a.of[path]:
		a.causes[path] = append(a.causes[path], d.Msg)
	}
}

// withoutOthers removes conflicts with alternatives of a disjunction, such as its default, if
// another error is the cause. For example, 0 for *2 | int & >=1 is too small.
func (a *alternatives) withoutOthers(l List) List {
	return slices.DeleteFunc(l, func(d *Diag) bool {
		msg, causes := causeOf(d), a.causes[d.Path]
		return a.of[d.Path] && len(causes) > 0 && conflict.MatchString(msg) && !slices.Contains(causes, msg)
	})
}
