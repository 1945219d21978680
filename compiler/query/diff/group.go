package diff

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// A Result is what changes in a number of clusters, and how many there are.
type Result struct {
	Groups      []Group  // those of most clusters first, then by clusters
	Ignored     []Group  // of changes that are left out, in the same order
	Created     []Whole  // clusters that are there after only, sorted
	Deleted     []Whole  // clusters that were there before only, sorted
	NotCompared []string // IDs of clusters of which one side is not known, sorted
	Predicted   []Prediction
	Summary     Summary
}

// Empty reports whether nothing changes, as far as it was compared.
func (r Result) Empty() bool { return r.Summary.Empty() && len(r.Created) == 0 && len(r.Deleted) == 0 }

// A Whole is a cluster that is there before or after only, with all of its
// objects.
type Whole struct {
	Cluster string // ID
	Objects int    // how many it has
}

// A Group is what changes alike in each of some clusters, and in no other.
//
// Changes are told apart by field: what changes alike in all clusters is in
// one group, also when other fields of the same objects change otherwise in
// each. Such objects are in several groups, see [Change.Partial].
type Group struct {
	Clusters []string // sorted
	Changes  []Change // sorted by release and ID
}

// A Summary counts changes in clusters that are there before and after.
type Summary struct {
	Created, Updated, Deleted int // objects; one of the same ID in many clusters counts once
	Unknown                   int // objects that could not be read
	Changes                   int // objects that change, counted in each cluster
	Clusters                  int // with changes
	Of                        int // clusters that were compared

	Ignored IgnoredCount // changes of fields that are left out, and are in no other number
}

// Empty reports whether nothing changes.
func (s Summary) Empty() bool { return s.Changes == 0 }

// A Grouper brings together the changes of clusters that arrive one by one,
// and keeps one copy of those that are equal. The zero value is ready for use.
type Grouper struct {
	clusters []string
	places   map[string]int // in clusters
	units    map[sum]*unit
	changes  int
	touched  map[int]bool
	ignored  *Grouper // of changes that are left out
}

// A unit is the part of a change that is grouped as a whole: one field, or
// that the object is created, deleted or moved to another release.
type unit struct {
	head  head
	field *FieldChange // nil for the latter
	in    []int        // the clusters, by their places
}

// A head is a Change without its fields.
type head struct {
	release, id string
	action      Action
	from        string
	live        Live
}

func (h head) compare(g head) int {
	return cmp.Or(strings.Compare(h.release, g.release), strings.Compare(h.id, g.id),
		strings.Compare(string(h.action), string(g.action)), strings.Compare(h.from, g.from), h.live.compare(g.live))
}

// Add adds the changes of a cluster, also when there are none: it counts as
// compared. The changes must not be modified afterwards.
func (g *Grouper) Add(cluster string, changes []Change) {
	if g.units == nil {
		g.places, g.units, g.touched = map[string]int{}, map[sum]*unit{}, map[int]bool{}
	}
	place, ok := g.places[cluster]
	if !ok {
		place = len(g.clusters)
		g.places[cluster] = place
		g.clusters = append(g.clusters, cluster)
	}
	for _, c := range changes {
		g.changes++
		g.touched[place] = true
		h := head{c.Release, c.ID, c.Action, c.FromRelease, c.Live}
		if c.Action != Update || c.FromRelease != "" || len(c.Fields) == 0 {
			g.add(place, h, nil)
		}
		for i := range c.Fields {
			g.add(place, h, &c.Fields[i])
		}
	}
}

// AddIgnored adds changes of a cluster that are left out.
func (g *Grouper) AddIgnored(cluster string, changes []Change) {
	if len(changes) == 0 {
		return
	}
	if g.ignored == nil {
		g.ignored = &Grouper{}
	}
	g.ignored.Add(cluster, changes)
}

// ignoredCount counts the changes of the grouper, which are all left out.
func (g *Grouper) ignoredCount() IgnoredCount {
	fields, objects := map[string]bool{}, map[string]bool{}
	for _, u := range g.units {
		objects[u.head.id] = true
		if u.field != nil {
			fields[u.field.Ignored.Field] = true
		}
	}
	return IgnoredCount{len(fields), len(objects)}
}

func (g *Grouper) add(place int, h head, f *FieldChange) {
	s := unitSum(h, f)
	u := g.units[s]
	if u == nil {
		u = &unit{head: h}
		if f != nil {
			// A copy, or else all fields of the cluster stay in memory.
			field := *f
			field.Index = 0
			u.field = &field
		}
		g.units[s] = u
	}
	if n := len(u.in); n == 0 || u.in[n-1] != place {
		u.in = append(u.in, place)
	}
}

