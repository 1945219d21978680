package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file finds the records of Helm releases whose objects fleetc adopts, and
// decides whether to remove them. Adoption leaves these records in the cluster, and
// helm uninstall would delete the objects.

// A RecordAction says what a plan does with the record of a Helm release.
type RecordAction string

const (
	KeepRecord   RecordAction = "keep"
	RemoveRecord RecordAction = "remove"  // after everything is applied
	Removed      RecordAction = "removed" // by the run
)

// A HelmRecord is Helm's stored record of a release whose objects fleetc applies
// without Helm. Its JSON field names are stable.
type HelmRecord struct {
	Namespace string              `json:"namespace"`
	Name      string              `json:"name"`    // of the release
	Storage   cluster.HelmStorage `json:"storage"` // kind of the storing objects
	Records   []string            `json:"records"` // names of the stored objects, one per revision, the oldest first
	Action    RecordAction        `json:"action"`
	Reason    string              `json:"reason,omitempty"` // why it is kept
	Owns      []string            `json:"owns,omitempty"`   // IDs of existing objects of the release that fleetc does not apply

	state   string               // changes when Helm writes the records
	records []cluster.HelmRecord // of all revisions, the oldest first
	applied []cluster.Ref        // objects of the release that fleetc applies
}

// String names the record in messages.
func (r *HelmRecord) String() string {
	return "the record of Helm release " + r.Name + " in " + r.Namespace
}

// keep makes the plan keep the record.
func (r *HelmRecord) keep(reason string) { r.Action, r.Reason = KeepRecord, reason }

const uninstallDeletes = "helm uninstall would delete the objects"

// isAdopting reports whether the options adopt objects of other tools.
func (o Options) isAdopting() bool { return o.Adopt || len(o.AdoptFrom) > 0 }

// removesHelmRecords reports whether the plan removes records of Helm releases.
func (p *Plan) removesHelmRecords() bool {
	return slices.ContainsFunc(p.HelmRecords, func(r HelmRecord) bool { return r.Action == RemoveRecord })
}

// helmRecords finds the records of Helm releases whose objects the plan applies,
// and plans each.
func (p *planner) helmRecords(ctx context.Context, plan *Plan) error {
	if !p.isAdopting() {
		return nil
	}
	plan.appliedIDs = plan.appliedObjects()
	var places []HelmRecord // of no release yet
	for _, namespace := range p.recordNamespaces() {
		for _, storage := range []cluster.HelmStorage{cluster.HelmSecrets, cluster.HelmConfigMaps} {
			places = append(places, HelmRecord{Namespace: namespace, Storage: storage, Records: []string{}})
		}
	}
	unread := make([]bool, len(places))
	candidates, err := collect(ctx, len(places), func(ctx context.Context, i int) (out []HelmRecord, err error) {
		r := places[i]
		names, err := r.Storage.Releases(ctx, p.Live, r.Namespace)
		if unread[i] = cluster.ReasonOf(err) == cluster.Forbidden; unread[i] {
			return nil, nil
		}
		for _, name := range names {
			if r.Name = name; !p.isHelmRelease(r.Namespace, name) {
				out = append(out, r)
			}
		}
		return out, err
	})
	if err != nil {
		return err
	}
	for i, r := range places {
		if unread[i] {
			plan.unlistableRecords = append(plan.unlistableRecords, cluster.Right{Verb: "list", Resource: r.Storage.Resource(), Namespace: r.Namespace})
		}
	}
	if err := forEach(ctx, len(candidates), func(ctx context.Context, i int) error { return p.decideRecord(ctx, plan, &candidates[i]) }); err != nil {
		return err
	}
	plan.HelmRecords = slices.DeleteFunc(candidates, func(r HelmRecord) bool { return r.Action == "" })
	p.addUnlisted(plan)
	return nil
}

// recordNamespaces returns the namespaces that may have records: those of the
// releases and objects in scope, and those that annotations of adopted objects
// name.
func (p *planner) recordNamespaces() []string {
	var out []string
	for i := range p.items {
		it := &p.items[i]
		if it.release != nil {
			out = append(out, it.release.Namespace)
		}
		for _, it := range append([]*Item{it}, it.bundleObjects()...) {
			if out = append(out, it.ref.Namespace); it.Before != nil {
				out = append(out, it.Before.GetAnnotations()[helmNamespace])
			}
		}
	}
	return slices.DeleteFunc(diag.Distinct(out), func(namespace string) bool { return namespace == "" })
}

