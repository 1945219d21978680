package unify

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A pinnedDefault is a default that values overrides.
type pinnedDefault struct {
	release string
	path    []string
	tree    *fleet.Tree
	pin     cue.Value
}

// A defaultWalk determines which defaults of a cluster are effective.
type defaultWalk struct {
	*binding
	reads      *valueReads // nil if the source of the release reads all values
	used       map[diag.Pos]bool
	overridden []fleet.OverriddenDefault
	unread     []fleet.OverriddenDefault
	release    string
	pinned     bool
}

// readDefaultUses determines which defaults of the cluster's releases are
// effective. It requires bound values and a cluster without faults.
func (e *evaluation) readDefaultUses(c *fleet.Cluster) {
	w := &defaultWalk{binding: e.last, used: map[diag.Pos]bool{}}
	for _, r := range c.Releases {
		if t := w.merged[r.Name]; t != nil {
			w.release, w.reads = r.Name, nil
			if r.Chart == (fleet.ChartRef{}) && r.Jsonnet == "" {
				w.reads = e.reads()
			}
			w.effective(nil, t)
		}
	}
	w.reads = nil
	w.pinned = true
	for _, d := range w.droppedDefaults {
		if slices.ContainsFunc(c.Releases, func(r *fleet.Release) bool { return r.Name == d.release }) {
			w.release = d.release
			if pin := e.reader().tree(d.pin); pin != nil {
				w.hidden(d.path, d.tree, pin, true)
			} else {
				w.effective(d.path, d.tree)
			}
		}
	}
	c.Defaults.Used = fleet.NewPosSet(slices.Collect(maps.Keys(w.used)))
	c.Defaults.Overridden = w.sorted(w.overridden)
	c.Defaults.Unselected = w.sorted(w.unselected(c))
	c.Defaults.Unread = w.sorted(w.unread)
	for _, l := range [][]fleet.OverriddenDefault{c.Defaults.Overridden, c.Defaults.Unselected, c.Defaults.Unread} {
		for i := range l {
			l[i].Referenced = e.reads().readsDefault(e.root, &l[i])
		}
	}
}

// sorted removes the defaults that are also used, and sorts the others.
func (w *defaultWalk) sorted(l []fleet.OverriddenDefault) []fleet.OverriddenDefault {
	l = slices.DeleteFunc(l, func(o fleet.OverriddenDefault) bool { return w.used[o.Pos] })
	slices.SortFunc(l, func(a, b fleet.OverriddenDefault) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Release, b.Release), slices.Compare(a.Path, b.Path))
	})
	return l
}

// unselected returns the defaults of releases that the cluster does not select. It leaves out
// those of the root layer: a selector that selects no cluster of the fleet is another fault.
func (w *defaultWalk) unselected(c *fleet.Cluster) []fleet.OverriddenDefault {
	var out []fleet.OverriddenDefault
	for _, s := range c.Selectors {
		if s.Release == "" || s.Selects(c) {
			continue
		}
		all := &defaultWalk{binding: w.binding, used: map[diag.Pos]bool{}, release: s.Release}
		if t := w.merged[s.Release]; t != nil {
			all.hidden(nil, t, &fleet.Tree{Pos: s.Pos}, false)
		}
		for _, d := range w.droppedDefaults {
			if d.release == s.Release {
				all.hidden(d.path, d.tree, &fleet.Tree{Pos: s.Pos}, false)
			}
		}
		for _, o := range all.overridden {
			if o.Below != "" {
				out = append(out, o)
			}
		}
	}
	return out
}

// effective visits effective defaults and the defaults that they override.
func (w *defaultWalk) effective(path []string, t *fleet.Tree) {
	switch {
	case t.IsMap():
	case t.Layer != "" && len(path) > 0 && w.reads != nil && !w.reads.reads(w.release, path):
		o := w.withoutEffect(path, t)
		o.Near = w.reads.near(path)
		w.unread = append(w.unread, o)
	default:
		w.use(t)
	}
	for k, f := range t.Fields {
		w.effective(childPath(path, k), f)
	}
	if t.Shadows != nil {
		w.hidden(path, t.Shadows, t, true)
	}
}

// hidden visits overridden defaults. by is the value at the same path if
// samePath is set, otherwise a value above it. A default that equals the
// overriding value counts as used.
func (w *defaultWalk) hidden(path []string, t, by *fleet.Tree, samePath bool) {
	for k, f := range t.Fields {
		if inner := by.Fields[k]; samePath && inner != nil {
			w.hidden(childPath(path, k), f, inner, true)
		} else {
			w.hidden(childPath(path, k), f, by, false)
		}
	}
	if t.Shadows != nil {
		w.hidden(path, t.Shadows, by, samePath)
	}
	if t.IsMap() || t.Layer == "" {
		return
	}
	if samePath && !by.IsMap() && reflect.DeepEqual(t.Value(), by.Value()) {
		w.use(t)
		return
	}
	o := w.withoutEffect(path, t)
	o.By, o.Pinned = w.posOf(by), w.pinned
	w.overridden = append(w.overridden, o)
}

// withoutEffect returns a default without effect, which a layer writes.
func (w *defaultWalk) withoutEffect(path []string, t *fleet.Tree) fleet.OverriddenDefault {
	return fleet.OverriddenDefault{Release: w.release, Layer: t.Layer, Below: w.layerPrefix(t.Layer), Path: path, Pos: w.posOf(t)}
}

func (w *defaultWalk) use(t *fleet.Tree) {
	if t.Layer != "" {
		w.used[w.posOf(t)] = true
	}
}

// posOf returns the position of a value.
func (w *defaultWalk) posOf(t *fleet.Tree) diag.Pos {
	p := t.Pos
	if !p.IsValid() {
		p = diag.CUEPos(w.root, w.positions[t]) // positions of maps are computed on demand
	}
	w.embedded.pos(&p)
	return p
}

// layerPrefix returns the common prefix of the IDs of a layer's clusters.
func (e *evaluation) layerPrefix(layer string) string {
	for _, l := range e.layers {
		if l.Name == layer {
			return strings.Trim(strings.TrimPrefix(l.Dir, e.layers[0].Dir), "/")
		}
	}
	return ""
}

func childPath(path []string, key string) []string { return append(slices.Clone(path), key) }

// defaultWaivers reads the field overridden of a release.
func (e *evaluation) defaultWaivers(name string, release cue.Value, faults *diag.List) []fleet.DefaultWaiver {
	var out []fleet.DefaultWaiver
	for _, layer := range fieldsOf(release, "overridden") {
		for _, w := range fieldsIn(layer.v) {
			pos := e.fieldPos(w.v)
			path, ok := fleet.ParseField(strings.TrimPrefix(w.name, "values."))
			if !ok {
				faults.Add(&diag.Diag{
					Code: diag.CodeTextForm,
					At:   []diag.Pos{pos}, Path: (&fleet.Release{Name: name}).Path("overridden", layer.name),
					Msg: "malformed path " + w.name, Hint: `write it as in a.b, or a."b.c" for a key with a dot`,
				})
				continue
			}
			out = append(out, fleet.DefaultWaiver{Release: name, Layer: layer.name, Text: w.name, Path: path, Pos: pos})
		}
	}
	return out
}
