package unify

import "testing"

// A misspelt release without a namespace is the only fault, also when fields of another
// release have the names of all namespaces.
func TestMisspeltInFieldName(t *testing.T) {
	_, err := cluster(t, `
-- root.cue --
releases: web: {namespace: "n", objects: [#cm]}
#namespaces: {for r in releases {(r.namespace): true}}
releases: spaces: {namespace: "n", objects: [#cm & {data: {for n, _ in #namespaces {(n): "x"}}}]}
releases: wbe: values: a: 1
`)
	const want = `
environments/fleet.cue:5:11: releases.wbe: no layer sets a chart or another source for this release [FL1107]
    hint: did you mean web?
    in prod/eu
`
	if got := "\n" + text(err); got != want {
		t.Errorf("faults:%s\nwant:%s", got, want)
	}
}
