package apply

import (
	"slices"
	"time"
)

// maxApplies is how many applies of its bundle a revision lists.
const maxApplies = 10

// An Applied is one apply of the bundle of a [Revision].
type Applied struct {
	Time time.Time `json:"time"`
	By   string    `json:"by"`
	Tool string    `json:"tool"`
}

// Count returns how often the bundle was applied as a whole.
func (r *Revision) Count() int { return max(1, r.Times) }

// LastApplied returns the last apply of the bundle.
func (r *Revision) LastApplied() Applied {
	all := r.AllApplied()
	return all[len(all)-1]
}

// AllApplied returns a copy of the list of applies of the bundle, at least one,
// the first in front.
func (r *Revision) AllApplied() []Applied {
	if len(r.Applies) > 0 {
		return slices.Clone(r.Applies)
	}
	return []Applied{{r.Time, r.By, r.Tool}}
}

// absorb adds the applies of an earlier revision of the same bundle.
func (r *Revision) absorb(old Revision) {
	all := slices.Concat(old.AllApplied(), r.AllApplied())
	r.Times = old.Count() + r.Count()
	r.Applies = all[max(0, len(all)-maxApplies):]
	r.Folded = slices.Concat(old.Folded, r.Folded)
	if old.Number != r.Number {
		r.Folded = append(r.Folded, old.Number)
	}
	slices.Sort(r.Folded)
	r.Folded = slices.Compact(r.Folded)
}

// fold returns a history in which every bundle is once, at the place and with the
// number of its newest revision. Histories of earlier versions have a revision for
// each apply.
func fold(history []Revision) []Revision {
	var out []Revision
	for _, r := range history {
		if i := slices.IndexFunc(out, func(o Revision) bool { return o.Bundle == r.Bundle }); i >= 0 {
			r.absorb(out[i])
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, r)
	}
	return out
}

// remember returns the history with an apply, and the number of its revision. A
// bundle that is the newest already keeps its revision; one that comes back gets a
// new number. The history has at most so many bundles; 0 is for no limit.
func remember(history []Revision, r Revision, most int) ([]Revision, int) {
	history = fold(history)
	r.Number = 1
	if n := len(history); n > 0 {
		newest := history[n-1]
		r.Number = newest.Number + 1
		if newest.Bundle == r.Bundle { // the record is that of the first apply
			again := r
			r = newest
			again.Number = newest.Number
			again.absorb(newest)
			r.Times, r.Applies, r.Folded, r.Parts, r.Actions = again.Times, again.Applies, again.Folded, again.Parts, again.Actions
			history = history[:n-1]
		}
	}
	history = fold(append(slices.Clone(history), r))
	if most > 0 && len(history) > most {
		history = history[len(history)-most:]
	}
	return history, r.Number
}
