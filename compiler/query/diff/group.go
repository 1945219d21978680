package diff

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Result holds the changes of a number of clusters.
type Result struct {
	Summary     Summary        `json:"summary"`
	Created     []WholeCluster `json:"created"`     // new clusters, sorted
	Deleted     []WholeCluster `json:"deleted"`     // removed clusters, sorted
	NotCompared []string       `json:"notCompared"` // sorted IDs of clusters with only one known side
	Predicted   []Prediction   `json:"predicted,omitempty"`
	Groups      []Group        `json:"groups"`            // largest groups first, then by clusters
	Ignored     []Group        `json:"ignored,omitempty"` // groups of ignored changes, in the same order

	// Rehearsed is whether the comparison looked for Findings.
	Rehearsed bool      `json:"-"`
	Findings  []Finding `json:"beforeYouMerge,omitzero"`
}

// Empty reports whether no compared cluster changes.
func (r Result) Empty() bool { return r.Summary.Empty() && len(r.Created) == 0 && len(r.Deleted) == 0 }

// A WholeCluster is a new or removed cluster.
type WholeCluster struct {
	Cluster string `json:"cluster"` // ID
	Objects int    `json:"objects"` // number of its objects
}

// A Group holds changes that are equal in some clusters and occur in no other
// cluster.
//
// Changes are grouped by field: equal changes are in one group, even if other
// fields of the same objects change differently in each cluster. Such objects
// occur in several groups, see [Change.Partial].
type Group struct {
	Clusters []string `json:"clusters"` // sorted
	Changes  []Change `json:"changes"`  // sorted by release and ID
}

// A Summary counts changes in clusters that exist on both sides.
type Summary struct {
	Created  int `json:"created"` // objects, as below; the same ID in many clusters counts once
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Unknown  int `json:"unknown,omitempty"` // objects that could not be read
	Changes  int `json:"changes"`           // changed objects, counted in each cluster
	Clusters int `json:"clusters"`          // clusters with changes
	Of       int `json:"of"`                // compared clusters

	Ignored IgnoredCount `json:"ignored,omitzero"` // ignored changes, not included in the other counts
}

// Empty reports whether nothing changes.
func (s Summary) Empty() bool { return s.Changes == 0 }

// A Grouper groups the changes of clusters, which are added one by one. It
// stores equal changes once. The zero value is ready for use.
type Grouper struct {
	clusters []string
	places   map[string]int // index in clusters
	units    map[sum]*unit
	changes  int
	touched  map[int]bool
	ignored  *Grouper // groups ignored changes
}

// A unit is the smallest part of a change that is grouped: one field, or the
// creation, deletion or move of an object.
type unit struct {
	key      changeKey
	field    *FieldChange // nil for an object
	clusters []int        // indices of the clusters
}

// A changeKey is a Change without its fields.
type changeKey struct {
	release, id string
	action      Action
	from        string
	live        Live
}

func (c Change) key() changeKey { return changeKey{c.Release, c.ID, c.Action, c.FromRelease, c.Live} }

func (h changeKey) compare(g changeKey) int {
	return cmp.Or(strings.Compare(h.release, g.release), strings.Compare(h.id, g.id),
		strings.Compare(string(h.action), string(g.action)), strings.Compare(h.from, g.from), h.live.compare(g.live))
}

// Add adds the changes of a cluster, which counts as compared even without
// changes. The changes must not be modified afterwards.
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
		h := c.key()
		if c.Action != Update || c.FromRelease != "" || len(c.Fields) == 0 {
			g.add(place, h, nil)
		}
		for i := range c.Fields {
			g.add(place, h, &c.Fields[i])
		}
	}
}

// AddIgnored adds ignored changes of a cluster.
func (g *Grouper) AddIgnored(cluster string, changes []Change) {
	if len(changes) == 0 {
		return
	}
	if g.ignored == nil {
		g.ignored = &Grouper{}
	}
	g.ignored.Add(cluster, changes)
}

// ignoredCount counts the changes of a grouper for ignored changes.
func (g *Grouper) ignoredCount() IgnoredCount {
	fields, objects := map[string]bool{}, map[string]bool{}
	for _, u := range g.units {
		objects[u.key.id] = true
		if u.field != nil {
			fields[u.field.Ignored.Field] = true
		}
	}
	return IgnoredCount{len(fields), len(objects)}
}

func (g *Grouper) add(place int, h changeKey, f *FieldChange) {
	s := unitSum(h, f)
	u := g.units[s]
	if u == nil {
		u = &unit{key: h}
		if f != nil {
			// Copy it, to release the other fields of the cluster
			field := *f
			field.Index = 0
			u.field = &field
		}
		g.units[s] = u
	}
	if n := len(u.clusters); n == 0 || u.clusters[n-1] != place {
		u.clusters = append(u.clusters, place)
	}
}

