package apply

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/live"
)

// A Finding says how a cluster has an object.
type Finding string

// How a cluster can have an object.
const (
	Same     Finding = "same"
	Missing  Finding = "missing"
	Changed  Finding = "changed"
	Orphaned Finding = "orphaned" // it was applied, and is no longer part of the bundle
	Contest  Finding = "conflict" // others have made it, or have fields of it with other values
	Unknown  Finding = "unknown"  // it could not be read
)

// A Compared is an object of a cluster against what the bundle has.
type Compared struct {
	ID        string
	Release   string
	Finding   Finding
	Predicted bool   // whether what it would be was predicted; by a dry run otherwise
	Why       string // more about the finding; may be empty
	How       string // why it was predicted

	// Before and After are the object as it is, and as it would be. Either may
	// be nil, and both are when they are the same. They must not be modified.
	Before, After *unstructured.Unstructured

	Fields []live.Field // that others have
}

// A Comparison is what a cluster has against its bundle.
type Comparison struct {
	Objects  []Compared // those of the bundle that are in scope, without hooks; then those that it has no more
	Releases []string   // names of those that the inventory has objects of, sorted
}

// Compare returns what the cluster has against what the bundle says. It writes
// nothing, and needs no right but to read: an object that the user may not apply,
// or that cannot be tried out, is compared with what is predicted. What the user
// may not read is unknown.
//
// Hooks are left out: they come and go. So is what is no longer part of the
// bundle once an apply has left it to stay.
func (t Target) Compare(ctx context.Context) (*Comparison, error) {
	inventory, err := ReadInventory(ctx, t.Live, t.Fleet, t.Bundle.Cluster.ID)
	var out Comparison
	blind := live.ReasonOf(err) == live.Forbidden
	if blind {
		out.Objects = append(out.Objects, Compared{
			ID: idOf(headRef(t.Fleet)), Finding: Unknown, Why: "the user may not " + listRights([]live.Right{{Verb: "get", Resource: "secrets", Namespace: Namespace}}),
		})
		err = nil
	}
	if err != nil {
		return nil, err
	}
	p := t.planner(inventory)
	if err := p.handBack(ctx); err != nil && live.ReasonOf(err) != live.Forbidden {
		return nil, err
	}
	c := &comparer{planner: p, blind: blind}
	p.collect()
	p.brought, p.spaces = nil, nil // what is there needs nothing that comes first
	orphaned, err := c.spread(ctx)
	if err != nil {
		return nil, err
	}
	compared, err := c.all(ctx)
	if err != nil {
		return nil, err
	}
	gone, err := c.orphans(ctx)
	out.Objects = slices.Concat(compared, orphaned, gone, out.Objects)
	for _, e := range p.inventory.Objects {
		out.Releases = append(out.Releases, e.Release)
	}
	slices.Sort(out.Releases)
	out.Releases = slices.Compact(out.Releases)
	return &out, err
}

// A comparer compares a cluster with its bundle.
type comparer struct {
	*planner
	blind bool // whether the inventory cannot be read, so that nobody knows what is foreign
	mayDo asked[live.Right, bool]
	mayIn asked[string, patches] // by namespace
}

