package unify

import (
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// clusterSelectors returns the clusters fields of all releases, and the faults
// of invalid patterns.
func (e *evaluation) clusterSelectors(v cue.Value) ([]fleet.ClusterSelector, error) {
	var out []fleet.ClusterSelector
	var faults diag.List
	e.releases(v, func(name string, release cue.Value) {
		field := lookup(release, "clusters")
		if !field.Exists() || field.Validate(cue.Concrete(true)) != nil {
			return // all clusters, or reported elsewhere
		}
		s := e.clusterSelector(field, "releases."+cue.Str(name).String()+".clusters", &faults)
		s.Release = name
		out = append(out, s)
	})
	return out, faults.Err()
}

// clusterSelector reads the selector in a field, whose path is given. It adds the faults of
// invalid patterns and empty lists.
func (e *evaluation) clusterSelector(field cue.Value, at string, faults *diag.List) fleet.ClusterSelector {
	s := fleet.ClusterSelector{
		Pos: e.fieldPos(field), IDs: e.choices(lookup(field, "ids")),
		Environments: e.choices(lookup(field, "environments")), Labels: e.labelChoices(lookup(field, "labels")),
	}
	for _, name := range []string{"ids", "environments"} {
		if list := lookup(field, name); list.Exists() && len(e.choices(list)) == 0 {
			faults.Add(&diag.Diag{
				Code: diag.CodeEmptySelection,
				At:   []diag.Pos{e.fieldPos(list)}, Path: at + "." + name,
				Msg: "the list is empty and selects no cluster", Hint: "remove it to select all clusters, or name some",
			})
		}
	}
	for _, p := range s.IDs {
		if _, err := path.Match(p.Text, ""); err != nil {
			faults.Add(&diag.Diag{
				Code: diag.CodeTextForm,
				At:   []diag.Pos{p.Pos}, Path: at + ".ids",
				Msg: "cluster pattern " + p.Text + " has a syntax error", Hint: `write it as in "prod/*" or "prod/eu-[12]"`,
			})
		}
	}
	return s
}

// choices returns the texts of a list.
func (e *evaluation) choices(list cue.Value) []fleet.ClusterChoice {
	var out []fleet.ClusterChoice
	for _, item := range items(list) {
		text, _ := item.String()
		out = append(out, fleet.ClusterChoice{Text: text, Pos: diag.CUEPos(e.root, e.sourcePos(item))})
	}
	return out
}

// matchTexts returns the texts that layers of the fleet write in the match
// field of a rule or waiver at the path.
func (e *evaluation) matchTexts(rule cue.Value, at string) []fleet.MatchText {
	return e.selectorTexts(lookup(rule, "match"), at+".match")
}

// selectorTexts is matchTexts for a selector at a path.
func (e *evaluation) selectorTexts(match cue.Value, at string) []fleet.MatchText {
	if !match.Exists() {
		return nil
	}
	var out []fleet.MatchText
	add := func(field string, choices []fleet.ClusterChoice) {
		for _, t := range choices {
			path := at + "." + field
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
	for _, f := range fieldsIn(labels) {
		text, _ := f.v.String()
		out = append(out, fleet.ClusterChoice{Key: f.name, Text: text, Pos: diag.CUEPos(e.root, e.sourcePos(f.v))})
	}
	return out
}

// unselectedReleases reads the selectors of the releases, and returns the
// names of the releases that the cluster does not select.
func (e *evaluation) unselectedReleases(v cue.Value, c *fleet.Cluster) (names []string, err error) {
	ofReleases, err := e.clusterSelectors(v)
	c.Selectors = append(ofReleases, c.Selectors...)
	for _, s := range ofReleases {
		if !s.Selects(c) {
			names = append(names, s.Release)
		}
	}
	return names, err
}

// removeReleases removes the releases from the cluster and from the faults.
// Their faults belong to clusters that select them.
func removeReleases(releases []string, c *fleet.Cluster, faults diag.List) diag.List {
	c.Releases = slices.DeleteFunc(c.Releases, func(r *fleet.Release) bool { return slices.Contains(releases, r.Name) })
	return slices.DeleteFunc(faults, func(d *diag.Diag) bool { return isOfRelease(d, releases) })
}

// isOfRelease reports whether the path of a fault is in one of the releases.
func isOfRelease(d *diag.Diag, releases []string) bool {
	return slices.ContainsFunc(releases, func(name string) bool {
		at := "releases." + cue.Str(name).String()
		return d.Path == at || strings.HasPrefix(d.Path, at+".")
	})
}

// withoutUnselected is removeReleases for the faults of v. It keeps faults to which other parts
// of the cluster refer: CUE gives them the paths of the unselected releases.
func (e *evaluation) withoutUnselected(v cue.Value, unselected []string, c *fleet.Cluster, faults diag.List) diag.List {
	n := len(faults)
	if faults = removeReleases(unselected, c, faults); len(faults) == n {
		return faults
	}
	var all errors.Error
	add := func(err error) {
		for _, err := range errors.Errors(err) {
			all = errors.Append(all, err)
		}
	}
	for _, f := range fieldsIn(v) {
		switch f.name {
		case "releases":
		case "policies":
			add(f.v.Err()) // rules may be incomplete
		default:
			add(f.v.Validate(cue.Concrete(true)))
		}
	}
	e.releases(v, func(name string, release cue.Value) {
		if !slices.Contains(unselected, name) {
			add(release.Validate(cue.Concrete(true)))
		}
	})
	for _, d := range diag.CUEFaults(e.root, all, v) {
		known := slices.ContainsFunc(faults, func(f *diag.Diag) bool { return f.Path == d.Path })
		if isOfRelease(d, unselected) || !known { // the cause of a consequence was removed
			faults.Add(d)
		}
	}
	return faults
}
