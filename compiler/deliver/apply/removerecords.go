package apply

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file removes the records of Helm releases whose objects fleetc has adopted.

// managedByLabel is the label that Helm sets to Helm.
const managedByLabel = "app.kubernetes.io/managed-by"

// A SavedRecord is the record of a Helm release that a [SavedPlan] removes.
type SavedRecord struct {
	Namespace string              `json:"namespace"`
	Name      string              `json:"name"`
	Storage   cluster.HelmStorage `json:"storage"`
	State     string              `json:"state"` // changes when Helm writes the record
}

// savedRecords returns the records that the plan removes.
func (p *Plan) savedRecords() []SavedRecord {
	var out []SavedRecord
	for _, r := range p.HelmRecords {
		if r.Action == RemoveRecord {
			out = append(out, SavedRecord{r.Namespace, r.Name, r.Storage, r.state})
		}
	}
	return out
}

const (
	recordChanged    = "Helm has written it since the plan was made; " + uninstallDeletes
	recordNotPlanned = "the plan did not remove it; " + uninstallDeletes
)

// KeepRecords makes the plan keep records of Helm releases that the earlier plan
// does not remove, or that Helm has written since.
func (p *Plan) KeepRecords(earlier SavedPlan) {
	for i := range p.HelmRecords {
		r := &p.HelmRecords[i]
		if r.Action != RemoveRecord {
			continue
		}
		at := slices.IndexFunc(earlier.Records, func(f SavedRecord) bool {
			return f.Namespace == r.Namespace && f.Name == r.Name && f.Storage == r.Storage
		})
		switch {
		case at < 0:
			r.keep(recordNotPlanned)
		case earlier.Records[at].State != r.state:
			r.keep(recordChanged)
		}
	}
}

// marksOfRelease returns the labels and annotations by which an object belongs to
// the release, except those that the bundle sets.
func (r *HelmRecord) marksOfRelease(o *unstructured.Unstructured) (labels, annotations []string) {
	if !isPartOf(o, helmRef(r.Namespace, r.Name)) {
		return nil, nil
	}
	others := marksOf(o, isOwn)
	for _, key := range []string{helmRelease, helmNamespace} {
		if _, ok := others.annotations[key]; ok {
			annotations = append(annotations, key)
		}
	}
	if others.labels[managedByLabel] == "Helm" {
		labels = append(labels, managedByLabel)
	}
	return labels, annotations
}

// removeRecords removes the records of Helm releases after everything is applied.
// It removes the last revision last, so that the next apply can resume.
func (r *runner) removeRecords(ctx context.Context) error {
	var faults diag.List
	for i := range r.plan.HelmRecords {
		record := &r.plan.HelmRecords[i]
		if record.Action != RemoveRecord {
			continue
		}
		err := r.removeRecord(ctx, record)
		var answer *cluster.Error
		switch {
		case errors.As(err, &answer):
			faults.Add(&diag.Diag{
				Code: diag.CodeAPIServer,
				Msg:  strings.TrimPrefix(record.String(), "the ") + " is not removed: " + answer.Error(),
				Hint: "all objects are applied; apply with --adopt --adopt-forget again", Cause: err,
			})
		case err != nil:
			return err
		case record.Action == KeepRecord:
			r.report(Event{ID: record.String(), What: "keep", Text: record.Reason})
		default:
			r.report(Event{ID: record.String(), What: "forget"})
		}
	}
	return faults.Err()
}

// confirm returns the objects that lose the marks of the release, and the records to delete,
// by a second look at the release. If the record has changed since the plan, or must stay
// now, it returns nothing and makes the plan keep the record.
func (r *HelmRecord) confirm(now *HelmRecord) (marked []cluster.Ref, records []cluster.HelmRecord) {
	switch {
	case now.state != r.state:
		r.keep(recordChanged)
	case now.Action != RemoveRecord:
		r.keep(now.Reason)
	default:
		return now.applied, now.records
	}
	return nil, nil
}

// removeRecord removes the record of a release, unless the record or the objects of
// the release have changed since the plan.
func (r *runner) removeRecord(ctx context.Context, planned *HelmRecord) error {
	now := HelmRecord{Namespace: planned.Namespace, Name: planned.Name, Storage: planned.Storage}
	if err := r.decideRecord(ctx, r.plan, &now); err != nil {
		return err
	}
	marked, records := planned.confirm(&now)
	for _, ref := range marked {
		if err := r.Live.RemoveMarks(ctx, ref, now.marksOfRelease); err != nil {
			return err
		}
	}
	for _, record := range records {
		if err := r.Live.Delete(ctx, record.Ref, record.UID); err != nil {
			return err
		}
	}
	if planned.Action == RemoveRecord {
		planned.Action = Removed
	}
	return nil
}