// all compares the objects of the bundle, kind by kind, so that they are read
// with few requests.
func (c *comparer) all(ctx context.Context) ([]Compared, error) {
	type group struct {
		schema.GroupVersionKind
		namespace string
	}
	var groups []group
	places := map[group][]int{}
	for i, it := range c.items {
		g := group{it.ref.GroupVersionKind, it.ref.Namespace}
		if places[g] == nil {
			groups = append(groups, g)
		}
		places[g] = append(places[g], i)
	}
	out, found := make([]Compared, len(c.items)), make([]*unstructured.Unstructured, len(c.items))
	err := each(ctx, len(groups), func(ctx context.Context, i int) error {
		in := places[groups[i]]
		names := make([]string, len(in))
		for j, place := range in {
			it := &c.items[place]
			out[place] = Compared{ID: it.ID, Release: it.Release, Finding: Missing, After: it.object}
			names[j] = it.ref.Name
		}
		is, finding, why, err := c.read(ctx, groups[i].GroupVersionKind, groups[i].namespace, names)
		for _, place := range in {
			if found[place] = is[c.items[place].ref.Name]; finding != "" {
				out[place].Finding, out[place].Why = finding, why
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, each(ctx, len(out), func(ctx context.Context, i int) error {
		if found[i] == nil {
			if c.completedBefore(&c.items[i], nil) {
				out[i].Finding, out[i].After = Same, nil
			}
			return nil
		}
		is := found[i]
		found[i] = nil // memory is held for what differs alone
		return c.compare(ctx, &c.items[i], is, &out[i])
	})
}

// read reads objects of one kind. A finding is what is to be said of all of them.
func (c *comparer) read(ctx context.Context, gvk schema.GroupVersionKind, namespace string, names []string) (map[string]*unstructured.Unstructured, Finding, string, error) {
	ref, served, err := servedRef(ctx, c.Live, live.Ref{GroupVersionKind: gvk})
	var r live.Resource
	if err == nil {
		r, served, err = c.Live.Resource(ctx, ref.GroupVersionKind) // it may be another version
	}
	switch {
	case live.ReasonOf(err) != "":
		return nil, Unknown, err.Error(), nil
	case err != nil:
		return nil, "", "", err
	case !served:
		return nil, Missing, "the cluster does not serve " + gvk.GroupVersion().String() + " " + gvk.Kind, nil
	case !r.Namespaced:
		namespace = ""
	}
	gvk = ref.GroupVersionKind
	is, err := c.Live.Objects(ctx, gvk, namespace, names)
	switch live.ReasonOf(err) {
	case live.Forbidden:
		return nil, Unknown, "the user may not " + listRights([]live.Right{{Verb: "get", Group: r.Group, Resource: r.Resource, Namespace: namespace}}), nil
	case "":
		return is, "", "", err
	}
	return nil, Unknown, err.Error(), nil
}

// compare finds out about an object that is there.
func (c *comparer) compare(ctx context.Context, it *Item, is *unstructured.Unstructured, out *Compared) error {
	out.Before = is
	if isGoing(is) {
		out.Before, out.Why = nil, "the one that is there is being deleted"
		return nil
	}
	it.uid = string(is.GetUID())
	it.takeover = c.takeover(it, false)
	it.Adopts = c.handed[it.ID] || len(it.former(is)) > 0
	would, err := c.would(ctx, it, is, out)
	if err != nil {
		return err
	}
	if would == nil { // Helm's patch is refused
		out.Finding = Contest
		return nil
	}
	out.Before, out.After = it.withoutLeft(out.Before, would)
	out.Finding = Changed
	if reflect.DeepEqual(content(out.Before), content(out.After)) {
		out.Finding, out.Before, out.After = Same, nil, nil
	}
	if it.of != nil {
		it.explainPart(out)
	}
	if !c.blind && c.isForeign(it, is) && (it.of == nil || !isPartOf(is, it.of.ref)) {
		out.Finding, out.Why = Contest, c.ownerOf(is)+" made it"
	} else if len(out.Fields) > 0 {
		out.Finding = Contest
	}
	return nil
}

const mayNot = "the user may not patch them"

// would returns what becomes of an object when it is applied, by a dry run if
// that can be.
func (c *comparer) would(ctx context.Context, it *Item, is *unstructured.Unstructured, out *Compared) (*unstructured.Unstructured, error) {
	may, err := c.may(ctx, it.ref)
	if err != nil {
		return nil, err
	}
	if it.of != nil {
		return c.wouldByHelm(ctx, it, is, out, may)
	}
	if !may {
		return c.predict(ctx, it, is, out, mayNot)
	}
	if is.GroupVersionKind() != it.ref.GroupVersionKind {
		return c.predict(ctx, it, is, out, "the cluster does not serve them in the version of the bundle")
	}
	it.Before = is
	if err := c.dryRun(ctx, it, is); err != nil {
		return nil, err
	}
	switch {
	case it.untried && it.Action == Unchanged:
		return c.predict(ctx, it, is, out, silentWebhook)
	case it.untried && it.Action == Change:
		return c.predict(ctx, it, is, out, cmp.Or(it.Reason, mayNot))
	case it.untried:
		out.Why = it.Reason
		return c.predict(ctx, it, is, out, "the API server refuses to apply them")
	case it.Action == Unchanged:
		return is, nil
	case it.After == nil: // it is in conflict, and refused for more than that
		return c.predict(ctx, it, is, out, "the API server refuses to apply them")
	}
	if out.Before = it.Before; it.Action == Conflict {
		out.Fields = it.Fields
	}
	return it.After, nil
}

// predict compares an object with its simulated apply.
func (c *comparer) predict(ctx context.Context, it *Item, is *unstructured.Unstructured, out *Compared, how string) (*unstructured.Unstructured, error) {
	s, err := c.simulate(ctx, it, is)
	if err != nil {
		return nil, err
	}
	out.Predicted, out.How, out.Before, out.Fields = true, how+s.doubt, s.before, s.conflicts
	return s.after, nil
}

// may reports whether the user may apply an object that is there, for which a
// dry run needs the same right. One question for each namespace tells this of
// most users.
func (c *comparer) may(ctx context.Context, ref live.Ref) (bool, error) {
	r, served, err := c.Live.Resource(ctx, ref.GroupVersionKind)
	if err != nil || !served {
		return !served, err // it is of another version
	}
	patch := live.Right{Verb: "patch", Group: r.Group, Resource: r.Resource}
	if r.Namespaced {
		patch.Namespace = ref.Namespace
	}
	ask := func(right live.Right) (bool, error) {
		return c.mayDo.get(right, func() (bool, error) { return c.Live.May(ctx, right) })
	}
	if all, err := ask(live.Right{}); all || err != nil {
		return all, err
	}
	in, err := c.mayIn.get(cmp.Or(patch.Namespace, Namespace), func() (patches, error) {
		may, whole, err := c.Live.Verb(ctx, patch.Verb, cmp.Or(patch.Namespace, Namespace))
		return patches{may, whole}, err
	})
	if err != nil || in.whole && !in.may(r.Group, r.Resource) {
		return false, err
	}
	return ask(patch)
}

// patches are what the user may patch in a namespace, see [live.Cluster.Verb].
type patches struct {
	may   func(group, resource string) bool
	whole bool
}

// orphans returns the objects in the inventory that the bundle does not have any
// more, except those that an apply keeps, and those of other tools.
func (c *comparer) orphans(ctx context.Context) ([]Compared, error) {
	items, err := c.gone(ctx)
	if err != nil {
		return nil, err
	}
	var out []Compared
	for _, it := range items {
		switch {
		case it.handed: // its objects are what is compared
		case it.Owner != "":
		case it.IsHelm() && it.Action == Prune:
			out = append(out, orphansOf(it)...)
		case it.Action == Refused:
			out = append(out, Compared{ID: it.ID, Release: it.Release, Finding: Unknown, Why: it.Reason})
		case !c.known[it.ID].Kept && !it.unserved:
			out = append(out, Compared{ID: it.ID, Release: it.Release, Finding: Orphaned, Before: it.Before, Why: it.Reason})
		}
	}
	return out, nil
}
