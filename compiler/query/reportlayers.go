package query

import (
	"cmp"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// readLayers reads which layers the clusters have.
func (m *maker) readLayers() error {
	all, err := load.Layers(m.f.Dir)
	if err != nil {
		return err
	}
	for _, l := range all {
		below := 0
		for _, c := range m.f.Clusters {
			below += btoi(fleet.IsWithin(clusterDir(c.ID), l.Dir))
		}
		if below == 0 {
			continue
		}
		m.layers = append(m.layers, l)
		out := ReportLayer{Dir: l.Dir, Name: l.Name, Clusters: below}
		if i := slices.IndexFunc(m.f.Clusters, func(c *fleet.Cluster) bool { return clusterDir(c.ID) == l.Dir }); i >= 0 {
			out.Cluster = m.f.Clusters[i].ID
		}
		for _, other := range m.Layers { // those above come first
			if l.Dir != other.Dir && fleet.IsWithin(l.Dir, other.Dir) {
				out.Parent = other.Dir
			}
		}
		if len(l.Files) > 0 {
			out.Place = m.links.place(diag.Pos{File: l.Files[0], Line: 1, Col: 1})
		}
		m.Layers = append(m.Layers, out)
	}
	return nil
}

func clusterDir(id string) string { return path.Join("environments", id) }

// layerDir returns the directory of a cluster's layer; empty if it has no layer of this name.
func (m *maker) layerDir(c *fleet.Cluster, name string) string {
	for _, l := range m.layers {
		if l.Name == name && name != "" && fleet.IsWithin(clusterDir(c.ID), l.Dir) {
			return l.Dir
		}
	}
	return ""
}

// valueKey identifies a value of a release.
type valueKey struct{ release, path string }

// A valueIndex finds the lines of values.
type valueIndex struct {
	*maker
	lines map[valueKey]map[lineKey]*ReportValueLine
}

// A lineKey identifies a line that sets a value.
type lineKey struct {
	layer, value string
	pos          diag.Pos
}

// addValues adds the values of all releases with the lines that set them.
func (m *maker) addValues() {
	x := valueIndex{m, map[valueKey]map[lineKey]*ReportValueLine{}}
	for _, c := range m.f.Clusters {
		for _, r := range c.Releases {
			x.add(c, r, r.Values, nil, true)
		}
		x.addPinned(c)
	}
	m.Values = []ReportValue{}
	for key, lines := range x.lines {
		v := ReportValue{Release: key.release, Path: key.path}
		for _, l := range lines {
			v.Lines = append(v.Lines, *l)
		}
		slices.SortFunc(v.Lines, func(a, b ReportValueLine) int {
			return cmp.Or(cmp.Compare(a.Layer, b.Layer), comparePlaces(a.Place, b.Place), cmp.Compare(a.Value, b.Value), slices.Compare(a.Effective, b.Effective), slices.Compare(a.Overridden, b.Overridden))
		})
		hideLines(v.Lines)
		m.Values = append(m.Values, v)
	}
	slices.SortFunc(m.Values, func(a, b ReportValue) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.Path, b.Path))
	})
	m.countLayers()
}

// hideLines hides all lines of a value if one of them is a secret: an overridden line is in no
// Secret of the selected clusters, but others may use it.
func hideLines(lines []ReportValueLine) {
	if !slices.ContainsFunc(lines, func(l ReportValueLine) bool { return l.Value == hidden }) {
		return
	}
	for i := range lines {
		if lines[i].Value != pinnedText {
			lines[i].Value = hidden
		}
	}
}

// add adds the values of a tree and, of an effective one, the values that they override. Empty
// maps are not values.
func (x *valueIndex) add(c *fleet.Cluster, r *fleet.Release, t *fleet.Tree, path []string, effective bool) {
	if !t.IsMap() {
		x.line(c, r.Name, path, t, effective)
	}
	for _, key := range t.Keys() {
		x.add(c, r, t.Fields[key], append(slices.Clip(path), key), effective)
	}
	for over := t.Shadows; effective && over != nil; over = over.Shadows {
		x.add(c, r, over, path, false)
	}
}

// addPinned adds the defaults that a value pins, whose values are not in the tree.
func (x *valueIndex) addPinned(c *fleet.Cluster) {
	for _, o := range c.Defaults.Overridden {
		if o.Pinned {
			x.line(c, o.Release, o.Path, &fleet.Tree{Pos: o.Pos, Layer: o.Layer, Scalar: pinnedText}, false)
		}
	}
}

// pinnedText is the placeholder for the unknown value of a default.
const pinnedText = "(pinned by values)"

// line adds a cluster to a line of a value.
func (x *valueIndex) line(c *fleet.Cluster, release string, path []string, t *fleet.Tree, effective bool) {
	key := valueKey{release, fleet.FieldText(path)}
	if x.lines[key] == nil {
		x.lines[key] = map[lineKey]*ReportValueLine{}
	}
	text := x.secrets.text(t.Native())
	if t.Scalar == pinnedText {
		text = pinnedText
	}
	at := lineKey{x.layerDir(c, t.Layer), text, t.Pos}
	if diag.IsTypeFile(t.Pos.File) {
		at.pos = diag.Pos{}
	}
	l := x.lines[key][at]
	if l == nil {
		l = &ReportValueLine{Layer: at.layer, Value: text, Place: x.links.place(at.pos), Effective: []string{}, Overridden: []string{}}
		x.lines[key][at] = l
	}
	if list := &l.Overridden; effective {
		l.Effective = append(l.Effective, c.ID)
	} else if n := len(*list); n == 0 || (*list)[n-1] != c.ID {
		*list = append(*list, c.ID)
	}
}

// countLayers counts the values that each layer sets and overrides.
func (m *maker) countLayers() {
	index := map[string]*ReportLayer{}
	for i := range m.Layers {
		index[m.Layers[i].Dir] = &m.Layers[i]
	}
	for _, v := range m.Values {
		seen := map[string]bool{}
		for _, line := range v.Lines {
			l := index[line.Layer]
			if l == nil || seen[line.Layer] {
				continue
			}
			seen[line.Layer] = true
			l.Sets++
			l.Overrides += btoi(v.has(func(other ReportValueLine) bool { return isBelowLayer(l.Dir, other.Layer) }) &&
				v.has(func(own ReportValueLine) bool { return own.Layer == l.Dir && len(own.Effective) > 0 }))
			l.Overridden += btoi(v.has(func(other ReportValueLine) bool { return isBelowLayer(other.Layer, l.Dir) }) &&
				v.has(func(own ReportValueLine) bool { return own.Layer == l.Dir && len(own.Overridden) > 0 }))
		}
	}
}

// has reports whether a line has a property.
func (v ReportValue) has(property func(ReportValueLine) bool) bool {
	return slices.ContainsFunc(v.Lines, property)
}

// isBelowLayer reports whether a layer is below another one. Lines outside of the layers are
// neither below nor above.
func isBelowLayer(dir, above string) bool {
	return above != "" && dir != above && fleet.IsWithin(dir, above)
}
