package unify

import (
	"fmt"
	"slices"
	"testing"
)

func TestDepends(t *testing.T) {
	c, err := cluster(t, `
-- root.cue --
stages: [{name: "base"}, {name: "apps"}]
releases: [string]: {namespace: "n", objects: [#cm]}
releases: crds: stage: "base"
releases: db: depends: crds: true
releases: cache: {}
releases: web: depends: {db: true, cache: *true | bool}
releases: api: depends: web: true
releases: gone: {clusters: ids: ["dev"], depends: nothing: true}
-- prod.cue --
releases: api: depends: {db: true, web: true}
-- eu.cue --
releases: web: depends: cache: false
`)
	if err != nil {
		t.Fatal(text(err))
	}
	var got []string
	for _, r := range c.Releases {
		got = append(got, fmt.Sprintln(r.Name, r.Stage, r.Level, r.Depends))
	}
	want := []string{"api apps 2 [db web]\n", "cache apps 0 []\n", "crds base 0 []\n", "db apps 0 [crds]\n", "web apps 1 [db]\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A release of an unknown stage is one fault, also when it depends on other releases.
func TestDependsUnknownStage(t *testing.T) {
	_, err := cluster(t, `
-- root.cue --
stages: [{name: "base"}, {name: "apps"}]
releases: [string]: {namespace: "n", objects: [#cm]}
releases: db: stage: "base"
releases: web: {stage: "aps", depends: db: true}
`)
	const want = `environments/fleet.cue:5:24: releases.web.stage: no stage is called aps [FL1109]
    hint: did you mean apps?
    in prod/eu
`
	if got := text(err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDependsFaults(t *testing.T) {
	_, err := cluster(t, `
-- root.cue --
stages: [{name: "base"}, {name: "apps"}]
releases: [string]: {namespace: "n", objects: [#cm]}
releases: crds: {stage: "base", depends: web: true}
releases: db: depends: bd: true
releases: web: depends: {web: true, gone: true, off: false}
releases: gone: clusters: ids: ["dev"]
releases: a: depends: b: true
releases: b: depends: {db: true, c: true}
-- prod.cue --
releases: c: depends: a: true
releases: d: depends: a: true
releases: x: depends: y: true
releases: y: depends: x: true
-- eu.cue --
releases: d: depends: b: true
`)
	const want = `
environments/fleet.cue:4:42: releases.crds.depends.web: release web is applied later: its stage apps comes after base, the stage of release crds [FL1110]
    environments/fleet.cue:6:11: and here
    hint: move release web to stage base or an earlier one
    in prod/eu
environments/fleet.cue:5:24: releases.db.depends.bd: this cluster has no release called bd [FL1110]
    hint: did you mean b?
    in prod/eu
environments/fleet.cue:6:26: releases.web.depends.web: a release cannot depend on itself [FL1110]
    hint: remove the line
    in prod/eu
environments/fleet.cue:6:37: releases.web.depends.gone: release gone is not on this cluster: its clusters field excludes the cluster [FL1110]
    environments/fleet.cue:7:17: and here
    hint: add the cluster to releases.gone.clusters, or remove the line for this cluster
    in prod/eu
environments/fleet.cue:8:23: releases.a.depends: these releases wait for each other: a depends on b, b depends on c, c depends on a [FL1110]
    environments/fleet.cue:9:34: and here
    environments/prod/fleet.cue:2:23: and here
    hint: remove one of these lines: none of the releases can be applied first
    in prod/eu
environments/prod/fleet.cue:4:23: releases.x.depends: these releases wait for each other: x depends on y, y depends on x [FL1110]
    environments/prod/fleet.cue:5:23: and here
    hint: remove one of these lines: none of the releases can be applied first
    in prod/eu
`
	if got := "\n" + text(err); got != want {
		t.Errorf("faults:%s\nwant:%s", got, want)
	}
}

// TestDependsList checks the fault for dependencies that are written as a
// list.
func TestDependsList(t *testing.T) {
	_, err := cluster(t, `
-- root.cue --
releases: db: {namespace: "n", objects: [#cm]}
releases: web: {namespace: "n", objects: [#cm], depends: ["db"]}
releases: api: {namespace: "n", objects: [#cm], depends: db: "yes"}
`)
	const want = `
environments/fleet.cue:3:58: releases.web.depends: depends must be a map, not a list: layers cannot add to a list [FL1203]
    hint: write depends: "NAME": true for each release
    in prod/eu
environments/fleet.cue:4:62: releases.api.depends.db: "yes" is a string, and must be a bool [FL1203]
    environments/a.cue:5:15: and here
    hint: write true or false
    in prod/eu
`
	if got := "\n" + text(err); got != want {
		t.Errorf("faults:%s\nwant:%s", got, want)
	}
}
