package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// maxCascadeNames is the number of objects of a [Cascade] that messages name.
const maxCascadeNames = 10

// A Cascade lists the objects that Kubernetes deletes along with a pruned CRD,
// namespace or volume. It does not include objects that the plan prunes itself.
type Cascade struct {
	Names  []string // IDs of the first ten objects, sorted
	Unread []string // kinds that could not be listed, sorted
	Volume string   // effect on the data of a volume; may be empty

	uids []string
}

// Count returns the number of objects in the cascade.
func (c *Cascade) Count() int {
	if c == nil {
		return 0
	}
	return len(c.uids)
}

// MarshalJSON encodes the cascade for the output of a command, without the UIDs.
func (c *Cascade) MarshalJSON() ([]byte, error) {
	return diag.MarshalJSON(struct {
		Count  int      `json:"count"`
		Names  []string `json:"names"`
		Unread []string `json:"unread,omitempty"`
		Volume string   `json:"volume,omitempty"`
	}{c.Count(), append([]string{}, c.Names...), c.Unread, c.Volume})
}

// String describes the cascade; it is empty when nothing else is deleted.
func (c *Cascade) String() string {
	if c == nil {
		return ""
	}
	var parts []string
	if n := c.Count(); n > 0 {
		parts = append(parts, diag.Count(n, "other object is", "other objects are")+" deleted with it: "+firstOf(c.Names, n))
	}
	if c.Volume != "" {
		parts = append(parts, c.Volume)
	}
	if n := len(c.Unread); n > 0 {
		parts = append(parts, "the user is not allowed to list "+diag.Count(n, "kind", "kinds")+": "+firstOf(c.Unread, n))
	}
	return strings.Join(parts, "; ")
}

// firstOf joins the first names of a list of n.
func firstOf(names []string, n int) string {
	shown := names[:min(len(names), maxCascadeNames)]
	text := strings.Join(shown, ", ")
	if n > len(shown) {
		text += fmt.Sprintf(", and %d more", n-len(shown))
	}
	return text
}

// countExcept returns the number of objects in the cascade that are not among the
// UIDs.
func (c *Cascade) countExcept(uids []string) int {
	if c == nil {
		return 0
	}
	known := map[string]bool{}
	for _, uid := range uids {
		known[uid] = true
	}
	return len(slices.DeleteFunc(slices.Clone(c.uids), func(uid string) bool { return known[uid] }))
}

// A cascader finds the cascades of a plan.
type cascader struct {
	live     *cluster.Cluster
	pruned   map[string]bool // UIDs of objects that the plan deletes
	hooks    map[string]bool // of the plan's hooks
	releases []cluster.Ref   // releases that Helm uninstalls
}

// A foundObject is an object of a cascade.
type foundObject struct{ id, uid string }

func newCascader(c *cluster.Cluster, items []*Item) *cascader {
	s := &cascader{live: c, pruned: map[string]bool{}, hooks: map[string]bool{}}
	for _, it := range items {
		switch {
		case it.Action == Hook:
			s.hooks[it.ID] = true
		case it.Action == Prune && it.IsHelm():
			s.releases = append(s.releases, it.ref)
		case it.Action == Prune:
			s.pruned[it.uid] = true
		}
	}
	return s
}

// withParts returns the items and their parts.
func withParts(lists ...[]Item) []*Item {
	var out []*Item
	for _, items := range lists {
		for i := range items {
			out = append(out, &items[i])
			out = append(out, withParts(items[i].Parts)...)
		}
	}
	return out
}

// cascadeKinds are the kinds whose deletion deletes other objects. Each deleted object is in
// one cascade: that of its CRD before that of its namespace.
var cascadeKinds = []schema.GroupKind{fleet.CRDKind, {Kind: "Namespace"}, {Kind: "PersistentVolumeClaim"}, {Kind: "PersistentVolume"}}

// find finds the cascade of an object, nil for an object that has none.
func (c *cascader) find(ctx context.Context, it *Item) (*Cascade, error) {
	switch gk := it.kind(); {
	case gk == fleet.CRDKind:
		return c.ofCRD(ctx, it)
	case gk == schema.GroupKind{Kind: "Namespace"}:
		return c.ofNamespace(ctx, it)
	case !slices.Contains(cascadeKinds, gk):
		return nil, nil
	}
	o, err := c.live.Object(ctx, it.ref)
	switch {
	case err != nil || o == nil:
		return nil, err
	case it.ref.Kind == "PersistentVolumeClaim":
		return c.ofClaim(ctx, o)
	}
	return c.ofVolume(o), nil
}

