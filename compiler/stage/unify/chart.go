package unify

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A rawChart is the chart of a release in the form of schema.#Chart.
type rawChart struct {
	Path         string            `json:"path"`
	Repo         string            `json:"repo"`
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Digest       string            `json:"digest"`
	Schemas      map[string]string `json:"schemas"`
	Dependencies map[string]string `json:"dependencies"`
	Git          struct {
		URL  string `json:"url"`
		Ref  string `json:"ref"`
		Path string `json:"path"`
	} `json:"git"`
}

func (c rawChart) ref() fleet.ChartRef {
	if c.Git.URL != "" {
		c.Version = "" // the version only selects the commit
	}
	return fleet.ChartRef{
		Path: c.Path, Repo: c.Repo, Name: c.Name, Version: c.Version, Digest: c.Digest, Git: fleet.GitRef(c.Git),
		Schemas: fleet.NewDigests(c.Schemas), Dependencies: fleet.NewDigests(c.Dependencies),
	}
}

func isChart(chart cue.Value) bool {
	set := present(chart, "path", "repo", "name", "version", "git", "digest")
	forms := [][]string{{"path"}, {"repo", "name", "version", "digest"}, {"git", "digest"}, {"version", "git", "digest"}}
	return slices.ContainsFunc(forms, func(want []string) bool { return slices.Equal(set, want) })
}

// pinPos returns the position of the first concrete field that pins a chart.
func (e *evaluation) pinPos(chart cue.Value) diag.Pos {
	for _, field := range []string{"digest", "path"} {
		for _, c := range cuediag.Conjuncts(lookup(chart, field)) {
			if p := cuediag.Pos(e.root, labelPos(c)); c.IsConcrete() && p.IsValid() {
				return p
			}
		}
	}
	return e.fieldPos(chart)
}
