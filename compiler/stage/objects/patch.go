package objects

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// PatchRelease applies the patches of a release in order and returns the objects in
// the same order, without deleted ones. Lists must be flattened before. objs is
// not modified: changed objects are copies that share nothing with objs or the
// patches; the others are returned as they are.
//
// Each patch sees the result of the previous ones. A strategic merge uses the
// schemas of the cluster's Kubernetes version; for other kinds, maps merge and
// lists are replaced. apiVersion, kind, name and namespace cannot change,
// except by a JSON operation on exactly that field.
//
// The error is a diag.List of all faults, at the lines of the patches: a patch
// that is not optional and matches nothing, an unknown field, an operation that
// fails. It contains no values of Secrets. The objects are nil after an error.
func PatchRelease(c *fleet.Cluster, r *fleet.Release, objs []fleet.Object) ([]fleet.Object, error) {
	out, _, err := CheckedObjects(c, r, objs)
	return out, err
}

// CheckedObjects is [PatchRelease], and says of the texts that layers write in targets whether
// each of them matches an object.
func CheckedObjects(c *fleet.Cluster, r *fleet.Release, objs []fleet.Object) ([]fleet.Object, []fleet.RuleCheck, error) {
	if len(r.Patches) == 0 {
		return objs, nil, nil
	}
	a := newApplication(c)
	a.release = r
	for _, o := range objs {
		if o.Unstructured != nil {
			a.items = append(a.items, &item{Object: o})
		}
	}
	var faults diag.List
	var checks []fleet.RuleCheck
	for i := range r.Patches {
		checks = append(checks, a.targetChecks(&r.Patches[i])...)
		faults = append(faults, a.apply(&r.Patches[i])...)
	}
	if len(faults) > 0 {
		return nil, checks, faults.Err()
	}
	return itemObjects(a.items), checks, nil
}

// Renamed returns an object with the identity that the patches of its release give it, and
// in that case without other metadata.
func Renamed(c *fleet.Cluster, r *fleet.Release, o fleet.Object) fleet.Object {
	renames := func(op fleet.Operation) bool {
		return slices.Contains([]string{"/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"}, op.Path)
	}
	if !slices.ContainsFunc(r.Patches, func(p fleet.Patch) bool { return slices.ContainsFunc(p.JSON, renames) }) {
		return o
	}
	a, it := newApplication(c), &item{Object: o}
	a.release, a.items = r, []*item{it}
	for i := range r.Patches {
		a.apply(&r.Patches[i]) // CheckedObjects returns the faults
	}
	object := maps.Clone(o.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		delete(object, field)
	}
	identityOf(it.Unstructured.Object).complete(object)
	o.Unstructured = &unstructured.Unstructured{Object: object}
	return o
}

// An application is the state for the objects of one release.
type application struct {
	release *fleet.Release
	kube    *kube.Version
	apis    []fleet.API
	items   []*item
	images  map[*kube.Schema]bool // whether a schema has images
}

func newApplication(c *fleet.Cluster) *application {
	version, known := kube.Minor(c.KubeVersion)
	if !known {
		all := kube.Versions()
		version = all[len(all)-1]
	}
	return &application{kube: version, apis: c.APIs, images: map[*kube.Schema]bool{}}
}

// An item is an object between patches.
type item struct {
	fleet.Object
	own     bool // the object is a copy
	deleted bool // a patch deleted the object
	broken  bool // a patch failed; faults of later ones are not reported
}

// apply applies one patch to all objects that it matches.
func (a *application) apply(p *fleet.Patch) diag.List {
	matched, broken := a.matched(p.Target)
	if len(matched) == 0 {
		if p.Optional || broken {
			return nil
		}
		d, _ := a.unmatched(a.rule("patches", p.Name, p.PosAt("target")), p.Target)
		return diag.List{d}
	}
	var problems []objectProblem
	changes := p.Images == nil || p.Optional || broken
	change := a.change(p)
	for _, it := range matched {
		if !it.own {
			it.Unstructured = &unstructured.Unstructured{Object: cloneMap(it.Unstructured.Object)}
			it.own, it.Shared = true, false
		}
		before, id := identityOf(it.Unstructured.Object), it.ID()
		found, fits := change(it)
		if len(found) == 0 && !it.deleted {
			found = a.moved(p, before, it.Unstructured.Object)
		}
		for _, f := range found {
			problems = append(problems, objectProblem{f, id})
			it.broken = true
		}
		changes = changes || fits
	}
	if !changes {
		return diag.List{a.noImage(p, matched)}
	}
	return a.faults(p, problems)
}

