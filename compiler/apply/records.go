package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/helm"
	"github.com/fleetc/fleetc/compiler/live"
)

// This file finds the records of Helm releases whose objects fleetc adopts, and
// decides whether they are removed. Adoption leaves these records in the cluster:
// helm uninstall would delete the objects.

// A RecordAction is what happens to the record of a Helm release.
type RecordAction string

// What can happen to the record of a Helm release.
const (
	KeepRecord   RecordAction = "keep"
	RemoveRecord RecordAction = "remove"  // when everything is applied
	Removed      RecordAction = "removed" // by the run
)

// A HelmRecord is what Helm has stored of a release that fleetc does not deliver
// with Helm, and whose objects it applies. The names of its fields in JSON stay as
// they are.
type HelmRecord struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`    // of the release
	Storage   helm.Storage `json:"storage"` // kind of the objects that store it
	Records   []string     `json:"records"` // their names, one for each revision, the oldest first
	Action    RecordAction `json:"action"`
	Reason    string       `json:"reason,omitempty"` // why it is kept
	Owns      []string     `json:"owns,omitempty"`   // IDs of objects of the release that exist and that fleetc does not apply

	state   string        // differs when Helm has written the records in between
	records []helm.Record // of all revisions, the oldest first
	applied []live.Ref    // objects of the release that fleetc applies
}

// String names the record in messages.
func (r *HelmRecord) String() string {
	return "the record of Helm release " + r.Name + " in " + r.Namespace
}

// keep has the record stay.
func (r *HelmRecord) keep(reason string) { r.Action, r.Reason = KeepRecord, reason }

const uninstallDeletes = "helm uninstall would delete the objects"

// isAdopting reports whether objects of other tools are taken over.
func (o Options) isAdopting() bool { return o.Adopt || len(o.AdoptFrom) > 0 }

// forgets reports whether the plan removes records of Helm releases.
func (p *Plan) forgets() bool {
	return slices.ContainsFunc(p.HelmRecords, func(r HelmRecord) bool { return r.Action == RemoveRecord })
}

// helmRecords finds the records of Helm releases whose objects the plan applies,
// and decides about each.
func (p *planner) helmRecords(ctx context.Context, plan *Plan) error {
	if !p.isAdopting() {
		return nil
	}
	plan.appliedIDs = plan.applied()
	type place struct {
		storage   helm.Storage
		namespace string
	}
	var places []place
	for _, namespace := range p.recordNamespaces() {
		places = append(places, place{helm.Secrets, namespace}, place{helm.ConfigMaps, namespace})
	}
	found := make([][]HelmRecord, len(places))
	unread := make([]bool, len(places))
	if err := each(ctx, len(places), func(ctx context.Context, i int) error {
		names, err := places[i].storage.Releases(ctx, p.Live, places[i].namespace)
		for _, name := range names {
			found[i] = append(found[i], HelmRecord{Namespace: places[i].namespace, Name: name, Storage: places[i].storage, Records: []string{}})
		}
		if unread[i] = live.ReasonOf(err) == live.Forbidden; unread[i] {
			return nil
		}
		return err
	}); err != nil {
		return err
	}
	for i, place := range places {
		if unread[i] {
			plan.unlisted = append(plan.unlisted, live.Right{Verb: "list", Resource: place.storage.Resource(), Namespace: place.namespace})
		}
	}
	candidates := slices.DeleteFunc(slices.Concat(found...), func(r HelmRecord) bool { return p.deliversByHelm(r.Namespace, r.Name) })
	if err := each(ctx, len(candidates), func(ctx context.Context, i int) error { return p.decide(ctx, plan, &candidates[i]) }); err != nil {
		return err
	}
	plan.HelmRecords = slices.DeleteFunc(candidates, func(r HelmRecord) bool { return r.Action == "" })
	p.addUnlisted(plan)
	return nil
}

// recordNamespaces returns the namespaces in which records can be: those of the
// releases and objects in scope, and those that adopted objects name.
func (p *planner) recordNamespaces() []string {
	var out []string
	for i := range p.items {
		it := &p.items[i]
		if it.release != nil {
			out = append(out, it.release.Namespace)
		}
		for _, it := range append([]*Item{it}, it.present()...) {
			if out = append(out, it.ref.Namespace); it.Before != nil {
				out = append(out, it.Before.GetAnnotations()[helmNamespace])
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(namespace string) bool { return namespace == "" })
}

// deliversByHelm reports whether fleetc delivers a release with Helm, also one that
// is not in scope, or did until now: its records are Helm's to write.
func (p *planner) deliversByHelm(namespace, name string) bool {
	ref := helmRef(namespace, name)
	return slices.ContainsFunc(p.Bundle.Cluster.Releases, func(r *fleet.Release) bool { return r.Delivery == fleet.ByHelm && helmRefOf(r) == ref }) ||
		slices.ContainsFunc(p.inventory.Objects, func(e Entry) bool { return e.ref() == ref })
}

// applied returns the IDs of the objects that fleetc applies, or has Helm apply, once
// the plan is done, and of those that the plan prunes.
func (p *Plan) applied() map[string]bool {
	out := map[string]bool{}
	for _, e := range p.settled.Objects {
		out[e.id()] = true
	}
	for _, it := range p.Items {
		for _, it := range append([]Item{it}, it.Parts...) {
			if it.object != nil && it.hook == nil || it.Action == Prune {
				out[it.ID] = true
			}
		}
	}
	return out
}

// decide decides about the record of one release. It leaves the action empty when
// the release has no object that fleetc applies, or was uninstalled.
func (t Target) decide(ctx context.Context, plan *Plan, r *HelmRecord) error {
	state, err := r.Storage.Read(ctx, t.Live, r.Namespace, r.Name)
	if fault := (*diag.Diag)(nil); errors.As(err, &fault) {
		r.keep(fault.Msg)
		return nil
	}
	if err != nil || state.Revision == 0 || state.Status == "uninstalled" {
		return err
	}
	r.records = state.Records
	for _, record := range state.Records {
		r.Records = append(r.Records, record.Ref.Name)
	}
	r.state = stateOf(state.Records)
	others, err := t.splitObjects(ctx, plan, r, slices.Concat(state.Objects, state.Left))
	if err != nil || len(r.applied) == 0 {
		return err
	}
	if r.Owns, err = t.existing(ctx, others); err != nil {
		return err
	}
	why := whyKept(state, r.Owns)
	switch {
	case why != "":
		r.keep(why + "; " + uninstallDeletes)
	case !t.AdoptForget:
		r.keep(uninstallDeletes + "; --adopt-forget removes the record alone")
	default:
		r.Action = RemoveRecord
	}
	return nil
}

// whyKept says why the record of a release must stay; it is empty when it need not.
func whyKept(state *helm.State, owns []string) string {
	switch {
	case state.IsPending():
		return fmt.Sprintf("an operation of Helm is under way or was interrupted: revision %d is %s", state.Revision, diag.Visible(state.Status, diag.MaxText))
	case len(owns) > 0:
		return "the release also has objects that fleetc does not apply: " + firstOf(owns, len(owns))
	}
	return ""
}

// splitObjects notes the objects of a release that fleetc applies, and returns the
// others.
func (t Target) splitObjects(ctx context.Context, plan *Plan, r *HelmRecord, objects []*unstructured.Unstructured) ([]live.Ref, error) {
	var others []live.Ref
	for _, o := range flattened(objects) {
		ref, _, err := servedRef(ctx, t.Live, live.RefOf(o))
		if err != nil {
			return nil, err
		}
		if resource, served, err := t.Live.Resource(ctx, ref.GroupVersionKind); err != nil {
			return nil, err
		} else if served && resource.Namespaced {
			ref.Namespace = cmp.Or(ref.Namespace, r.Namespace)
		}
		if plan.appliedIDs[idOf(ref)] {
			r.applied = append(r.applied, ref)
		} else {
			others = append(others, ref)
		}
	}
	return others, nil
}

// flattened returns the objects with the elements of lists in place of the lists,
// as Helm applies them.
func flattened(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range objects {
		if !o.IsList() {
			out = append(out, o)
			continue
		}
		list, err := o.ToList()
		if err != nil {
			out = append(out, o)
			continue
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

// existing returns the IDs of the objects that exist, sorted, and of those that the
// user may not read: they may exist.
func (t Target) existing(ctx context.Context, refs []live.Ref) ([]string, error) {
	found := make([]string, len(refs))
	err := each(ctx, len(refs), func(ctx context.Context, i int) error {
		o, err := t.Live.Object(ctx, refs[i])
		forbidden := live.ReasonOf(err) == live.Forbidden
		if o != nil || forbidden {
			found[i] = idOf(refs[i])
		}
		if forbidden {
			return nil
		}
		return err
	})
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(id string) bool { return id == "" }), err
}

// addUnlisted adds releases whose records the user may not list. Objects that are
// adopted name them.
func (p *planner) addUnlisted(plan *Plan) {
	for _, it := range p.items {
		if !it.Adopts || it.Before == nil {
			continue
		}
		marks := it.Before.GetAnnotations()
		name, namespace := marks[helmRelease], marks[helmNamespace]
		known := p.deliversByHelm(namespace, name) || slices.ContainsFunc(plan.HelmRecords, func(r HelmRecord) bool { return r.Name == name && r.Namespace == namespace })
		right := live.Right{Verb: "list", Resource: helm.Secrets.Resource(), Namespace: namespace}
		if name == "" || known || !slices.Contains(plan.unlisted, right) {
			continue
		}
		r := HelmRecord{Namespace: diag.Visible(namespace, diag.MaxText), Name: diag.Visible(name, diag.MaxText), Storage: helm.Secrets, Records: []string{}}
		r.keep("the user may not " + listRights([]live.Right{right}) + "; if the release still exists, " + uninstallDeletes)
		plan.HelmRecords = append(plan.HelmRecords, r)
	}
}
