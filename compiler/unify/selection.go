package unify

import (
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// A clusterSelector is the clusters field of a release.
type clusterSelector struct {
	IDs          []string          `json:"ids"`
	Environments []string          `json:"environments"`
	Labels       map[string]string `json:"labels"`
}

// selects reports whether the cluster is one of those that the release names.
func (s clusterSelector) selects(c *fleet.Cluster) bool {
	byID := len(s.IDs) == 0 || slices.ContainsFunc(s.IDs, func(p string) bool {
		ok, err := fleet.MatchCluster(path.Clean(p), c.ID)
		return ok && err == nil
	})
	for k, v := range s.Labels {
		if have, ok := c.Labels[k]; !ok || v != "*" && v != have {
			return false
		}
	}
	return byID && (len(s.Environments) == 0 || slices.Contains(s.Environments, c.Environment))
}

// elsewhere returns the names of the releases that the cluster does not get, and
// what is wrong with the choice.
func (e *evaluation) elsewhere(v cue.Value, c *fleet.Cluster) (names []string, err error) {
	var faults diag.List
	e.releases(v, func(name string, release cue.Value) {
		var s clusterSelector
		field := lookup(release, "clusters")
		if !field.Exists() || field.Decode(&s) != nil {
			return // all, or a fault already
		}
		for _, p := range s.IDs {
			if _, err := path.Match(p, ""); err != nil {
				faults.Add(&diag.Diag{
					At: []diag.Pos{e.fieldPos(field)}, Path: "releases." + cue.Str(name).String() + ".clusters.ids",
					Msg: "cluster pattern " + p + " has a syntax error", Hint: `write it as in "prod/*" or "prod/eu-[12]"`,
				})
			}
		}
		if !s.selects(c) {
			names = append(names, name)
		}
	})
	return names, faults.Err()
}

// without takes the releases out of the cluster, and out of the faults: what is
// wrong with a release is for the clusters that get it.
func without(releases []string, c *fleet.Cluster, faults diag.List) diag.List {
	c.Releases = slices.DeleteFunc(c.Releases, func(r *fleet.Release) bool { return slices.Contains(releases, r.Name) })
	return slices.DeleteFunc(faults, func(d *diag.Diag) bool {
		return slices.ContainsFunc(releases, func(name string) bool {
			at := "releases." + cue.Str(name).String()
			return d.Path == at || strings.HasPrefix(d.Path, at+".")
		})
	})
}