// unitSum returns the digest of a unit. The place of an added element is not
// in it: a variable that is added to the end of every cluster's list is the
// same change, however long the lists are.
func unitSum(h head, f *FieldChange) sum {
	parts := []any{h.release, h.id, string(h.action), h.from, h.live.Reason, h.live.Why, h.live.Predicted}
	if f != nil {
		parts = append(parts, f.parts())
	}
	return sumOf(parts)
}

func (f FieldChange) parts() []any {
	parts := []any{f.Path, f.HasWas, f.HasIs, f.Reordered, f.Secret, f.Manager, f.Was, f.Is}
	if f.Ignored != (Ignored{}) {
		parts = append(parts, f.Ignored.Rule, f.Ignored.Field)
	}
	return parts
}

// compareDigests orders field changes that differ in their values alone.
func compareDigests(f, g FieldChange) int {
	a, b := sumOf(f.parts()), sumOf(g.parts())
	return bytes.Compare(a[:], b[:])
}

// Result returns the groups of what was added. They do not depend on the
// order in which the clusters came.
func (g *Grouper) Result() Result {
	sorted := slices.Sorted(slices.Values(g.clusters))
	ranks := make([]int, len(sorted))
	for place, cluster := range g.clusters {
		ranks[place], _ = slices.BinarySearch(sorted, cluster)
	}
	sets := map[string]*set{}
	for _, u := range g.units {
		in := make([]int, len(u.in))
		for i, place := range u.in {
			in[i] = ranks[place]
		}
		slices.Sort(in)
		in = slices.Compact(in)
		key := make([]byte, 0, 4*len(in))
		for _, rank := range in {
			key = binary.BigEndian.AppendUint32(key, uint32(rank))
		}
		s := sets[string(key)]
		if s == nil {
			s = &set{ranks: in, units: map[head][]*unit{}}
			sets[string(key)] = s
		}
		s.units[u.head] = append(s.units[u.head], u)
	}
	out := Result{Summary: g.summary()}
	if g.ignored != nil {
		out.Ignored, out.Summary.Ignored = g.ignored.Result().Groups, g.ignored.ignoredCount()
	}
	ordered := slices.SortedFunc(maps.Values(sets), (*set).compare)
	parts := partsOf(ordered)
	for _, s := range ordered {
		group := Group{Changes: s.assemble(parts)}
		for _, rank := range s.ranks {
			group.Clusters = append(group.Clusters, sorted[rank])
		}
		out.Groups = append(out.Groups, group)
	}
	return out
}

func (g *Grouper) summary() Summary {
	out := Summary{Changes: g.changes, Clusters: len(g.touched), Of: len(g.clusters)}
	type object struct {
		id     string
		action Action
	}
	seen := map[object]bool{}
	for _, u := range g.units {
		o := object{u.head.id, u.head.action}
		if seen[o] {
			continue
		}
		seen[o] = true
		switch o.action {
		case Create:
			out.Created++
		case Update:
			out.Updated++
		case Delete:
			out.Deleted++
		case Unknown:
			out.Unknown++
		}
	}
	return out
}

// A set is some clusters and what changes alike in them.
type set struct {
	ranks []int // of the clusters, sorted
	units map[head][]*unit
}

func (s *set) compare(t *set) int {
	return cmp.Or(cmp.Compare(len(t.ranks), len(s.ranks)), slices.Compare(s.ranks, t.ranks))
}

// A part is an object's change in a cluster.
type part struct {
	head head
	rank int
}

// partsOf tells which changes of objects in clusters are spread over several
// sets: those that are true.
func partsOf(sets []*set) map[part]bool {
	count := map[head]int{}
	for _, s := range sets {
		for h := range s.units {
			count[h]++
		}
	}
	parts := map[part]bool{}
	for _, s := range sets {
		for h := range s.units {
			if count[h] < 2 {
				continue
			}
			for _, rank := range s.ranks {
				_, again := parts[part{h, rank}]
				parts[part{h, rank}] = again
			}
		}
	}
	return parts
}

// assemble returns the changes of the set.
func (s *set) assemble(parts map[part]bool) []Change {
	var out []Change
	for _, h := range slices.SortedFunc(maps.Keys(s.units), head.compare) {
		c := Change{ID: h.id, Action: h.action, Release: h.release, FromRelease: h.from, Live: h.live}
		for _, u := range s.units[h] {
			if u.field != nil {
				c.Fields = append(c.Fields, *u.field)
			}
		}
		slices.SortFunc(c.Fields, func(f, g FieldChange) int { return cmp.Or(f.compare(g), compareDigests(f, g)) })
		c.Partial = slices.ContainsFunc(s.ranks, func(rank int) bool { return parts[part{h, rank}] })
		out = append(out, c)
	}
	return out
}