// change returns the function that applies a patch to an object. The function
// returns the problems, and whether the patch applies to the object.
func (a *application) change(p *fleet.Patch) func(it *item) (found []*problem, fits bool) {
	switch {
	case p.Strategic != nil:
		patch, _ := native(p.Strategic).(map[string]any)
		return func(it *item) ([]*problem, bool) { return a.strategic(it, patch), true }
	case p.Merge != nil:
		patch, _ := native(p.Merge).(map[string]any)
		return func(it *item) ([]*problem, bool) { return a.merge(it, patch), true }
	case p.Images != nil:
		names := newRenaming(p.Images)
		return func(it *item) ([]*problem, bool) { return nil, a.rename(it, names) }
	}
	ops := slices.Clone(p.JSON)
	for i := range ops {
		ops[i].Value = native(ops[i].Value)
	}
	return func(it *item) ([]*problem, bool) { return operate(it, ops), true }
}

// schema returns the schema of an object, or nil if its kind is not built in.
func (a *application) schema(o fleet.Object) *kube.Schema { return a.kube.Schema(o.GroupVersionKind()) }

// strategic merges a patch into an object by its schema.
func (a *application) strategic(it *item, patch map[string]any) []*problem {
	s := a.schema(it.Object)
	c := checker{version: a.kube, directives: true}
	if c.check(patch, it.Unstructured.Object, s); len(c.found) > 0 {
		return under("strategic", c.found)
	}
	before := identityOf(it.Unstructured.Object)
	out, keep, p := mergeMap(it.Unstructured.Object, patch, s)
	switch {
	case p != nil:
		return under("strategic", []*problem{p})
	case !keep:
		it.deleted = true
		return nil
	case patch[directive] == replace:
		before.complete(out)
	}
	it.Unstructured.Object = out
	return nil
}

// merge merges a JSON merge patch into an object.
func (a *application) merge(it *item, patch map[string]any) []*problem {
	c := checker{version: a.kube}
	if c.check(patch, it.Unstructured.Object, a.schema(it.Object)); len(c.found) > 0 {
		return under("merge", c.found)
	}
	MergeJSON(it.Unstructured.Object, patch)
	return nil
}

// An identity is the identity of an object.
type identity struct{ apiVersion, kind, namespace, name any }

func identityOf(o map[string]any) identity {
	meta, _ := o["metadata"].(map[string]any)
	return identity{o["apiVersion"], o["kind"], meta["namespace"], meta["name"]}
}

// complete sets the missing parts of an object's identity.
func (id identity) complete(o map[string]any) {
	set := func(in map[string]any, field string, v any) {
		if _, there := in[field]; !there && v != nil {
			in[field] = v
		}
	}
	set(o, "apiVersion", id.apiVersion)
	set(o, "kind", id.kind)
	set(o, "metadata", map[string]any{})
	if meta, ok := o["metadata"].(map[string]any); ok {
		set(meta, "namespace", id.namespace)
		set(meta, "name", id.name)
	}
}

// moved returns the problems of a patch that changed the identity of an object
// without an explicit operation for it.
func (a *application) moved(p *fleet.Patch, before identity, o map[string]any) []*problem {
	after := identityOf(o)
	var found []*problem
	for _, f := range []struct {
		pointer, field string
		before, after  any
	}{
		{"/apiVersion", "apiVersion", before.apiVersion, after.apiVersion},
		{"/kind", "kind", before.kind, after.kind},
		{"/metadata/namespace", "metadata.namespace", before.namespace, after.namespace},
		{"/metadata/name", "metadata.name", before.name, after.name},
	} {
		if equal(f.before, f.after) || slices.ContainsFunc(p.JSON, func(op fleet.Operation) bool { return op.Op != "test" && op.Path == f.pointer }) {
			continue
		}
		found = append(found, &problem{
			msg: fmt.Sprintf("would turn it into another object, with %s %s instead of %s", f.field, show(f.after), show(f.before)),
			hint: fmt.Sprintf("remove %s and select the object in target, or change it with json: [{op: %q, path: %q, value: ...}]",
				f.field, "add", f.pointer),
		})
	}
	return found
}
