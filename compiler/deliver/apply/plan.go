package apply

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// A planner makes a plan.
type planner struct {
	Target                            // its bundle has the values of secrets
	declared         []*fleet.Release // releases of the bundle with references instead
	inventory        *Inventory
	recorded         map[string]Entry // of the inventory
	installed        map[string]bool  // existing releases, by any tool
	items            []Item           // of the bundle, in its order
	digests          digests
	bundleCRDs       map[schema.GroupVersionKind]*Item // CRDs of the bundle, by the kinds that they define
	bundleNamespaces map[string]*Item                  // namespaces of the bundle
	secretFields     map[string][][]string             // fields beside the data of Secrets that get values of secrets, by ID
	handedOver       map[string]bool                   // Helm releases whose objects fleetc now applies, and these objects
	hooks            map[string][]byte                 // packed hooks that run on deletion and must be stored, by release
	schemas          *par.ResultMemo[schema.GroupVersion, *cluster.Schemas]
	reader           *cluster.Reader  // of all objects that the plan reads; nil to read each on its own
	unchanged        map[string]*Item // unchanged items of an earlier plan of the same apply, by ID
	admission        par.ResultMemo[struct{}, *admissionRules]
	namespaces       par.ResultMemo[string, *unstructured.Unstructured] // namespaces
}

func idOf(ref cluster.Ref) string {
	return fleet.Object{Unstructured: placeholder(ref, "")}.ID()
}

// Plan returns the plan for the bundle. It writes nothing: objects are sent as dry
// runs, except those whose namespace or CRD does not exist yet, and those whose
// webhook does not answer.
//
// The plan lists everything that prevents the apply, see [Plan.Faults]; an error
// means that the cluster is unreachable or not the expected one.
func (t Target) Plan(ctx context.Context) (*Plan, error) { return t.planAfter(ctx, nil) }

