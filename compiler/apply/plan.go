package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// A planner makes a plan.
type planner struct {
	Target
	inventory *Inventory
	known     map[string]Entry // of the inventory
	items     []Item           // of the bundle, in its order
	digests   digests
	brought   map[schema.GroupVersionKind]*Item // CRDs of the bundle, by what they define
	spaces    map[string]*Item                  // namespaces of the bundle
}

func idOf(ref live.Ref) string {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(ref.GroupVersionKind)
	o.SetNamespace(ref.Namespace)
	o.SetName(ref.Name)
	return fleet.Object{Unstructured: o}.ID()
}

// Plan returns what applying the bundle means. It writes nothing: objects are
// tried out by dry runs, except those whose namespace or CRD the bundle brings
// along, and those for which a webhook does not answer.
//
// What stands against applying is in the plan, see [Plan.Faults]; the error is
// about a cluster that is not reached, or is not the one that was meant.
func (t Target) Plan(ctx context.Context) (*Plan, error) {
	if err := t.CheckScope(); err != nil {
		return nil, err
	}
	inventory, err := ReadInventory(ctx, t.Live)
	if err != nil {
		return nil, err
	}
	first := inventory == nil
	if first {
		inventory = &Inventory{Format: inventoryFormat, Fleet: t.Fleet, Cluster: t.Bundle.Cluster.ID, UID: t.Live.UID}
	} else if err := inventory.check(t); err != nil {
		return nil, err
	}
	t.Live.Renew()
	p := &planner{
		Target: t, inventory: inventory, known: inventory.entries(), digests: digestsOf(t.Bundle),
		brought: map[schema.GroupVersionKind]*Item{}, spaces: map[string]*Item{},
	}
	p.collect()
	if err := p.tryAll(ctx); err != nil {
		return nil, err
	}
	gone, err := p.gone(ctx)
	if err != nil {
		return nil, err
	}
	plan := &Plan{
		Cluster: t.Bundle.Cluster.ID, Server: t.Live.Server, UID: t.Live.UID, First: first, Bundle: t.Bundle.Digest,
		Items: slices.Concat(p.items, gone), Limit: t.pruneLimit(len(inventory.Objects)), inventory: inventory,
	}
	plan.settled = p.settled(plan.Items)
	plan.Missing, err = t.missing(ctx, plan)
	return plan, err
}

// collect lists the objects of the bundle that are in scope.
func (p *planner) collect() {
	p.items = make([]Item, 0, len(p.Bundle.Objects))
	for _, o := range p.Bundle.Objects {
		h := p.hookOf(o)
		if h != nil && !h.pre && !h.post || !p.inScope(o.Release.Stage, o.Release.Name) {
			continue
		}
		it := Item{
			ID: o.ID(), Release: o.Release.Name, Stage: o.Release.Stage, ref: live.RefOf(o.Unstructured), release: o.Release, object: o.Unstructured, hook: h,
		}
		for _, pos := range []diag.Pos{o.Pos, o.Release.Pos} {
			if pos.IsValid() {
				it.at = []diag.Pos{pos}
				break
			}
		}
		p.items = append(p.items, it)
	}
	for i := range p.items {
		it := &p.items[i]
		switch it.kind() {
		case (schema.GroupKind{Kind: "Namespace"}):
			p.spaces[it.ref.Name] = it
		case (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}):
			for _, gvk := range defines(it.object) {
				p.brought[gvk] = it
			}
		}
	}
}

func (it *Item) kind() schema.GroupKind { return it.ref.GroupKind() }