// unitSum returns the digest of a unit. It excludes the index of an added
// element: a variable that is appended to lists of different lengths is the
// same change.
func unitSum(h changeKey, f *FieldChange) sum {
	parts := []any{h.release, h.id, string(h.action), h.from, h.live.Reason, h.live.Why, h.live.Predicted}
	if f != nil {
		parts = append(parts, f.parts())
	}
	return sumOf(parts)
}

func (f FieldChange) parts() []any {
	parts := []any{f.Path, f.HasBefore, f.HasAfter, f.Reordered, f.Secret, f.Manager, f.Before, f.After}
	if f.Ignored != (IgnoreReason{}) {
		parts = append(parts, f.Ignored.Rule, f.Ignored.Field)
	}
	return parts
}

// compareWhole is compare for field changes that may only differ in their values.
func (f FieldChange) compareWhole(g FieldChange) int {
	if c := f.compare(g); c != 0 {
		return c
	}
	a, b := sumOf(f.parts()), sumOf(g.parts())
	return bytes.Compare(a[:], b[:])
}

// Result returns the groups. They do not depend on the order of the calls of
// Add.
func (g *Grouper) Result() Result {
	sorted := slices.Sorted(slices.Values(g.clusters))
	ranks := make([]int, len(sorted))
	for place, cluster := range g.clusters {
		ranks[place], _ = slices.BinarySearch(sorted, cluster)
	}
	sets := map[string]*clusterSet{}
	for _, u := range g.units {
		in := diag.Distinct(diag.Each(u.clusters, func(place int) int { return ranks[place] }))
		key := make([]byte, 0, 4*len(in))
		for _, rank := range in {
			key = binary.BigEndian.AppendUint32(key, uint32(rank))
		}
		s := sets[string(key)]
		if s == nil {
			s = &clusterSet{ranks: in, units: map[changeKey][]*unit{}}
			sets[string(key)] = s
		}
		s.units[u.key] = append(s.units[u.key], u)
	}
	out := Result{Summary: g.summary()}
	if g.ignored != nil {
		out.Ignored, out.Summary.Ignored = g.ignored.Result().Groups, g.ignored.ignoredCount()
	}
	ordered := slices.SortedFunc(maps.Values(sets), (*clusterSet).compare)
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
	type object struct {
		id     string
		action Action
	}
	seen, n := map[object]bool{}, map[Action]int{}
	for _, u := range g.units {
		if o := (object{u.key.id, u.key.action}); !seen[o] {
			seen[o] = true
			n[o.action]++
		}
	}
	return Summary{
		Created: n[Create], Updated: n[Update], Deleted: n[Delete], Unknown: n[Unknown],
		Changes: g.changes, Clusters: len(g.touched), Of: len(g.clusters),
	}
}

// A clusterSet is a set of clusters with equal changes.
type clusterSet struct {
	ranks []int // of the clusters, sorted
	units map[changeKey][]*unit
}

func (s *clusterSet) compare(t *clusterSet) int {
	return cmp.Or(cmp.Compare(len(t.ranks), len(s.ranks)), slices.Compare(s.ranks, t.ranks))
}

// An objectChange identifies the change of an object in a cluster.
type objectChange struct {
	key  changeKey
	rank int
}

// partsOf returns the object changes of clusters that are spread over several
// sets, as the true entries.
func partsOf(sets []*clusterSet) map[objectChange]bool {
	count := map[changeKey]int{}
	for _, s := range sets {
		for h := range s.units {
			count[h]++
		}
	}
	parts := map[objectChange]bool{}
	for _, s := range sets {
		for h := range s.units {
			if count[h] < 2 {
				continue
			}
			for _, rank := range s.ranks {
				_, again := parts[objectChange{h, rank}]
				parts[objectChange{h, rank}] = again
			}
		}
	}
	return parts
}

// assemble returns the changes of the set.
func (s *clusterSet) assemble(parts map[objectChange]bool) []Change {
	var out []Change
	for _, h := range slices.SortedFunc(maps.Keys(s.units), changeKey.compare) {
		c := Change{ID: h.id, Action: h.action, Release: h.release, FromRelease: h.from, Live: h.live}
		for _, u := range s.units[h] {
			if u.field != nil {
				c.Fields = append(c.Fields, *u.field)
			}
		}
		slices.SortFunc(c.Fields, FieldChange.compareWhole)
		c.Partial = slices.ContainsFunc(s.ranks, func(rank int) bool { return parts[objectChange{h, rank}] })
		out = append(out, c)
	}
	return out
}
