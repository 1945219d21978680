package unify

import (
	"maps"
	"slices"
	"strconv"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// uselessDefault is a default that no cluster uses.
type uselessDefault struct {
	fleet.OverriddenDefault               // in the first of the clusters
	clusters                   []string   // that override it
	by                         []diag.Pos // sorted
	pinned, selected           bool
	unread, waived, referenced bool
}

// checkDefaults reports defaults that have no effect in any cluster and to which no expression
// refers, if the run has all clusters of their layer. If the run has all clusters of the fleet,
// it also reports waivers for no such default.
func (f *fleetCheck) checkDefaults() {
	whole := f.covers("")
	useless := f.uselessDefaults()
	needed := map[diag.Pos]bool{}
	waivers := map[diag.Pos]fleet.DefaultWaiver{}
	at := map[diag.Pos][]string{} // IDs of the clusters that have a waiver
	for _, c := range f.Selected {
		for _, w := range c.Defaults.Waivers {
			waivers[w.Pos], at[w.Pos] = w, append(at[w.Pos], c.ID)
			for _, o := range withoutEffect(c) {
				if d := useless[o.Pos]; d != nil && w.Accepts(&o) {
					d.waived, needed[w.Pos] = true, true
				}
			}
		}
	}
	for _, d := range useless {
		if !d.waived && !d.referenced {
			f.faults.Add(d.fault())
		}
	}
	for pos, w := range waivers {
		if whole && !needed[pos] {
			f.faults.Add(&diag.Diag{
				Code: diag.CodeUnusedRule,
				At:   []diag.Pos{pos}, Clusters: slices.Sorted(slices.Values(at[pos])), Path: (&fleet.Release{Name: w.Release}).Path("overridden", w.Layer),
				Msg:  "the waiver for " + w.Text + " is not needed: no default of the layer " + w.Layer + " there is overridden in every cluster",
				Hint: "remove it",
			})
		}
	}
}

// uselessDefaults returns the defaults that no cluster uses, by position. It skips defaults
// of layers with a single cluster, which may be meant for future clusters.
func (f *fleetCheck) uselessDefaults() map[diag.Pos]*uselessDefault {
	useless := map[diag.Pos]*uselessDefault{}
	covered := map[string]bool{} // whether the run has all clusters of a layer
	for _, c := range f.Selected {
		for _, o := range withoutEffect(c) {
			if _, ok := covered[o.Below]; !ok {
				covered[o.Below] = f.covers(o.Below)
			}
			if !covered[o.Below] {
				continue
			}
			d := useless[o.Pos]
			if d == nil {
				d = &uselessDefault{OverriddenDefault: o, pinned: true}
				useless[o.Pos] = d
			}
			d.clusters, d.referenced = append(d.clusters, c.ID), d.referenced || o.Referenced
			if o.By.IsValid() {
				d.by = append(d.by, o.By)
			}
		}
		for _, o := range c.Defaults.Overridden {
			if d := useless[o.Pos]; d != nil && covered[o.Below] {
				d.pinned, d.selected = d.pinned && o.Pinned, true
			}
		}
		for _, o := range c.Defaults.Unread {
			if d := useless[o.Pos]; d != nil && covered[o.Below] {
				d.unread, d.selected = true, true
			}
		}
	}
	checked := map[string]bool{} // most clusters of an environment use the same
	for _, c := range f.Selected {
		if used := string(c.Defaults.Used); !checked[used] {
			checked[used] = true
			for pos := range useless {
				if c.Defaults.Used.Has(pos) {
					delete(useless, pos)
				}
			}
		}
	}
	maps.DeleteFunc(useless, func(_ diag.Pos, d *uselessDefault) bool {
		return len(d.clusters) == 1 && d.Below != d.clusters[0]
	})
	return useless
}

// covers reports whether the run has all clusters of a layer, see
// [fleet.OverriddenDefault].
func (f *fleetCheck) covers(below string) bool {
	return hasAll(f.Selected, clustersBelow(f.IDs, below))
}

// maxOverrides is how many of the values that override a default a fault shows.
const maxOverrides = 5

const unread = "has no effect: nothing reads it"

// withoutEffect returns the defaults of a cluster without effect.
func withoutEffect(c *fleet.Cluster) []fleet.OverriddenDefault {
	return slices.Concat(c.Defaults.Overridden, c.Defaults.Unselected, c.Defaults.Unread)
}

// fault reports the default, and the values that apply instead.
func (d *uselessDefault) fault() *diag.Diag {
	slices.Sort(d.clusters)
	slices.SortFunc(d.by, diag.Pos.Compare)
	d.by = slices.Compact(d.by)
	which := "every cluster of " + d.Layer
	switch {
	case d.Below == d.clusters[0]:
		which = "the cluster"
	case d.Below == "":
		which = "every cluster"
	}
	msg := "has no effect: " + which + " overrides it"
	hint := "remove it, or say why it stays: "
	switch {
	case d.unread && d.Near != "":
		return &diag.Diag{
			Code: diag.CodeUnusedDefaults, At: []diag.Pos{d.Pos}, Clusters: d.clusters, Path: d.Field(),
			Msg: unread, Hint: "did you mean " + d.Near + "?", Fixes: []diag.Fix{{Kind: diag.FixName, Old: d.Path[len(d.Path)-1], New: d.Near}},
		}
	case d.unread:
		msg = unread
	case !d.selected:
		msg = "has no effect: no cluster of " + d.Layer + " selects the release"
		if d.Below == d.clusters[0] {
			msg = "has no effect: the cluster does not select the release"
		}
		hint = "remove it, select one of the clusters, or say why it stays: "
	case d.pinned:
		msg = "has no effect: values pins it in " + which
	}
	if n := len(d.by); n > maxOverrides {
		msg += ", in " + strconv.Itoa(n) + " places"
		d.by = d.by[:maxOverrides]
	}
	return &diag.Diag{
		Code: diag.CodeUnusedDefaults,
		At:   append([]diag.Pos{d.Pos}, d.by...), Clusters: d.clusters, Path: d.Field(), Msg: msg,
		Hint:  hint + d.Waiver("why"),
		Fixes: []diag.Fix{{Kind: diag.FixWaiver, Path: d.WaiverPath(), New: strconv.Quote(diag.Reason)}},
	}
}