// planAfter is Plan shortly after an earlier plan of the cluster, which may be nil.
// It does not read objects again that were unchanged, unless another apply has
// written the inventory since.
func (t Target) planAfter(ctx context.Context, earlier *Plan) (*Plan, error) {
	if err := t.CheckScope(); err != nil {
		return nil, err
	}
	inventory, err := ReadInventory(ctx, t.Live, t.Fleet, t.Bundle.Cluster.ID)
	if err != nil {
		return nil, err
	}
	if err := t.checkRestores(inventory); err != nil {
		return nil, err
	}
	first := inventory == nil
	p := t.planner(inventory)
	inventory = p.inventory
	if earlier = p.reuseUnchanged(earlier); earlier == nil {
		t.Live.ResetDiscovery()
	}
	if err := p.takeOverFromHelm(ctx); err != nil {
		return nil, err
	}
	p.openReader(p.Bundle.Objects, func(id string) bool { return p.unchanged[id] != nil })
	if err := p.findInstalled(ctx, first); err != nil {
		return nil, err
	}
	p.collectItems()
	if err := p.planObjects(ctx); err != nil {
		return nil, err
	}
	removed, err := p.planPrune(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := p.deleteHooks(ctx, removed)
	if err != nil {
		return nil, err
	}
	p.planPending(removed, hooks)
	if err := p.cascades(ctx, p.items, removed); err != nil {
		return nil, err
	}
	plan := &Plan{
		Cluster: t.Bundle.Cluster.ID, Server: t.Live.Server, UID: t.Live.UID, FirstApply: first, Bundle: t.Bundle.Digest,
		Items: slices.Concat(p.items, hooks, removed), PruneLimit: t.pruneLimit(appliedObjects(inventory, slices.Concat(p.items, removed))), inventory: p.inventory,
		SecretFields: p.allSecretFields(), installedReleases: p.installed, UnusedAdoptFrom: p.unusedAdoptFrom(),
	}
	if current := inventory.Current(); current != nil {
		plan.Current = current.Number
		if t.Origin.IsBehind != nil && current.Commit != t.Origin.Commit && t.Origin.IsBehind(current.Commit) {
			plan.Newer = current
		}
	}
	plan.next = p.nextInventory(plan.Items)
	p.completeDestroy(plan)
	plan.deleteHooks, plan.hooksDigest = p.hooks, DeletionHooksDigest(t.Bundle)
	plan.dueStages = p.dueStages(plan)
	if err := p.complete(ctx, plan, earlier); err != nil {
		return nil, err
	}
	return plan, nil
}

// complete adds the actions, records of Helm and missing rights to a plan.
func (p *planner) complete(ctx context.Context, plan, earlier *Plan) (err error) {
	if plan.FirstApply {
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
	plan.MissingRights, err = p.missingRights(ctx, plan, earlier)
	return err
}

// planner returns a planner for a cluster with the inventory, which may be nil.
func (t Target) planner(inventory *Inventory) *planner {
	if inventory == nil {
		inventory = &Inventory{Format: inventoryFormat, Fleet: t.Fleet, Cluster: t.Bundle.Cluster.ID, UID: t.Live.UID}
	}
	t.Live.Hide(kube.SecretHider(t.secrets()))
	installed := map[string]bool{}
	for name := range inventory.Releases {
		installed[name] = true
	}
	digests, declared, fields := digestsOf(t.Bundle), t.Bundle.Cluster.Releases, t.secretFields()
	t.Bundle = t.withSecrets()
	return &planner{
		Target: t, declared: declared, inventory: inventory, recorded: inventory.entries(), installed: installed, digests: digests,
		bundleCRDs: map[schema.GroupVersionKind]*Item{}, bundleNamespaces: map[string]*Item{}, handedOver: map[string]bool{}, secretFields: fields,
		schemas: &par.ResultMemo[schema.GroupVersion, *cluster.Schemas]{},
	}
}

// collectItems adds the objects of the bundle that are in scope.
func (p *planner) collectItems() {
	p.items = make([]Item, 0, len(p.Bundle.Objects))
	inBundle := p.bundleIDs()
	// Hooks for rollbacks are not among the objects. A hook in both lists counts
	// once.
	beside := slices.DeleteFunc(slices.Clone(p.Bundle.Hooks), func(o fleet.Object) bool { return inBundle[o.ID()] })
	for _, o := range slices.Concat(p.Bundle.Objects, beside) {
		h := p.hookOf(o)
		if byHelm(o) || h != nil && !h.pre && !h.post || !p.inScope(o.Release.Stage, o.Release.Name) {
			continue
		}
		p.items = append(p.items, Item{
			ID: o.ID(), Release: o.Release.Name, Stage: o.Release.Stage, ref: cluster.RefOf(o.Unstructured), release: o.Release, object: asStored(o.Unstructured), hook: h,
			positions: o.Places(),
		})
	}
	p.collectHelm()
	for i := range p.items {
		it := &p.items[i]
		switch it.kind() {
		case (schema.GroupKind{Kind: "Namespace"}):
			p.bundleNamespaces[it.ref.Name] = it
		case fleet.CRDKind:
			for _, gvk := range fleet.ServedKinds(it.object) {
				p.bundleCRDs[gvk] = it
			}
		}
	}
}

func (it *Item) kind() schema.GroupKind { return it.ref.GroupKind() }

// isBase reports whether other objects depend on the object's existence, as on a
// namespace or a CRD.
func (it *Item) isBase() bool { return fleet.IsBase(it.kind()) }

// before reports whether the objects of it exist when other is applied.
func (p *planner) before(it, other *Item) bool {
	return p.Bundle.Cluster.CompareSteps(it.step(), other.step()) <= 0
}

// step returns the apply step of an object of the bundle.
func (it *Item) step() fleet.ApplyStep { return it.release.ApplyStep() }

// Level returns the level of the item's release, 0 for an item without one.
func (it *Item) Level() int {
	if it.release == nil {
		return 0
	}
	return it.release.Level
}

// planObjects plans all objects. Namespaces and CRDs come first, since the plans of
// other objects depend on them.
func (p *planner) planObjects(ctx context.Context) error {
	var base, rest []*Item
	for i := range p.items {
		if it := &p.items[i]; it.isBase() {
			base = append(base, it)
		} else {
			rest = append(rest, it)
		}
	}
	for _, items := range [][]*Item{base, rest} {
		if err := forEach(ctx, len(items), func(ctx context.Context, i int) error { return items[i].locate(p.planObject(ctx, items[i])) }); err != nil {
			return err
		}
	}
	return nil
}

// pruneLimit returns the most objects that may be pruned, given the number of
// objects in the inventory.
func (o Options) pruneLimit(objects int) int {
	if o.PruneLimit != nil {
		return *o.PruneLimit
	}
	return max(10, (objects+4)/5)
}

// appliedObjects returns the number of objects of the inventory, including those of releases
// that Helm delivers, which are one entry each.
func appliedObjects(v *Inventory, items []Item) int {
	n := len(v.Objects)
	for _, it := range items {
		if it.helm != nil {
			n += len(it.helm.Objects)
		}
	}
	return n
}

// nextInventory returns the inventory after all items are applied.
func (p *planner) nextInventory(items []Item) *Inventory {
	v := p.inventory.clone()
	v.Objects = nil
	in := map[string]bool{}
	for _, it := range items {
		in[it.ID] = true
		if it.hook == nil && it.object != nil {
			e := entryOf(it, it.uid)
			e.SecretFields = p.nextSecretFields(it)
			v.Objects = append(v.Objects, e)
		}
	}
	var others []Entry
	bundle := map[string]bool{} // objects of the bundle, of all releases
	for _, o := range p.Bundle.Objects {
		bundle[o.ID()] = !byHelm(o)
	}
	for _, e := range p.inventory.Objects {
		if !in[e.id()] && (!p.inScope(e.Stage, e.Release) || bundle[e.id()]) {
			in[e.id()] = true
			others = append(others, e)
		}
	}
	v.Objects = slices.Concat(v.Objects, others, p.removedEntries(items, in))
	p.sortEntries(v.Objects)
	v.Hooks = p.nextHooks(v.Objects)
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

// removedEntries returns the entries of kept objects, including those that Helm keeps, and
// of objects that are still being deleted; in has the IDs of all other entries.
func (p *planner) removedEntries(items []Item, in map[string]bool) []Entry {
	var kept, pending []Entry
	for _, it := range items {
		switch {
		case it.Action == Pending:
			pending = append(pending, p.recorded[it.ID].asPending())
		case it.Action == Keep && it.Owner == "":
			kept = append(kept, p.recorded[it.ID])
		}
		for _, part := range it.Parts {
			if part.Action == Keep && part.Owner == "" && !in[part.ID] {
				in[part.ID] = true
				kept = append(kept, entryOf(part, part.uid))
			}
		}
	}
	for i := range kept {
		kept[i].Kept, kept[i].Pending = true, false
	}
	return slices.Concat(kept, pending)
}

// sortEntries sorts entries into the order of the bundle, followed by those that
// are not in it, in their old order.
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

// digests are the digests of the stages and releases of a bundle.
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
	return digests{shortDigests(stages), shortDigests(releases)}
}

func shortDigests(sums map[string][]byte) map[string]string {
	out := make(map[string]string, len(sums))
	for k, v := range sums {
		out[k] = hexSum(v, 16)
	}
	return out
}