// isBase reports whether other objects cannot be before this one is.
func (it *Item) isBase() bool {
	k := it.kind()
	return k == schema.GroupKind{Kind: "Namespace"} || k == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// defines returns the kinds that a CRD defines.
func defines(crd *unstructured.Unstructured) []schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var out []schema.GroupVersionKind
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if name, isText := version["name"].(string); ok && isText && version["served"] != false {
			out = append(out, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return out
}

// before reports whether what it brings is there when other is applied.
func (p *planner) before(it, other *Item) bool {
	stages := p.Bundle.Cluster.Stages
	return slices.Index(stages, it.Stage) <= slices.Index(stages, other.Stage)
}

// tryAll tries the objects out, namespaces and CRDs first: what becomes of the
// others depends on them.
func (p *planner) tryAll(ctx context.Context) error {
	var base, rest []*Item
	for i := range p.items {
		if it := &p.items[i]; it.isBase() {
			base = append(base, it)
		} else {
			rest = append(rest, it)
		}
	}
	for _, items := range [][]*Item{base, rest} {
		if err := each(ctx, len(items), func(ctx context.Context, i int) error { return p.try(ctx, items[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// pruneLimit returns how many of so many objects may be pruned.
func (o Options) pruneLimit(objects int) int {
	if o.PruneLimit > 0 {
		return o.PruneLimit
	}
	return max(10, (objects+4)/5)
}

// settled returns the inventory after all items were done.
func (p *planner) settled(items []Item) *Inventory {
	v := p.inventory.clone()
	v.Objects = nil
	in := map[string]bool{}
	for _, it := range items {
		in[it.ID] = true
		if it.hook == nil && it.object != nil {
			v.Objects = append(v.Objects, entryOf(it, it.uid))
		}
	}
	var others []Entry
	bundle := map[string]bool{} // which has some of other releases
	for _, o := range p.Bundle.Objects {
		bundle[o.ID()] = true
	}
	for _, e := range p.inventory.Objects {
		if !in[e.id()] && (!p.inScope(e.Stage, e.Release) || bundle[e.id()]) {
			others = append(others, e)
		}
	}
	for _, it := range items {
		if it.Action == Keep {
			e := p.known[it.ID]
			e.Kept = true
			others = append(others, e)
		}
	}
	v.Objects = append(v.Objects, others...)
	p.sortEntries(v.Objects)
	v.Stages, v.Releases = map[string]string{}, map[string]string{}
	if !p.whole() {
		maps.Copy(v.Releases, p.inventory.Releases)
	}
	stages, releases := p.digests.stages, p.digests.releases
	for stage, digest := range stages {
		if len(p.Options.Releases) == 0 && p.inScope(stage, "") {
			v.Stages[stage] = digest
		} else if old, ok := p.inventory.Stages[stage]; ok {
			v.Stages[stage] = old
		}
	}
	for _, r := range p.Bundle.Cluster.Releases {
		if p.inScope(r.Stage, r.Name) {
			v.Releases[r.Name] = releases[r.Name]
		}
	}
	if p.whole() {
		v.Bundle = p.Bundle.Digest
	}
	return v
}

// sortEntries puts entries into the order in which they apply: that of the
// bundle; then those that it has no more, as they were.
func (p *planner) sortEntries(entries []Entry) {
	place := map[string]int{}
	for i, o := range p.Bundle.Objects {
		place[o.ID()] = i
	}
	rank := func(e Entry) int {
		if i, ok := place[e.id()]; ok {
			return i
		}
		return len(place)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return rank(a) - rank(b) })
}

// digests say what the stages and the releases of a bundle are.
type digests struct{ stages, releases map[string]string }

func digestsOf(b *fleet.Bundle) digests {
	stages, releases := map[string][]byte{}, map[string][]byte{}
	for _, s := range b.Cluster.Stages {
		stages[s] = nil
	}
	for _, r := range b.Cluster.Releases {
		releases[r.Name] = nil
	}
	for i, o := range b.Objects {
		sum := sha256.Sum256(b.YAML[i])
		stages[o.Release.Stage] = append(stages[o.Release.Stage], sum[:]...)
		releases[o.Release.Name] = append(releases[o.Release.Name], sum[:]...)
	}
	return digests{short(stages), short(releases)}
}

func short(sums map[string][]byte) map[string]string {
	out := make(map[string]string, len(sums))
	for k, v := range sums {
		sum := sha256.Sum256(v)
		out[k] = hex.EncodeToString(sum[:16])
	}
	return out
}
