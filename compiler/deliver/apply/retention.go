package apply

import (
	"slices"
	"time"
)

// maxApplies is the number of applies that a revision lists.
const maxApplies = 10

// An ApplyRecord is one apply of the bundle of a [Revision].
type ApplyRecord struct {
	Time time.Time `json:"time"`
	By   string    `json:"by"`
	Tool string    `json:"tool"`
}

// Count returns how often the whole bundle was applied.
func (r *Revision) Count() int { return max(1, r.Times) }

// LastApply returns the last apply of the bundle.
func (r *Revision) LastApply() ApplyRecord {
	all := r.AllApplies()
	return all[len(all)-1]
}

// AllApplies returns the applies of the bundle, at least one, the oldest first.
func (r *Revision) AllApplies() []ApplyRecord {
	if len(r.Applies) > 0 {
		return slices.Clone(r.Applies)
	}
	return []ApplyRecord{{r.Time, r.By, r.Tool}}
}

// mergeApplies adds the applies of an earlier revision of the same bundle.
func (r *Revision) mergeApplies(old Revision) {
	all := slices.Concat(old.AllApplies(), r.AllApplies())
	r.Times = old.Count() + r.Count()
	r.Applies = all[max(0, len(all)-maxApplies):]
	r.Folded = slices.Concat(old.Folded, r.Folded)
	if old.Number != r.Number {
		r.Folded = append(r.Folded, old.Number)
	}
	slices.Sort(r.Folded)
	r.Folded = slices.Compact(r.Folded)
}

// mergeRevisions merges revisions of the same bundle into the newest of them.
// Histories of earlier fleetc versions have one revision per apply.
func mergeRevisions(history []Revision) []Revision {
	var out []Revision
	for _, r := range history {
		if i := slices.IndexFunc(out, func(o Revision) bool { return o.Bundle == r.Bundle }); i >= 0 {
			r.mergeApplies(out[i])
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, r)
	}
	return out
}

// addRevision adds an apply to the history and returns the number of its revision.
// If the bundle is already the newest, its revision counts one more apply;
// otherwise it gets a new number. The history keeps at most most bundles; 0 means
// no limit.
func addRevision(history []Revision, r Revision, most int) ([]Revision, int) {
	history = mergeRevisions(history)
	r.Number = 1
	if n := len(history); n > 0 {
		newest := history[n-1]
		r.Number = newest.Number + 1
		if newest.Bundle == r.Bundle { // the revision describes the first apply
			again := r
			r = newest
			again.Number = newest.Number
			again.mergeApplies(newest)
			r.Times, r.Applies, r.Folded, r.Parts, r.Actions = again.Times, again.Applies, again.Folded, again.Parts, again.Actions
			history = history[:n-1]
		}
	}
	history = mergeRevisions(append(slices.Clone(history), r))
	if most > 0 && len(history) > most {
		history = history[len(history)-most:]
	}
	return history, r.Number
}
