// Package diff compares the Kubernetes objects of clusters before and after:
// object by object, field by field, list element by list element.
//
//   - [Objects] compares the objects of one cluster, [ObjectsIgnoring] without some
//     of their fields.
//   - [Grouper] and [Group] bring together what changes alike in many clusters.
//   - [WriteText], [WriteStat], [WriteMarkdown], [WriteJSON] and [WriteGitHub]
//     write the result.
//   - [Table] tells what is not the same in all of a number of clusters, and who
//     set it.
//
// What a Secret holds never leaves the package: a keyed hash stands for it,
// which tells whether it changed. The package renders nothing, reads no
// files, no network and no clock, and decides nothing about a difference:
// equal arguments give equal results on every machine.
package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An Action says what happens to an object.
type Action string

// What can happen to an object.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"

	// Unknown is that of an object that could not be read, see [Live].
	Unknown Action = "unknown"
)

// A Change is what happens to one object of a cluster.
type Change struct {
	ID          string // of the object: kind.group namespace/name
	Action      Action
	Release     string // that has the object; that had it, when it is deleted; may be empty
	FromRelease string // that had it before, when another has it now
	Live        Live   // what the cluster that has it tells

	// Fields are sorted by path. Those of an object that is created or
	// deleted are one, the whole object at the empty path; in a [Group] there
	// are none when the clusters of the group create or delete it with
	// different content, which other groups have. An update without any fields
	// moves the object from one release to another, or takes it over, see [Live].
	Fields []FieldChange

	// Partial says, in a [Group], that there is more to the change of this
	// object in some of the group's clusters, which other groups have.
	Partial bool
}

// A FieldChange is the change of one field, of a list element, or of the
// order of a list.
//
// The path is written as spec.template.spec.containers[name=app].image,
// metadata.annotations."helm.sh/chart" or spec.args[2]. An element of a list
// has its key in the path where the list has one. Otherwise it has its index
// in the list after the change, or in the list before it when the element was
// removed.
type FieldChange struct {
	Path          string
	Was, Is       any  // as decoded from JSON, and must not be modified; nil when absent
	HasWas, HasIs bool // whether it is there before, and after: an absent field is not a null one

	// Index is the place of an added list element in the list after the
	// change. In a [Group] it is 0: it may differ from cluster to cluster.
	Index int

	// Reordered says that elements of a list with keys, that are there before
	// and after, have another order. Was and Is are then the keys of all such
	// elements in their order, as lists of strings such as name=app.
	Reordered bool

	// Secret says that a value of a Secret is in Was or Is, or is one of
	// them, and that a text such as <secret 12 bytes #a1b2c3d4> stands for it.
	Secret bool

	// Manager is who has the field in a cluster, when it is in conflict.
	Manager string

	// Ignored says why the change is left out; the zero value when it is not.
	Ignored Ignored
}

// Objects compares the objects of a cluster before and after, and returns
// the changes, sorted by release and ID; none when the objects are equal. The
// changes share the objects' content.
//
// An object is the same when its [fleet.Object.ID] is; of several with one ID
// on a side, the first is compared with the first on the other. Numbers are
// equal when they are as integers of any size or as floats of 64 bits. The
// order of fields does not count, that of lists does. That an object goes from
// one release to another is a change if both are known.
//
// The values of Secrets are replaced by a hash with the key, which must be the
// same for all clusters of a [Group], and should be random and kept to
// oneself: who has it can try out likely passwords. Without a key there are
// no hashes, and all that is told of a value is that it changed.
func Objects(before, after []fleet.Object, key []byte) []Change {
	changes, _ := ObjectsIgnoring(before, after, key, nil)
	return changes
}

// ObjectsIgnoring is [Objects] without the changes of fields that the rules ignore,
// of objects that are there before and after. Those changes are in ignored.
func ObjectsIgnoring(before, after []fleet.Object, key []byte, rules []fleet.IgnoreRule) (changes, ignored []Change) {
	type names struct {
		id string
		n  int // how many of the ID came before
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
		was, ok := old[name]
		if !ok {
			changes = append(changes, whole(id, Create, o, key))
			continue
		}
		delete(old, name)
		c, left, changed := update(id, was, o, key, rules)
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
	Sort(changes)
	Sort(ignored)
	return changes, ignored
}

// Sort puts changes into the order in which [Objects] returns them.
func Sort(changes []Change) { slices.SortFunc(changes, Change.compare) }

// compare orders changes by release, ID and action. The rest tells apart
// objects with one ID.
func (c Change) compare(d Change) int {
	return cmp.Or(
		strings.Compare(c.Release, d.Release), strings.Compare(c.ID, d.ID), strings.Compare(string(c.Action), string(d.Action)),
		strings.Compare(c.FromRelease, d.FromRelease), c.Live.compare(d.Live),
		slices.CompareFunc(c.Fields, d.Fields, func(f, g FieldChange) int {
			return cmp.Or(f.compare(g), compareDigests(f, g))
		}),
	)
}

// compare orders field changes by path, what was removed first.
func (f FieldChange) compare(g FieldChange) int {
	return cmp.Or(comparePaths(f.Path, g.Path), compareBools(f.HasIs, g.HasIs), compareBools(g.HasWas, f.HasWas))
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
	content, _ := mask(o.Object, key)
	d := differ{}
	if action == Create {
		d.added(nil, content, 0)
	} else {
		d.removed(nil, content)
	}
	return Change{ID: id, Action: action, Release: release(o), Fields: d.changes}
}

// update returns the change from one object to another of the same ID, without the
// fields that rules ignore and with these alone, and whether there is any of the
// others.
func update(id string, was, is fleet.Object, key []byte, rules []fleet.IgnoreRule) (c, ignored Change, changed bool) {
	c = Change{ID: id, Action: Update, Release: release(is)}
	if from := release(was); from != "" && c.Release != "" && from != c.Release {
		c.FromRelease = from
	}
	ignored = Change{ID: id, Action: Update, Release: c.Release}
	if equal(was.Object, is.Object) {
		return c, ignored, c.FromRelease != ""
	}
	// Values of Secrets must not get into a path either, so they are replaced
	// before anything else.
	wasContent, _ := mask(was.Object, key)
	isContent, _ := mask(is.Object, key)
	wasContent, isContent, ignored.Fields = leaveOut(ignoredFields(rules, was, is), wasContent, isContent)
	d := differ{budget: maxWork}
	d.value(nil, wasContent, isContent)
	slices.SortFunc(d.changes, FieldChange.compare)
	c.Fields = d.changes
	return c, ignored, len(c.Fields) > 0 || c.FromRelease != ""
}

func release(o fleet.Object) string {
	if o.Release == nil {
		return ""
	}
	return o.Release.Name
}
