package unify

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// depends reads the field depends of a cluster's releases and sets their
// levels. off are the releases of the layers that the cluster does not select.
func (e *evaluation) depends(final cue.Value, c *fleet.Cluster, off []string) error {
	d := &dependencies{evaluation: e, cluster: c, off: off, values: map[string]cue.Value{}, releases: map[string]*fleet.Release{}}
	e.releases(final, func(name string, release cue.Value) { d.values[name] = release })
	for _, r := range c.Releases {
		d.releases[r.Name] = r
	}
	for _, r := range c.Releases {
		for _, f := range fieldsOf(d.values[r.Name], "depends") {
			// The schema reports a value that is not a bool.
			if on, err := f.v.Bool(); on && d.checkDependency(r, f) {
				r.Depends, r.DependsPos = append(r.Depends, f.name), append(r.DependsPos, d.fieldPos(f.v))
			} else if !on && err == nil {
				c.Checks = append(c.Checks, d.withoutDependency(r, f)...)
			}
		}
	}
	d.addCycles()
	if len(d.faults) == 0 {
		done := map[*fleet.Release]bool{}
		for _, r := range c.Releases {
			d.setLevel(r, done)
		}
	}
	return d.faults.Err()
}

// dependencies holds the dependencies between the releases of a cluster.
type dependencies struct {
	*evaluation
	cluster  *fleet.Cluster
	off      []string
	values   map[string]cue.Value      // all releases of the layers, by name
	releases map[string]*fleet.Release // releases of the cluster, by name
	faults   diag.List
}

// checkDependency reports whether a release may depend on the release in the
// field, and adds a fault if not.
func (d *dependencies) checkDependency(r *fleet.Release, f namedValue) bool {
	wrong := func(msg, hint string, also ...diag.Pos) bool {
		d.faults.Add(&diag.Diag{Code: diag.CodeDependency, At: append([]diag.Pos{d.fieldPos(f.v)}, also...), Path: r.Path("depends", cue.Str(f.name).String()), Msg: msg, Hint: hint})
		return false
	}
	other := d.releases[f.name]
	switch {
	case f.name == r.Name:
		return wrong("a release cannot depend on itself", "remove the line")
	case other == nil && slices.Contains(d.off, f.name):
		return wrong(fmt.Sprintf("release %s is not on this cluster: its clusters field excludes the cluster", f.name),
			fmt.Sprintf("add the cluster to %s, or remove the line for this cluster", (&fleet.Release{Name: f.name}).Path("clusters")),
			d.fieldPos(lookup(d.values[f.name], "clusters")))
	case other == nil:
		// A hint with all names would differ between clusters and prevent
		// folding.
		wrong("this cluster has no release called "+f.name,
			cmp.Or(diag.DidYouMean(f.name, d.others(r)), "use the name of a release of the cluster"))
		d.faults[len(d.faults)-1].Fixes = diag.Respell(f.name, d.others(r))
		return false
	case slices.Contains(d.cluster.Stages, r.Stage) && slices.Index(d.cluster.Stages, other.Stage) > slices.Index(d.cluster.Stages, r.Stage):
		return wrong(fmt.Sprintf("release %s is applied later: its stage %s comes after %s, the stage of release %s", other.Name, other.Stage, r.Stage, r.Name),
			fmt.Sprintf("move release %s to stage %s or an earlier one", other.Name, r.Stage), other.Pos)
	}
	return true
}

// withoutDependency checks the name in a depends field that is false: a
// release of any cluster must have it.
func (d *dependencies) withoutDependency(r *fleet.Release, f namedValue) []fleet.RuleCheck {
	pos := diag.CUEPos(d.root, d.sourcePos(f.v))
	if d.layerOfFile(pos.File) == "" {
		return nil
	}
	_, exists := d.values[f.name]
	text := fleet.MatchText{Path: r.Path("depends", cue.Str(f.name).String()), Field: "depends", Text: f.name, Pos: pos}
	return fleet.CheckTexts([]fleet.MatchText{text}, func(fleet.MatchText) bool { return exists },
		func(fleet.MatchText) string { return "no release is called " + diag.Visible(f.name, diag.MaxText) },
		slices.DeleteFunc(slices.Collect(maps.Keys(d.values)), func(name string) bool { return name == r.Name }))
}

// others returns the names of the cluster's other releases.
func (d *dependencies) others(r *fleet.Release) []string {
	var names []string
	for _, other := range d.cluster.Releases {
		if other != r {
			names = append(names, other.Name)
		}
	}
	return names
}

// addCycles adds a fault for each dependency cycle.
func (d *dependencies) addCycles() {
	refs, visited := map[string][]string{}, map[string]bool{}
	for _, r := range d.cluster.Releases {
		refs[r.Name] = r.Depends
	}
	for _, r := range d.cluster.Releases {
		cycle := circleFrom(r.Name, refs, visited)
		if cycle == nil {
			continue
		}
		first := d.releases[cycle[0]]
		fault := &diag.Diag{Code: diag.CodeDependency, Path: first.Path("depends"), Hint: "remove one of these lines: none of the releases can be applied first"}
		var edges []string
		for i, name := range cycle {
			to := cycle[(i+1)%len(cycle)]
			edges = append(edges, name+" depends on "+to)
			fault.At = append(fault.At, d.fieldPos(lookup(d.values[name], "depends").LookupPath(cue.MakePath(cue.Str(to)))))
		}
		fault.Msg = "these releases wait for each other: " + strings.Join(edges, ", ")
		d.faults.Add(fault)
	}
}

// setLevel sets the level of a release and of its dependencies, which have no
// cycles.
func (d *dependencies) setLevel(r *fleet.Release, done map[*fleet.Release]bool) {
	for _, name := range r.Depends {
		other := d.releases[name]
		if !done[other] {
			d.setLevel(other, done)
		}
		if other.Stage == r.Stage {
			r.Level = max(r.Level, other.Level+1)
		}
	}
	done[r] = true
}

var dependsPath = regexp.MustCompile(`^releases\.[^ ]+\.depends$`)

// explainList replaces the fault of dependencies that are written as a list.
func explainList(d *diag.Diag) {
	if dependsPath.MatchString(d.Path) && strings.HasPrefix(d.Msg, "this is a list") {
		d.Code = diag.CodeWrongType
		d.At, d.Msg, d.Hint = d.At[:1], "depends must be a map, not a list: layers cannot add to a list", `write depends: "NAME": true for each release`
	}
}