// exclude leaves the objects of a cascade out of further ones.
func (c *cascader) exclude(cascade *Cascade) {
	if cascade != nil {
		for _, uid := range cascade.uids {
			c.pruned[uid] = true
		}
	}
}

// cascades finds the objects that are deleted along with pruned ones.
func (p *planner) cascades(ctx context.Context, lists ...[]Item) (err error) {
	items := withParts(lists...)
	c := newCascader(p.Live, items)
	for _, gk := range cascadeKinds {
		for _, it := range items {
			if it.Action != Prune || it.kind() != gk {
				continue
			}
			if it.Cascade, err = c.find(ctx, it); err != nil {
				return err
			}
			c.exclude(it.Cascade)
		}
	}
	return nil
}

// checkCascade returns a fault when pruning an object would delete more objects
// than the plan lists.
func (r *runner) checkCascade(ctx context.Context, it *Item) error {
	if it.Cascade == nil {
		return nil
	}
	items := withParts(r.plan.Items)
	c := newCascader(r.Live, items)
	for _, other := range items {
		if other != it {
			c.exclude(other.Cascade)
		}
	}
	now, err := c.find(ctx, it)
	if n := now.countExcept(it.Cascade.uids); n > 0 && err == nil {
		err = &diag.Diag{Code: diag.CodeStalePlan, At: it.positions, Path: it.ID, Msg: cascadeGrew(n), Hint: "apply again to see them"}
	}
	return err
}

// cascadeGrew is the message for n more deleted objects than planned.
func cascadeGrew(n int) string {
	return diag.Count(n, "object more", "objects more") + " would be deleted with it than when the plan was made"
}

// ofCRD lists the custom resources of all kinds that a CRD defines.
func (c *cascader) ofCRD(ctx context.Context, it *Item) (*Cascade, error) {
	var kinds []cluster.Kind
	for _, gvk := range fleet.ServedKinds(it.Before) {
		gk := gvk.GroupKind()
		if slices.ContainsFunc(kinds, func(k cluster.Kind) bool { return k.GroupKind() == gk }) {
			continue
		}
		versions, err := c.live.Versions(ctx, gk)
		if err != nil || len(versions) == 0 {
			return nil, err
		}
		r, _, err := c.live.Resource(ctx, gk.WithVersion(versions[0]))
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, cluster.Kind{GroupVersionKind: gk.WithVersion(versions[0]), Resource: r})
	}
	return c.list(ctx, kinds, "", func(metav1.PartialObjectMetadata) (bool, error) { return true, nil })
}

// ofNamespace lists the objects of a namespace. It leaves out objects that have an
// owner in the namespace and those that the control plane creates in every
// namespace.
func (c *cascader) ofNamespace(ctx context.Context, it *Item) (*Cascade, error) {
	kinds, unread, err := c.live.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	kinds = slices.DeleteFunc(kinds, func(k cluster.Kind) bool { return !k.Namespaced || slices.Contains(ephemeralKinds, k.GroupKind()) })
	out, err := c.list(ctx, kinds, it.ref.Name, func(o metav1.PartialObjectMetadata) (bool, error) { return c.hasNoOwner(ctx, o) })
	if out != nil {
		out.Unread = append(out.Unread, unread...)
	}
	return out, err
}

// ephemeralKinds are the kinds whose objects the control plane creates.
var ephemeralKinds = []schema.GroupKind{{Kind: "Event"}, {Group: "events.k8s.io", Kind: "Event"}, {Kind: "Endpoints"}, {Group: "discovery.k8s.io", Kind: "EndpointSlice"}}

// isDefault reports whether the control plane creates the object in every
// namespace.
func isDefault(id string) bool {
	kind, rest, _ := strings.Cut(id, " ")
	_, name, _ := strings.Cut(rest, "/")
	return kind == "ServiceAccount" && name == "default" || kind == "ConfigMap" && name == "kube-root-ca.crt"
}

