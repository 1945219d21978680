package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Action returns how the revision was created: by an apply or by a rollback.
func (v Revision) Action() string {
	if v.Rollback > 0 {
		return fmt.Sprintf("rollback to %d", v.Rollback)
	}
	return "apply"
}

// A RevisionReport is the JSON form of a revision for users. A Revision itself is encoded as
// the record in the cluster.
type RevisionReport struct {
	Revision int    `json:"revision"`
	Current  bool   `json:"current"`
	Time     string `json:"time"`
	By       string `json:"by"`
	Commit   string `json:"commit,omitempty"`
	Dirty    bool   `json:"dirty"`
	Bundle   string `json:"bundle"`
	Tool     string `json:"tool"`
	What     string `json:"what"` // apply or rollback
	Rollback int    `json:"rollbackTo,omitempty"`
	Created  int    `json:"created"`
	Changed  int    `json:"changed"`
	Pruned   int    `json:"pruned"`
	Replaced int    `json:"replaced"`

	Applied int           `json:"applied"` // number of applies of the bundle
	Applies []ApplyRecord `json:"applies"` // the last ten applies, the newest first
	Folded  []int         `json:"folded"`  // numbers of earlier revisions with the same bundle
}

// Report returns the JSON form of the revision.
func (v Revision) Report(current bool) RevisionReport {
	what, _, _ := strings.Cut(v.Action(), " ")
	applies := v.AllApplies()
	slices.Reverse(applies)
	return RevisionReport{
		Revision: v.Number, Current: current, Time: v.Time.Format(time.RFC3339), By: v.By, Commit: v.Commit, Dirty: v.Dirty, Bundle: v.Bundle,
		Tool: v.Tool, What: what, Rollback: v.Rollback, Created: v.Created, Changed: v.Changed, Pruned: v.Pruned, Replaced: v.Replaced,
		Applied: v.Count(), Applies: applies, Folded: append([]int{}, v.Folded...),
	}
}
