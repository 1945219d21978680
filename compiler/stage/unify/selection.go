package unify

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// clusterSelectors returns the field clusters of all releases that have one, and
// the faults of patterns that are invalid.
func (e *evaluation) clusterSelectors(v cue.Value) ([]fleet.ClusterSelector, error) {
	var out []fleet.ClusterSelector
	var faults diag.List
	e.releases(v, func(name string, release cue.Value) {
		field := lookup(release, "clusters")
		if !field.Exists() || field.Validate(cue.Concrete(true)) != nil {
			return // all, or a fault already
		}
		s := fleet.ClusterSelector{
			Release: name, Pos: e.fieldPos(field), IDs: e.choices(lookup(field, "ids")),
			Environments: e.choices(lookup(field, "environments")), Labels: e.labelChoices(lookup(field, "labels")),
		}
		for _, p := range s.IDs {
			if _, err := path.Match(p.Text, ""); err != nil {
				faults.Add(&diag.Diag{
					At: []diag.Pos{p.Pos}, Path: "releases." + cue.Str(name).String() + ".clusters.ids",
					Msg: "cluster pattern " + p.Text + " has a syntax error", Hint: `write it as in "prod/*" or "prod/eu-[12]"`,
				})
			}
		}
		out = append(out, s)
	})
	return out, faults.Err()
}

// choices returns the texts of a list.
func (e *evaluation) choices(list cue.Value) []fleet.ClusterChoice {
	var out []fleet.ClusterChoice
	it, err := list.List()
	if err != nil {
		return nil // there is none
	}
	for it.Next() {
		text, _ := it.Value().String()
		out = append(out, fleet.ClusterChoice{Text: text, Pos: cuediag.Pos(e.root, e.sourcePos(it.Value()))})
	}
	return out
}

// matchTexts returns the texts of the field match of a rule or a waiver, as far as
// the fleet's layers write them. at is the path of the rule.
func (e *evaluation) matchTexts(rule cue.Value, at string) []fleet.MatchText {
	match := lookup(rule, "match")
	if !match.Exists() {
		return nil
	}
	var out []fleet.MatchText
	add := func(field string, choices []fleet.ClusterChoice) {
		for _, t := range choices {
			path := at + ".match." + field
			if field == "labels" {
				path += "." + cue.MakePath(cue.Str(t.Key)).String()
			}
			if e.layerOfFile(t.Pos.File) != "" {
				out = append(out, fleet.MatchText{Path: path, Field: field, Key: t.Key, Text: t.Text, Pos: t.Pos})
			}
		}
	}
	for _, field := range []string{"releases", "kinds", "namespaces", "names"} {
		add(field, e.choices(lookup(match, field)))
	}
	add("labels", e.labelChoices(lookup(match, "labels")))
	return out
}

// labelChoices returns labels, sorted by key.
func (e *evaluation) labelChoices(labels cue.Value) []fleet.ClusterChoice {
	var out []fleet.ClusterChoice
	it, err := labels.Fields()
	if err != nil {
		return nil // there are none
	}
	for it.Next() {
		text, _ := it.Value().String()
		out = append(out, fleet.ClusterChoice{Key: it.Selector().Unquoted(), Text: text, Pos: cuediag.Pos(e.root, e.sourcePos(it.Value()))})
	}
	slices.SortFunc(out, func(a, b fleet.ClusterChoice) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// unselected reads the selectors of the cluster's releases, and returns the names of
// the releases that the cluster does not get.
func (e *evaluation) unselected(v cue.Value, c *fleet.Cluster) (names []string, err error) {
	c.Selectors, err = e.clusterSelectors(v)
	for _, s := range c.Selectors {
		if !s.Selects(c) {
			names = append(names, s.Release)
		}
	}
	return names, err
}

// without takes the releases out of the cluster, and out of the faults: what is
// wrong with a release is for the clusters that get it.
func without(releases []string, c *fleet.Cluster, faults diag.List) diag.List {
	c.Releases = slices.DeleteFunc(c.Releases, func(r *fleet.Release) bool { return slices.Contains(releases, r.Name) })
	c.Defaults.Waivers = slices.DeleteFunc(c.Defaults.Waivers, func(w fleet.DefaultWaiver) bool { return slices.Contains(releases, w.Release) })
	return slices.DeleteFunc(faults, func(d *diag.Diag) bool {
		return slices.ContainsFunc(releases, func(name string) bool {
			at := "releases." + cue.Str(name).String()
			return d.Path == at || strings.HasPrefix(d.Path, at+".")
		})
	})
}
