package unify

import "testing"

// A value that fits no alternative of a field with a default does not conflict with the default.
func TestFaultOfDefault(t *testing.T) {
	_, err := cluster(t, `
-- root.cue --
releases: [string]: {namespace: "n", objects: [#cm]}
releases: web: values: replicas: *2 | int & >=1
releases: web: values: size: *"small" | =~"^[a-z]+$"
-- eu.cue --
releases: web: values: replicas: 0
releases: web: values: size: "X"
`)
	const want = `environments/prod/eu/fleet.cue:2:34: releases.web.values.replicas: invalid value 0: it must be >=1 [FL1201]
    environments/fleet.cue:3:45: and here
    hint: change the value, or the rule
    in prod/eu
environments/prod/eu/fleet.cue:3:30: releases.web.values.size: invalid value "X": it must match "^[a-z]+$" [FL1211]
    environments/fleet.cue:4:41: and here
    environments/fleet.cue:4:30: and here
    hint: change the value, or the rule
    in prod/eu
`
	if got := text(err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
