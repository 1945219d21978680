package diff

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// MarshalJSON encodes the result as one JSON object. Field names do not change, but
// fields may be added:
//
//	summary
//	  created, updated, deleted   objects; one ID counts once
//	  unknown                     objects of running clusters that could not be read; absent when there are none
//	  changes                     changed objects, counted in each cluster
//	  clusters, of                with changes, and compared
//	  ignored                     changes that diff.ignore ignores; may be absent
//	    fields, objects           paths of rules, and affected objects; one ID counts once
//	created[], deleted[]          new or removed clusters
//	  cluster                     ID
//	  objects                     number of objects
//	notCompared[]                 IDs of clusters with only one known side
//	predicted[]                   of running clusters: comparisons without a dry run; may be absent
//	  why                         the reason
//	  clusters[]                  their IDs
//	  objects                     number of objects, counted in each cluster
//	groups[]                      equal changes of some clusters, largest groups first
//	  clusters[]                  their IDs
//	  changes[]
//	    id                        kind.group namespace/name
//	    action                    create, update or delete; unknown when it could not be read
//	    release                   absent when it is not known
//	    fromRelease               absent unless the object comes from another release
//	    reason                    of running clusters: missing, changed, orphaned, conflict or unknown
//	    why                       details; may be absent
//	    compared                  dry-run or predicted; absent when nothing was compared
//	    partial                   true when other groups contain more changes of this object
//	    fields[]                  of a created or deleted object, one with an empty path; none
//	                              when its content differs between clusters and is in other groups
//	      path                    spec.template.spec.containers[name=app].image
//	      was, is                 the value; absent when the field is
//	      reordered               true when was and is are the keys of a list, in their order
//	      secret                  true when a value of a Secret is masked
//	      manager                 the other field manager in a conflict
//	      ignored                 in the groups below, the rule that ignores the field
//	ignored[]                     groups of ignored changes; may be absent
//	beforeYouMerge[]              findings, see [Finding]; absent when nothing looked for them
//
// MarshalJSON does not shorten values. Characters that control a terminal are
// escaped.
func (r Result) MarshalJSON() ([]byte, error) {
	type fields Result // without this method
	out := fields(r)
	out.Created, out.Deleted = append([]WholeCluster{}, r.Created...), append([]WholeCluster{}, r.Deleted...)
	out.NotCompared, out.Groups, out.Findings = append([]string{}, r.NotCompared...), append([]Group{}, r.Groups...), nil
	if r.Rehearsed {
		out.Findings = append([]Finding{}, r.Findings...)
	}
	text, err := diag.MarshalJSON(out)
	if err != nil {
		return nil, fmt.Errorf("encode the differences: %w", err)
	}
	return []byte(diag.PrintableJSON(string(text))), nil
}

// WriteJSON writes the result as JSON in one line. It returns an error of w, or an error for
// a value that JSON cannot represent.
func WriteJSON(w io.Writer, r Result) error {
	text, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// ChangesJSON returns changes in the format of [Result.MarshalJSON].
func ChangesJSON(changes []Change) (json.RawMessage, error) {
	text, err := json.Marshal(append([]Change{}, changes...))
	if err != nil {
		return nil, fmt.Errorf("encode the changes: %w", err)
	}
	return json.RawMessage(diag.PrintableJSON(string(text))), nil
}

// MarshalJSON encodes the change as [Result.MarshalJSON] does.
func (c Change) MarshalJSON() ([]byte, error) {
	change := jsonChange{c.ID, c.Action, c.Release, c.FromRelease, c.Live.Reason, c.Live.Why, c.Live.comparison(), c.Partial, []jsonField{}}
	for i := range c.Fields {
		f := &c.Fields[i]
		field := jsonField{Path: f.Path, Reordered: f.Reordered, Secret: f.Secret, Manager: f.Manager, Ignored: f.Ignored.Rule}
		if f.HasBefore {
			field.Was = &f.Before
		}
		if f.HasAfter {
			field.Is = &f.After
		}
		change.Fields = append(change.Fields, field)
	}
	return diag.MarshalJSON(change)
}

type jsonChange struct {
	ID          string      `json:"id"`
	Action      Action      `json:"action"`
	Release     string      `json:"release,omitempty"`
	FromRelease string      `json:"fromRelease,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	Why         string      `json:"why,omitempty"`
	Compared    string      `json:"compared,omitempty"`
	Partial     bool        `json:"partial,omitempty"`
	Fields      []jsonField `json:"fields"`
}

type jsonField struct {
	Path      string `json:"path"`
	Was       *any   `json:"was,omitempty"`
	Is        *any   `json:"is,omitempty"`
	Reordered bool   `json:"reordered,omitempty"`
	Secret    bool   `json:"secret,omitempty"`
	Manager   string `json:"manager,omitempty"`
	Ignored   string `json:"ignored,omitempty"`
}
