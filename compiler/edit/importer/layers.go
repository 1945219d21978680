package importer

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// packageField is the field of a body with the name of the chart's package.
const packageField = "#package"

// A facts has the facts of each cluster, by ID and name.
type facts map[string]map[string]string

// divide puts each field of the bodies, by release and cluster, into the highest layer
// in which it is equal for all clusters with the release.
func divide(ids []string, bodies map[string]map[string]*Node, known facts) map[string]*Node {
	d := divider{ids: ids, known: known, layers: map[string]*Node{}}
	for _, name := range sortedKeys(bodies) {
		dirs := d.cover(bodies[name])
		if len(dirs) == 1 {
			d.distribute(name, dirs[0], bodies[name])
			continue
		}
		d.distribute(name, "", bodies[name])
		part := d.layers[""].Get(name)
		if part == nil {
			part = mapNode()
			d.add("", Field{name, part})
		}
		part.Set("clusters", mapNode(Field{"ids", textNodes(dirs)}))
	}
	return d.layers
}

// A divider is the state of divide.
type divider struct {
	ids   []string
	known facts

	// layers has the part of each release, sorted by name, by directory of the fleet. The
	// root has the directory "". Fields of parts are those of schema.#Release; the field
	// packageField names the package of the chart.
	layers map[string]*Node
}

// cover returns the highest directories that contain the given clusters and no others.
func (d *divider) cover(of map[string]*Node) []string {
	if len(of) == len(d.ids) {
		return []string{""}
	}
	hasOthers := func(dir string) bool {
		return slices.ContainsFunc(d.ids, func(id string) bool { return of[id] == nil && fleet.IsWithin(id, dir) })
	}
	var out []string
	for _, id := range sortedKeys(of) {
		dir := id
		for above := path.Dir(id); above != "." && !hasOthers(above); above = path.Dir(above) {
			dir = above
		}
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// add adds a part of a release to a layer.
func (d *divider) add(dir string, part Field) {
	if d.layers[dir] == nil {
		d.layers[dir] = mapNode()
	}
	d.layers[dir].Fields = append(d.layers[dir].Fields, part)
}

// distribute divides the bodies of a release between a directory and those below it.
func (d *divider) distribute(name, dir string, of map[string]*Node) {
	common, rest := d.split(of, false)
	if common != nil && len(common.Fields) > 0 {
		d.add(dir, Field{name, common})
	}
	children := map[string]map[string]*Node{}
	for id, n := range rest {
		if n == nil || len(n.Fields) == 0 {
			continue
		}
		next, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(id, dir), "/"), "/")
		child := path.Join(dir, next)
		if children[child] == nil {
			children[child] = map[string]*Node{}
		}
		children[child][id] = n
	}
	for _, child := range slices.Sorted(maps.Keys(children)) {
		below := children[child]
		// Clusters whose rest is empty have nothing in common with the others here.
		for _, id := range slices.Sorted(maps.Keys(of)) {
			if fleet.IsWithin(id, child) && below[id] == nil {
				below[id] = mapNode()
			}
		}
		d.distribute(name, child, below)
	}
}

// split returns the data that all nodes have, and the rest of each node, nil for none.
// The merge of both is the node. Strings that differ by facts are the same data, with
// references to the facts. lists says whether the elements of lists merge, as in objects,
// which CUE unifies; lists of values replace each other as in Helm.
func (d *divider) split(of map[string]*Node, lists bool) (common *Node, rest map[string]*Node) {
	ids := sortedKeys(of)
	first := of[ids[0]]
	all := func(matches func(n *Node) bool) bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return !matches(of[id]) })
	}
	switch {
	case all(first.Equal):
		return first, nil
	case all(func(n *Node) bool { return n.IsMap }):
		return d.splitMap(ids, of, lists)
	case all(func(n *Node) bool { return n.IsList && len(n.List) == len(first.List) }):
		areMaps := all(func(n *Node) bool { return !slices.ContainsFunc(n.List, func(e *Node) bool { return !e.IsMap }) })
		return d.splitList(ids, of, lists && areMaps)
	}
	if parts := d.reference(ids, of); parts != nil {
		return &Node{Parts: parts, Comment: first.Comment}, nil
	}
	return nil, of
}

// splitMap is split for maps.
func (d *divider) splitMap(ids []string, of map[string]*Node, lists bool) (common *Node, rest map[string]*Node) {
	common, rest = mapNode(), map[string]*Node{}
	common.Comment = of[ids[0]].Comment
	for _, id := range ids {
		if len(of[id].Fields) == 0 {
			rest[id] = of[id]
		}
	}
	for _, key := range keysOf(ids, of) {
		part := map[string]*Node{}
		for _, id := range ids {
			if v := of[id].Get(key); v != nil {
				part[id] = v
			}
		}
		partRest := part
		if len(part) == len(ids) {
			var here *Node
			if here, partRest = d.split(part, lists || key == "objects"); here != nil {
				common.Set(key, here)
			}
		}
		for id, n := range partRest {
			if n == nil {
				continue
			}
			if rest[id] == nil {
				rest[id] = mapNode()
			}
			rest[id].Set(key, n)
		}
	}
	if len(common.Fields) == 0 {
		common = nil
	}
	return common, rest
}

// splitList is split for lists of the same length. Unless lists is true, they have either
// all data in common, or none.
func (d *divider) splitList(ids []string, of map[string]*Node, lists bool) (common *Node, rest map[string]*Node) {
	common, rest = &Node{IsList: true, Comment: of[ids[0]].Comment}, map[string]*Node{}
	for _, id := range ids {
		rest[id] = &Node{IsList: true}
	}
	isEqual, isEmpty := true, true
	for i := range of[ids[0]].List {
		elements := map[string]*Node{}
		for _, id := range ids {
			elements[id] = of[id].List[i]
		}
		here, others := d.split(elements, lists)
		isEqual = isEqual && len(others) == 0
		if !isEqual && !lists {
			return nil, of
		}
		here = cmp.Or(here, mapNode())
		isEmpty = isEmpty && len(here.Fields) == 0
		common.List = append(common.List, here)
		for _, id := range ids {
			rest[id].List = append(rest[id].List, cmp.Or(others[id], mapNode()))
		}
	}
	switch {
	case isEqual:
		return common, nil
	case isEmpty:
		return nil, of
	}
	for _, id := range ids {
		if !slices.ContainsFunc(rest[id].List, func(e *Node) bool { return len(e.Fields) > 0 }) {
			delete(rest, id)
		}
	}
	return common, rest
}

// keysOf returns the keys of all nodes, those of the first node first.
func keysOf(ids []string, of map[string]*Node) []string {
	var out []string
	seen := map[string]bool{}
	for _, id := range ids {
		for _, f := range of[id].Fields {
			if !seen[f.Key] {
				seen[f.Key] = true
				out = append(out, f.Key)
			}
		}
	}
	return out
}
