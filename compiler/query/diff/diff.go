// Package diff compares the Kubernetes objects of clusters before and after a
// change: by object, field and list element.
//
// [Objects] compares the objects of one cluster, and [ObjectsIgnoring] skips
// ignored fields. [Grouper] and [Group] group equal changes of many clusters.
// [WriteText], [WriteStat], [WriteMarkdown], [WriteJSON] and [WriteGitHub]
// write the result. [Table] finds differences between clusters and their
// origin.
//
// Contents of Secrets never leave the package: they are replaced by a keyed
// hash that shows whether they changed. The package reads no files, no network
// and no clock, so equal arguments give equal results on every machine.
package diff

import (
	"cmp"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An Action is the kind of change of an object.
type Action string

// The kinds of change of an object.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"

	// Unknown is the action of an object that could not be read, see [Live].
	Unknown Action = "unknown"
)

// A Change is the change of one object of a cluster.
type Change struct {
	ID          string // of the object: kind.group namespace/name
	Action      Action
	Release     string // the release of the object, or its last release when it is deleted; may be empty
	FromRelease string // the previous release, when the object moved to another one
	Live        Live   // the state in the running cluster

	// Fields are sorted by path. A created or deleted object has one field,
	// the whole object at the empty path. In a [Group] it has none if its
	// content differs between clusters; that content is in other groups. An
	// update without fields moves the object to another release, or adopts it,
	// see [Live].
	Fields []FieldChange

	// Partial means that other groups contain more changes of this object in
	// some of the group's clusters.
	Partial bool
}

// A FieldChange is the change of one field, of a list element, or of the order
// of a list.
//
// Paths have the form spec.template.spec.containers[name=app].image,
// metadata.annotations."helm.sh/chart" or spec.args[2]. List elements are
// identified by their key if the list has one, otherwise by the index after
// the change, or before the change for a removed element.
type FieldChange struct {
	Path                string
	Before, After       any  // decoded JSON, not to be modified; nil when absent
	HasBefore, HasAfter bool // whether the value exists; an absent field differs from null

	// Index is the index of an added list element after the change. It is 0 in
	// a [Group], because it may differ between clusters.
	Index int

	// Reordered means that elements of a keyed list changed their order.
	// Before and After are then the keys of the elements that exist on both
	// sides, as strings such as name=app.
	Reordered bool

	// Secret means that Before or After contains a value of a Secret, replaced
	// by a text such as <secret 12 bytes #a1b2c3d4>.
	Secret bool

	// Manager is the field manager of a conflicting field in a running
	// cluster.
	Manager string

	// Ignored is the rule that ignores the change; the zero value if there is
	// none.
	Ignored IgnoreReason
}

// Objects compares the objects of a cluster before and after, and returns the
// changes sorted by release and ID. The changes share the content of the
// objects.
//
// Objects are paired by [fleet.Object.ID]; duplicates are paired in order.
// Numbers are equal if they are equal as integers of any size or as 64-bit
// floats. The order of fields is ignored, that of lists is not. A move to
// another release is a change if both releases are known.
//
// Values of Secrets, and copies of them in other objects, are replaced by an HMAC with the
// key. The key must be the
// same for all clusters of a [Group], and should be random and secret: it
// allows to try likely passwords. Without a key there are no hashes, and only
// the fact of a change is shown.
func Objects(before, after []fleet.Object, key []byte) []Change {
	changes, _ := ObjectsIgnoring(before, after, key, nil)
	return changes
}

// ObjectsIgnoring is [Objects] without the field changes that the rules ignore
// in updated objects; it returns those separately.
func ObjectsIgnoring(before, after []fleet.Object, key []byte, rules []fleet.IgnoreRule) (changes, ignored []Change) {
	type names struct {
		id string
		n  int // number of previous objects with the ID
	}
	seen := make(map[string]int, len(before))
	old := make(map[names]fleet.Object, len(before))
	for _, o := range before {
		if o.Unstructured == nil {
			continue
		}
		id := o.ID()
		old[names{id, seen[id]}] = o
		seen[id]++
	}
	clear(seen)
	for _, o := range after {
		if o.Unstructured == nil {
			continue
		}
		id := o.ID()
		name := names{id, seen[id]}
		seen[id]++
		previous, ok := old[name]
		if !ok {
			changes = append(changes, whole(id, Create, o, key))
			continue
		}
		delete(old, name)
		c, left, changed := update(id, previous, o, key, rules)
		if changed {
			changes = append(changes, c)
		}
		if len(left.Fields) > 0 {
			ignored = append(ignored, left)
		}
	}
	for name, o := range old {
		changes = append(changes, whole(name.id, Delete, o, key))
	}
	texts := SecretTexts{}
	for _, o := range slices.Concat(before, after) {
		texts.Add(o)
	}
	texts.Hide(changes, key)
	texts.Hide(ignored, key)
	Sort(changes)
	Sort(ignored)
	return changes, ignored
}

// Sort sorts changes in the order of [Objects].
func Sort(changes []Change) { slices.SortFunc(changes, Change.compare) }

// compare orders changes by release, ID and action. The other fields order
// objects with the same ID.
func (c Change) compare(d Change) int {
	return cmp.Or(c.key().compare(d.key()), slices.CompareFunc(c.Fields, d.Fields, FieldChange.compareWhole))
}

// compare orders field changes by path, removals first.
func (f FieldChange) compare(g FieldChange) int {
	return cmp.Or(comparePaths(f.Path, g.Path), compareBools(f.HasAfter, g.HasAfter), compareBools(g.HasBefore, f.HasBefore))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// whole returns the change that creates or deletes an object.
func whole(id string, action Action, o fleet.Object, key []byte) Change {
	content := maskObject(o, key)
	d := differ{}
	if action == Create {
		d.added(nil, content, 0)
	} else {
		d.removed(nil, content)
	}
	return Change{ID: id, Action: action, Release: o.ReleaseName(), Fields: d.changes}
}

// update returns the change between two objects with the same ID, split into
// changes that rules ignore and others. changed reports whether there are
// others.
func update(id string, before, after fleet.Object, key []byte, rules []fleet.IgnoreRule) (c, ignored Change, changed bool) {
	c = Change{ID: id, Action: Update, Release: after.ReleaseName()}
	if from := before.ReleaseName(); from != "" && c.Release != "" && from != c.Release {
		c.FromRelease = from
	}
	ignored = Change{ID: id, Action: Update, Release: c.Release}
	if equal(before.Object, after.Object) {
		return c, ignored, c.FromRelease != ""
	}
	// Mask first, so that values of Secrets cannot become part of a path.
	contentBefore, contentAfter := maskObject(before, key), maskObject(after, key)
	contentBefore, contentAfter, ignored.Fields = splitIgnored(ignoredFields(rules, before, after), contentBefore, contentAfter)
	d := differ{budget: maxWork}
	d.value(nil, contentBefore, contentAfter)
	slices.SortFunc(d.changes, FieldChange.compare)
	c.Fields = d.changes
	return c, ignored, len(c.Fields) > 0 || c.FromRelease != ""
}
