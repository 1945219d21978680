package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
	"github.com/fleetc/fleetc/compiler/live"
	"github.com/fleetc/fleetc/compiler/predict"
)

// A planner makes a plan.
type planner struct {
	Target
	inventory *Inventory
	known     map[string]Entry // of the inventory
	installed map[string]bool  // releases that are there, whoever installed them
	items     []Item           // of the bundle, in its order
	digests   digests
	brought   map[schema.GroupVersionKind]*Item // CRDs of the bundle, by what they define
	spaces    map[string]*Item                  // namespaces of the bundle
	handed    map[string]bool                   // releases of Helm's whose objects are applied now, and these
	hooks     map[string][]byte                 // that run on deletion and are to be written, packed, by release
	schemas   *asked[schema.GroupVersion, *predict.Schemas]
	reader    *live.Reader     // of the objects that are compared; nil to read each by itself
	unchanged map[string]*Item // by ID: those of an earlier plan of the same apply, which are taken from there
	admission asked[struct{}, *admissionRules]
	spaceOf   asked[string, *unstructured.Unstructured] // namespaces
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
func (t Target) Plan(ctx context.Context) (*Plan, error) { return t.planAfter(ctx, nil) }

// planAfter is Plan for a cluster that was planned shortly before; earlier is that
// plan, or nil. What it found unchanged is not read again, unless another apply
// has written the inventory since.
func (t Target) planAfter(ctx context.Context, earlier *Plan) (*Plan, error) {
	if err := t.CheckScope(); err != nil {
		return nil, err
	}
	inventory, err := ReadInventory(ctx, t.Live, t.Fleet, t.Bundle.Cluster.ID)
	if err != nil {
		return nil, err
	}
	first := inventory == nil
	p := t.planner(inventory)
	inventory = p.inventory
	if earlier = p.follow(earlier); earlier == nil {
		t.Live.Renew()
	}
	if err := p.handBack(ctx); err != nil {
		return nil, err
	}
	p.openReader()
	if err := p.findInstalled(ctx, first); err != nil {
		return nil, err
	}
	p.collect()
	if err := p.tryAll(ctx); err != nil {
		return nil, err
	}
	gone, err := p.gone(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := p.deleteHooks(ctx, gone)
	if err != nil {
		return nil, err
	}
	p.pendAll(gone, hooks)
	if err := p.cascades(ctx, p.items, gone); err != nil {
		return nil, err
	}
	plan := &Plan{
		Cluster: t.Bundle.Cluster.ID, Server: t.Live.Server, UID: t.Live.UID, First: first, Bundle: t.Bundle.Digest,
		Items: slices.Concat(p.items, hooks, gone), Limit: t.pruneLimit(len(inventory.Objects)), inventory: p.inventory,
		installed: p.installed, NotAdopted: p.notAdopted(),
	}
	if current := inventory.Current(); current != nil {
		plan.Current = current.Number
	}
	plan.settled = p.settled(plan.Items)
	p.destroying(plan)
	plan.hooks = p.hooks
	plan.due = p.due(plan)
	if err := p.complete(ctx, plan, earlier); err != nil {
		return nil, err
	}
	return plan, nil
}

// complete adds to a plan what its items need, and what else is to be known before it
// is done.
func (p *planner) complete(ctx context.Context, plan, earlier *Plan) (err error) {
	if plan.First {
		if plan.Fleets, err = p.store().otherFleets(ctx); err != nil {
			return err
		}
	}
	if plan.Actions, err = p.actions(ctx, plan); err != nil {
		return err
	}
	if err := p.helmRecords(ctx, plan); err != nil {
		return err
	}
	plan.Missing, err = p.missing(ctx, plan, earlier)
	return err
}

// planner returns a planner for a cluster with the inventory, nil when it has
// none.
func (t Target) planner(inventory *Inventory) *planner {
	if inventory == nil {
		inventory = &Inventory{Format: inventoryFormat, Fleet: t.Fleet, Cluster: t.Bundle.Cluster.ID, UID: t.Live.UID}
	}
	t.Live.Hide(health.Hider(t.secrets()))
	return &planner{
		Target: t, inventory: inventory, known: inventory.entries(), digests: digestsOf(t.Bundle),
		brought: map[schema.GroupVersionKind]*Item{}, spaces: map[string]*Item{}, handed: map[string]bool{},
		schemas: &asked[schema.GroupVersion, *predict.Schemas]{},
	}
}

// collect lists the objects of the bundle that are in scope.
func (p *planner) collect() {
	p.items = make([]Item, 0, len(p.Bundle.Objects))
	has := map[string]bool{}
	for _, o := range p.Bundle.Objects {
		has[o.ID()] = true
	}
	// Beside the objects are hooks for rollbacks; what both have is one.
	beside := slices.DeleteFunc(slices.Clone(p.Bundle.Hooks), func(o fleet.Object) bool { return has[o.ID()] })
	for _, o := range slices.Concat(p.Bundle.Objects, beside) {
		h := p.hookOf(o)
		if byHelm(o) || h != nil && !h.pre && !h.post || !p.inScope(o.Release.Stage, o.Release.Name) {
			continue
		}
		it := Item{
			ID: o.ID(), Release: o.Release.Name, Stage: o.Release.Stage, ref: live.RefOf(o.Unstructured), release: o.Release, object: asStored(o.Unstructured), hook: h,
		}
		for _, pos := range []diag.Pos{o.Pos, o.Release.Pos} {
			if pos.IsValid() {
				it.at = []diag.Pos{pos}
				break
			}
		}
		p.items = append(p.items, it)
	}
	p.collectHelm()
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
func (it *Item) isBase() bool { return fleet.IsBase(it.kind()) }

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
	return p.Bundle.Cluster.CompareSteps(it.step(), other.step()) <= 0
}

// step returns the step in which an object of the bundle applies.
func (it *Item) step() fleet.ApplyStep { return it.release.ApplyStep() }

// Level returns the level of the release of an object of the bundle, 0 of others.
func (it *Item) Level() int {
	if it.release == nil {
		return 0
	}
	return it.release.Level
}

// comesLater says of what an object needs, and the release of other brings in a
// later step, why it is not there in time, and what to do about that.
func (it *Item) comesLater(what string, other *Item) (reason, hint string) {
	if it.Stage == other.Stage {
		return fmt.Sprintf("%s comes with release %s, which applies later in stage %s", what, other.Release, other.Stage),
			fmt.Sprintf("move it to release %s, or to one that applies before", it.Release)
	}
	return fmt.Sprintf("%s comes with release %s of the later stage %s", what, other.Release, other.Stage), "move one of them to another stage"
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
		bundle[o.ID()] = !byHelm(o)
	}
	for _, e := range p.inventory.Objects {
		if !in[e.id()] && (!p.inScope(e.Stage, e.Release) || bundle[e.id()]) {
			in[e.id()] = true
			others = append(others, e)
		}
	}
	v.Objects = slices.Concat(v.Objects, others, p.kept(items, in), p.pending(items))
	p.sortEntries(v.Objects)
	v.Hooks = p.settledHooks(v.Objects)
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

// kept returns the entries of what is kept, also by Helm, of which nobody else
// would know; in has the IDs of all else.
func (p *planner) kept(items []Item, in map[string]bool) []Entry {
	var out []Entry
	for _, it := range items {
		if it.Action == Keep && it.Owner == "" {
			out = append(out, p.known[it.ID])
		}
		for _, part := range it.Parts {
			if part.Action == Keep && part.Owner == "" && !in[part.ID] {
				in[part.ID] = true
				out = append(out, entryOf(part, part.uid))
			}
		}
	}
	for i := range out {
		out[i].Kept = true
	}
	return out
}

// pending returns the entries of what is still being deleted.
func (p *planner) pending(items []Item) []Entry {
	var out []Entry
	for _, it := range items {
		if it.Action == Pending {
			out = append(out, p.known[it.ID])
		}
	}
	return out
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
		sum := b.Sum(i)
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
