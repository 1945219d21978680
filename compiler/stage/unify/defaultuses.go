package unify

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A pinnedDefault is a default that values pins.
type pinnedDefault struct {
	release string
	path    []string
	tree    *fleet.Tree
	pin     cue.Value
}

// A defaultWalk finds which defaults of a cluster have an effect.
type defaultWalk struct {
	*binding
	used       map[diag.Pos]bool
	overridden []fleet.OverriddenDefault
	release    string
	pinned     bool
}

// readDefaultUses finds which defaults of the cluster's releases have an effect. It
// is called when the values are bound and the cluster has no faults.
func (e *evaluation) readDefaultUses(c *fleet.Cluster) {
	w := &defaultWalk{binding: e.last, used: map[diag.Pos]bool{}}
	for _, r := range c.Releases {
		if t := w.merged[r.Name]; t != nil {
			w.release = r.Name
			w.effective(nil, t)
		}
	}
	w.pinned = true
	for _, d := range w.dropped {
		if slices.ContainsFunc(c.Releases, func(r *fleet.Release) bool { return r.Name == d.release }) {
			w.release = d.release
			if pin := e.reader().tree(d.pin); pin != nil {
				w.hidden(d.path, d.tree, pin, true)
			} else {
				w.effective(d.path, d.tree)
			}
		}
	}
	c.Defaults.Overridden = slices.DeleteFunc(w.overridden, func(o fleet.OverriddenDefault) bool { return w.used[o.Pos] })
	slices.SortFunc(c.Defaults.Overridden, func(a, b fleet.OverriddenDefault) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Release, b.Release), slices.Compare(a.Path, b.Path))
	})
	c.Defaults.Used = fleet.NewPosSet(slices.Collect(maps.Keys(w.used)))
}

// effective visits merged defaults, which apply, and what they replaced.
func (w *defaultWalk) effective(path []string, t *fleet.Tree) {
	if !t.IsMap() {
		w.use(t)
	}
	for k, f := range t.Fields {
		w.effective(below(path, k), f)
	}
	if t.Shadows != nil {
		w.hidden(path, t.Shadows, t, true)
	}
}

// hidden visits defaults that another value replaces: the one of the same path when
// alike is set, and otherwise one around it. A default that is equal to the value
// agrees with it, and counts as used.
func (w *defaultWalk) hidden(path []string, t, by *fleet.Tree, alike bool) {
	for k, f := range t.Fields {
		if inner := by.Fields[k]; alike && inner != nil {
			w.hidden(below(path, k), f, inner, true)
		} else {
			w.hidden(below(path, k), f, by, false)
		}
	}
	if t.Shadows != nil {
		w.hidden(path, t.Shadows, by, alike)
	}
	if t.IsMap() || t.Layer == "" {
		return
	}
	if alike && !by.IsMap() && reflect.DeepEqual(t.Value(), by.Value()) {
		w.use(t)
		return
	}
	o := fleet.OverriddenDefault{Release: w.release, Layer: t.Layer, Below: w.below(t.Layer), Path: path, Pos: w.posOf(t), By: w.posOf(by), Pinned: w.pinned}
	w.overridden = append(w.overridden, o)
}

func (w *defaultWalk) use(t *fleet.Tree) {
	if t.Layer != "" {
		w.used[w.posOf(t)] = true
	}
}

// posOf returns where the value is written.
func (w *defaultWalk) posOf(t *fleet.Tree) diag.Pos {
	p := t.Pos
	if !p.IsValid() {
		p = cuediag.Pos(w.root, w.at[t]) // the place of a map is not looked for until it is needed
	}
	w.embedded.pos(&p)
	return p
}

// below returns what the IDs of the clusters of a layer begin with.
func (e *evaluation) below(layer string) string {
	for _, l := range e.layers {
		if l.Name == layer {
			return strings.Trim(strings.TrimPrefix(l.Dir, e.layers[0].Dir), "/")
		}
	}
	return ""
}

func below(path []string, key string) []string { return append(slices.Clone(path), key) }

// defaultWaivers reads the field overridden of a release.
func (e *evaluation) defaultWaivers(name string, release cue.Value, faults *diag.List) []fleet.DefaultWaiver {
	var out []fleet.DefaultWaiver
	for _, layer := range fieldsOf(release, "overridden") {
		for _, w := range fieldsIn(layer.v) {
			pos := e.fieldPos(w.v)
			path, ok := fleet.ParseField(strings.TrimPrefix(w.name, "values."))
			if !ok {
				faults.Add(&diag.Diag{
					At: []diag.Pos{pos}, Path: (&fleet.Release{Name: name}).Path("overridden", layer.name),
					Msg: "malformed path " + w.name, Hint: `write it as in a.b, or a."b.c" where a key has a dot in it`,
				})
				continue
			}
			out = append(out, fleet.DefaultWaiver{Release: name, Layer: layer.name, Text: w.name, Path: path, Pos: pos})
		}
	}
	return out
}
