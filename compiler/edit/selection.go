package edit

import (
	"bytes"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A selection is the releases that get another version of their chart in a layer.
type selection struct {
	before  *fleet.Fleet
	version string
	users   map[string]map[string]bool // IDs of the clusters by the name of the release
}

// topmostLayers returns the topmost layers of all layers below a layer, or the layer itself, in
// which every cluster of the fleet satisfies a condition. A line in each of them is for all
// clusters that satisfy it, and for no other.
func topmostLayers(all []load.LayerFiles, f *fleet.Fleet, from fleet.Layer, satisfies func(*fleet.Cluster) bool) []fleet.Layer {
	clusters, satisfying := map[string]int{}, map[string]int{} // by directory
	for _, c := range f.Clusters {
		ok := satisfies(c)
		for dir := range fleet.DirsAbove("environments/" + c.ID) {
			clusters[dir]++
			if ok {
				satisfying[dir]++
			}
		}
	}
	var out []fleet.Layer
	chosen := map[string]bool{}
	for _, l := range all { // sorted: a layer comes before those below it
		isBelow := false
		for dir := range fleet.DirsAbove(l.Dir) {
			isBelow = isBelow || chosen[dir]
		}
		if fleet.IsWithin(l.Dir, from.Dir) && !isBelow && clusters[l.Dir] > 0 && clusters[l.Dir] == satisfying[l.Dir] {
			chosen[l.Dir] = true
			out = append(out, l.Layer)
		}
	}
	return out
}

// checkSelections checks the evaluated fleet with the edits: exactly the selected releases get
// their versions, and no cluster gets another release.
func (p *pinning) checkSelections(after compiler.Evaluation) error {
	if len(p.selections) == 0 {
		return nil
	}
	if after.Fleet == nil {
		return after.Faults
	}
	before := p.selections[0].before
	both := inBoth(before, after.All())
	if len(both) < len(before.Clusters) {
		return after.Faults // a cluster cannot be evaluated with the edits
	}
	var faults diag.List
	for _, m := range both {
		for _, r := range p.uses(m.before) {
			wanted := p.selected(m.before.ID, r)
			if next := m.after.Release(r.Name); next == nil || next.Chart != wanted {
				faults.Add(p.refuse(m.before.ID, r, wanted, after.Faults))
			}
		}
		for _, r := range m.after.Releases {
			if m.before.Release(r.Name) == nil {
				faults.Add(&diag.Diag{
					Code: diag.CodeUpdateEffect, Path: r.Path(), Clusters: []string{m.before.ID},
					Msg: "the cluster would get this release", Hint: "name another layer with --in",
				})
			}
		}
	}
	return faults.Err()
}

// selected returns the chart that a release of a cluster must have after the edits.
func (p *pinning) selected(cluster string, r *fleet.Release) fleet.ChartRef {
	for _, s := range p.selections {
		for _, v := range p.versions {
			if s.users[r.Name][cluster] && v.Version == s.version {
				return v.Ref
			}
		}
	}
	return r.Chart
}

// refuse returns the fault of a release that would not have the wanted chart. It names the lines
// that select another version.
func (p *pinning) refuse(cluster string, r *fleet.Release, wanted fleet.ChartRef, after error) error {
	if wanted == r.Chart {
		return &diag.Diag{
			Code: diag.CodeUpdateEffect, At: []diag.Pos{r.Pos}, Path: r.Path("chart"), Clusters: []string{cluster},
			Msg: "the version of the chart would change in this cluster, too", Hint: "name a layer with --in that also contains this cluster",
		}
	}
	d := &diag.Diag{
		Code: diag.CodeCannotEdit, Path: r.Path("chart", "version"), Clusters: []string{cluster},
		Msg: "this line selects another version of the chart", Hint: "remove it, or move it to the layers of the clusters that keep this version",
	}
	for _, other := range diag.All(after) {
		if other.Path == d.Path && slices.Contains(other.Clusters, cluster) {
			d.At = append(d.At, onDisk(p.root, p.edits, other.At, false)...)
		}
	}
	if d.At = slices.DeleteFunc(d.At, func(at diag.Pos) bool { return at.Line == 0 }); len(d.At) == 0 {
		d.At, d.Msg, d.Hint = []diag.Pos{r.Pos}, "the release would not get the new version of its chart", "change the line that selects its version"
	}
	return d
}

// onDisk returns positions in edited files as positions in the files on disk. A position in
// new lines has no line, and in changed lines if they are not kept.
func onDisk(root string, edits load.Edits, at []diag.Pos, keepChanged bool) []diag.Pos {
	return diag.Each(at, func(p diag.Pos) diag.Pos {
		text, ok := edits[p.File]
		if !ok {
			return p
		}
		existing, _ := ReadFile(root, p.File) // a new file has no lines
		before, after := bytes.Split(existing, []byte("\n")), bytes.Split(text, []byte("\n"))
		most, head, tail := min(len(before), len(after)), 0, 0
		for head < most && bytes.Equal(before[head], after[head]) {
			head++
		}
		for head+tail < most && bytes.Equal(before[len(before)-1-tail], after[len(after)-1-tail]) {
			tail++
		}
		switch {
		case p.Line <= head, keepChanged && len(before) == len(after):
		case p.Line > len(after)-tail:
			p.Line -= len(after) - len(before)
		default:
			p.Line, p.Col = 0, 0
		}
		return p
	})
}