// hasNoOwner reports whether no object of the same namespace owns the object.
func (c *cascader) hasNoOwner(ctx context.Context, o metav1.PartialObjectMetadata) (bool, error) {
	for _, owner := range o.OwnerReferences {
		r, served, err := c.live.Resource(ctx, schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
		if err != nil && cluster.ReasonOf(err) == "" {
			return false, err
		}
		if served && r.Namespaced {
			return false, nil
		}
	}
	return true, nil
}

// list lists the objects of some kinds for which counts returns true, except
// objects that the plan deletes itself.
func (c *cascader) list(ctx context.Context, kinds []cluster.Kind, namespace string, counts func(metav1.PartialObjectMetadata) (bool, error)) (*Cascade, error) {
	found, unread, err := listKinds(ctx, c.live, kinds, namespace, "", func(id string, o metav1.PartialObjectMetadata) ([]foundObject, error) {
		if c.pruned[string(o.UID)] || c.hooks[id] || o.DeletionTimestamp != nil || isDefault(id) || c.isHelmRecord(o) {
			return nil, nil
		}
		if ok, err := counts(o); !ok || err != nil {
			return nil, err
		}
		return []foundObject{{id, string(o.UID)}}, nil
	})
	if err != nil {
		return nil, err
	}
	return cascadeOf(found, unread), nil
}

// listKinds lists the objects of kinds, all or those with a label, some kinds concurrently. It
// returns what choose returns for them, and the kinds that cannot be listed.
func listKinds[T any](ctx context.Context, c *cluster.Cluster, kinds []cluster.Kind, namespace, label string, choose func(id string, o metav1.PartialObjectMetadata) ([]T, error)) (found []T, unread []string, err error) {
	refused := make([]bool, len(kinds))
	found, err = collect(ctx, len(kinds), func(ctx context.Context, i int) (out []T, err error) {
		objects, err := c.Metadata(ctx, kinds[i].GroupVersionResource, namespace, label)
		if reason := cluster.ReasonOf(err); reason != "" {
			refused[i], err = reason != cluster.NotFound, nil
		}
		for _, o := range objects {
			chosen, err := choose(idOf(cluster.Ref{GroupVersionKind: kinds[i].GroupVersionKind, Namespace: o.Namespace, Name: o.Name}), o)
			if err != nil {
				return nil, err
			}
			out = append(out, chosen...)
		}
		return out, err
	})
	for i, kind := range kinds {
		if refused[i] {
			unread = append(unread, kind.GroupKind().String())
		}
	}
	return found, unread, err
}

// isHelmRecord reports whether an object is a record of a release that Helm
// uninstalls.
func (c *cascader) isHelmRecord(o metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(c.releases, func(r cluster.Ref) bool {
		return o.Namespace == r.Namespace && o.Labels["owner"] == "helm" && o.Labels["name"] == r.Name
	})
}

func cascadeOf(found []foundObject, unread []string) *Cascade {
	slices.SortFunc(found, func(a, b foundObject) int { return cmp.Compare(a.id, b.id) })
	out := &Cascade{Unread: unread}
	for _, o := range found {
		out.uids = append(out.uids, o.uid)
		if len(out.Names) < maxCascadeNames {
			out.Names = append(out.Names, diag.Visible(o.id, diag.MaxText))
		}
	}
	return out
}

// ofVolume finds the claim that loses a deleted volume.
func (c *cascader) ofVolume(volume *unstructured.Unstructured) *Cascade {
	claim, _, _ := unstructured.NestedStringMap(volume.Object, "spec", "claimRef")
	if claim["uid"] == "" || c.pruned[claim["uid"]] {
		return &Cascade{}
	}
	id := idOf(cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, Namespace: claim["namespace"], Name: claim["name"]})
	out := cascadeOf([]foundObject{{id, claim["uid"]}}, nil)
	out.Volume = "the claim loses its volume and the data in it"
	return out
}

// ofClaim finds the volume that a claim's deletion deletes.
func (c *cascader) ofClaim(ctx context.Context, claim *unstructured.Unstructured) (*Cascade, error) {
	name, _, _ := unstructured.NestedString(claim.Object, "spec", "volumeName")
	if name == "" {
		return &Cascade{}, nil
	}
	ref := cluster.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}, Name: name}
	volume, err := c.live.Object(ctx, ref)
	id := diag.Visible(idOf(ref), diag.MaxText)
	if cluster.ReasonOf(err) != "" {
		return &Cascade{Volume: "its data may be deleted with it: the user is not allowed to get " + id}, nil
	}
	if err != nil || volume == nil || c.pruned[string(volume.GetUID())] {
		return &Cascade{}, err
	}
	if policy, _, _ := unstructured.NestedString(volume.Object, "spec", "persistentVolumeReclaimPolicy"); policy == "Retain" {
		return &Cascade{Volume: id + " stays, with its data: its reclaim policy is Retain"}, nil
	}
	out := cascadeOf([]foundObject{{idOf(ref), string(volume.GetUID())}}, nil)
	out.Volume = "the data of the volume is lost"
	return out, nil
}
