package deliver

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// LiveChanges returns the changes of objects, sorted as by [diff.Objects], and separately
// the changes that the rules ignore. Rules of diff.ignore do not ignore a field in conflict,
// because an apply would stop at it.
func LiveChanges(compared *apply.Comparison, key []byte, rules []fleet.IgnoreRule) (out, ignored []diff.Change) {
	texts := diff.SecretTexts{}
	for _, o := range compared.Objects {
		texts.Add(fleet.Object{Unstructured: o.Before})
		texts.Add(fleet.Object{Unstructured: o.After})
		r, hidden := &fleet.Release{Name: o.Release}, compared.SecretFields[o.ID]
		about := diff.Live{Reason: string(o.Finding), Why: o.Why, Predicted: o.Simulated}
		switch o.Finding {
		case apply.Same:
			continue
		case apply.Unknown:
			out = append(out, diff.Change{ID: o.ID, Action: diff.Unknown, Release: o.Release, Live: about})
			continue
		}
		changes, left := diff.ObjectsIgnoring(contentOf(o.Before, r, hidden), contentOf(o.After, r, hidden), key, rules)
		conflicts := slices.DeleteFunc(slices.Clone(o.Fields), func(f cluster.Field) bool { return isIgnoredDrift(f, left, rules) })
		changes, left = withConflicts(changes, left, conflicts)
		for _, c := range left {
			c.ID, c.Live = o.ID, about
			ignored = append(ignored, c)
		}
		inConflict := o.Finding == apply.InConflict && (o.Why != "" || len(o.Fields) == 0 || len(conflicts) > 0)
		if len(changes) == 0 && inConflict {
			changes = []diff.Change{{ID: o.ID, Action: diff.Update, Release: o.Release}}
		}
		for _, c := range changes {
			c.ID, c.Live = o.ID, about
			if o.Finding == apply.InConflict && !inConflict {
				c.Live.Reason = string(apply.Changed)
			}
			setManagers(&c, conflicts)
			out = append(out, c)
		}
	}
	texts.Hide(out, key)
	texts.Hide(ignored, key)
	diff.Sort(out)
	diff.Sort(ignored)
	return out, ignored
}

// isIgnoredDrift reports whether a rule of drift.ignore ignores the change of a field in
// conflict.
func isIgnoredDrift(conflict cluster.Field, ignored []diff.Change, rules []fleet.IgnoreRule) bool {
	return slices.ContainsFunc(ignored, func(c diff.Change) bool {
		return slices.ContainsFunc(c.Fields, func(f diff.FieldChange) bool {
			return isConflict(f, conflict) && slices.ContainsFunc(rules, func(r fleet.IgnoreRule) bool { return r.Of == fleet.OfDrift && r.Path() == f.Ignored.Rule })
		})
	})
}

// withConflicts moves the fields in conflict from the ignored changes of an object to its
// changes. Each list has at most one change.
func withConflicts(changes, ignored []diff.Change, conflicts []cluster.Field) (out, left []diff.Change) {
	for _, c := range ignored {
		moved := diff.Change{ID: c.ID, Action: c.Action, Release: c.Release}
		inConflict := func(f diff.FieldChange) bool {
			return slices.ContainsFunc(conflicts, func(by cluster.Field) bool { return isConflict(f, by) })
		}
		for _, f := range c.Fields {
			if inConflict(f) {
				f.Ignored = diff.IgnoreReason{}
				moved.Fields = append(moved.Fields, f)
			}
		}
		if len(moved.Fields) == 0 {
			left = append(left, c)
			continue
		}
		if c.Fields = slices.DeleteFunc(c.Fields, inConflict); len(c.Fields) > 0 {
			left = append(left, c)
		}
		if len(changes) == 0 {
			changes = []diff.Change{moved}
			continue
		}
		changes[0].Fields = append(changes[0].Fields, moved.Fields...)
		slices.SortFunc(changes[0].Fields, func(f, g diff.FieldChange) int { return strings.Compare(f.Path, g.Path) })
	}
	return changes, left
}

// isConflict reports whether a field in conflict is the changed field, contains it, or is
// inside of it.
func isConflict(f diff.FieldChange, by cluster.Field) bool {
	at, path := plainPath(f.Path), plainPath(strings.TrimPrefix(by.Path, "."))
	return isWithin(at, path) || isWithin(path, at)
}

// contentOf returns the content of an object as one side of a comparison; nil for nil.
func contentOf(o *unstructured.Unstructured, r *fleet.Release, hidden [][]string) []fleet.Object {
	if o == nil {
		return nil
	}
	return []fleet.Object{{Unstructured: apply.Content(o), Release: r, SecretFields: hidden}}
}

// setManagers sets the managers of the fields in conflict. The fields in conflict without
// a change are listed in the reason for the object.
func setManagers(c *diff.Change, fields []cluster.Field) {
	var others []string
	for _, f := range fields {
		seen := false
		for i := range c.Fields {
			if isConflict(c.Fields[i], f) {
				c.Fields[i].Manager, seen = f.Manager, true
			}
		}
		if !seen {
			others = append(others, f.Manager+" has "+strings.TrimPrefix(f.Path, "."))
		}
	}
	if len(others) > 0 && c.Live.Why == "" {
		c.Live.Why = strings.Join(others, ", ")
	}
}

// plainPath returns the path of a field without the quotes, which an API server
// and fleetc set in different places.
func plainPath(path string) string { return strings.ReplaceAll(path, `"`, "") }

// isWithin reports whether a path is equal to another path or below it.
func isWithin(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