// isHelmRelease reports whether fleetc delivers the release with Helm, in scope or
// not, or did so until now. Helm writes the records of such releases.
func (p *planner) isHelmRelease(namespace, name string) bool {
	ref := helmRef(namespace, name)
	return slices.ContainsFunc(p.Bundle.Cluster.Releases, func(r *fleet.Release) bool { return r.Delivery == fleet.ByHelm && helmRefOf(r) == ref }) ||
		slices.ContainsFunc(p.inventory.Objects, func(e Entry) bool { return e.ref() == ref })
}

// appliedObjects returns the IDs of the objects that are applied after the plan, by
// fleetc or Helm, and of the pruned ones.
func (p *Plan) appliedObjects() map[string]bool {
	out := map[string]bool{}
	for _, e := range p.next.Objects {
		out[e.id()] = true
	}
	for _, it := range withParts(p.Items) {
		if it.object != nil && it.hook == nil || it.Action == Prune {
			out[it.ID] = true
		}
	}
	return out
}

// decideRecord plans the record of one release. The action stays empty when fleetc
// applies no object of the release, or when it was uninstalled.
func (t Target) decideRecord(ctx context.Context, plan *Plan, r *HelmRecord) error {
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
	others, err := t.splitObjects(ctx, plan, r, slices.Concat(state.Objects, state.Extra))
	if err != nil || len(r.applied) == 0 {
		return err
	}
	if r.Owns, err = t.existingIDs(ctx, others); err != nil {
		return err
	}
	why := keepReason(state, r.Owns)
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

// keepReason returns why the record of a release must stay, empty when it need not.
func keepReason(state *cluster.HelmState, owns []string) string {
	switch {
	case state.IsPending():
		return fmt.Sprintf("another Helm operation is running on it or was interrupted: revision %d is %s", state.Revision, diag.Visible(state.Status, diag.MaxText))
	case len(owns) > 0:
		return "the release also has objects that fleetc does not apply: " + firstOf(owns, len(owns))
	}
	return ""
}

// splitObjects sets the objects of a release that fleetc applies, and returns the
// others.
func (t Target) splitObjects(ctx context.Context, plan *Plan, r *HelmRecord, objects []*unstructured.Unstructured) ([]cluster.Ref, error) {
	var others []cluster.Ref
	for _, o := range flattenLists(objects) {
		ref, _, err := servedRef(ctx, t.Live, cluster.RefOf(o))
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

// flattenLists replaces List objects by their elements, as Helm does.
func flattenLists(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
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

// existingIDs returns the sorted IDs of objects that exist, or that the user may
// not read.
func (t Target) existingIDs(ctx context.Context, refs []cluster.Ref) ([]string, error) {
	found, err := collect(ctx, len(refs), func(ctx context.Context, i int) ([]string, error) {
		o, err := t.Live.Object(ctx, refs[i])
		if o != nil || cluster.ReasonOf(err) == cluster.Forbidden {
			return []string{idOf(refs[i])}, nil
		}
		return nil, err
	})
	return diag.Distinct(found), err
}

// addUnlisted adds releases that annotations of adopted objects name and whose
// records the user is not allowed to list.
func (p *planner) addUnlisted(plan *Plan) {
	for _, it := range p.items {
		if !it.Adopts || it.Before == nil {
			continue
		}
		marks := it.Before.GetAnnotations()
		name, namespace := marks[helmRelease], marks[helmNamespace]
		known := p.isHelmRelease(namespace, name) || slices.ContainsFunc(plan.HelmRecords, func(r HelmRecord) bool { return r.Name == name && r.Namespace == namespace })
		right := cluster.Right{Verb: "list", Resource: cluster.HelmSecrets.Resource(), Namespace: namespace}
		if name == "" || known || !slices.Contains(plan.unlistableRecords, right) {
			continue
		}
		r := HelmRecord{Namespace: diag.Visible(namespace, diag.MaxText), Name: diag.Visible(name, diag.MaxText), Storage: cluster.HelmSecrets, Records: []string{}}
		r.keep(notAllowedTo + listRights([]cluster.Right{right}) + "; if the release still exists, " + uninstallDeletes)
		plan.HelmRecords = append(plan.HelmRecords, r)
	}
}
