package jsonnet

import "testing"

func TestBindFaults(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{"function(params,\n  clster) []", `a.jsonnet:2:3: releases.app: the file's function has a parameter clster, which nothing sets
    environments/fleet.cue:7:2: and here
    hint: did you mean cluster?
`},
		{"local main(params, x) = []; main", `a.jsonnet:1:20: releases.app: the file's function has a parameter x, which nothing sets
    environments/fleet.cue:7:2: and here
    hint: use one of params, cluster, release
`},
		{"function(cluster) []", `a.jsonnet: releases.app: the file's function has no parameter params, and the release sets values for it
    environments/fleet.cue:7:2: and here
    hint: make it function(params, cluster)
`},
		{"{}", `a.jsonnet: releases.app: the file is no function, and the release sets values for it
    environments/fleet.cue:7:2: and here
    hint: make it function(params, cluster)
`},
		{"local f(x) = function(params) []; f(1)", `a.jsonnet: releases.app: function has no parameter cluster
    environments/fleet.cue:7:2: and here
`},
		{"import 'b.jsonnet'", `b.jsonnet:1:10: releases.app: the file's function has a parameter x, which nothing sets
    environments/fleet.cue:7:2: and here
    hint: use one of params, cluster, release
`},
		{"import 'c.jsonnet'", `a.jsonnet:1:1: releases.app: "c.jsonnet" is not there
    environments/fleet.cue:7:2: and here
    hint: add c.jsonnet or vendor/c.jsonnet
`},
		{"import 'a.jsonnet'", `a.jsonnet:1:1: releases.app: calls nest more than 500 deep
    environments/fleet.cue:7:2: and here
    hint: look for what uses itself without end
`},
		{"local a = b, b = a; a", `a.jsonnet:1:11: releases.app: calls nest more than 500 deep
    environments/fleet.cue:7:2: and here
    hint: look for what uses itself without end
`},
	} {
		r := rendererOf(t, "-- a.jsonnet --\n"+test.file+"\n-- b.jsonnet --\nfunction(x) []\n")
		_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
		if got := textOfFaults(t, err); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.file, got, test.want)
		}
	}
}

func TestInexactValues(t *testing.T) {
	r := rendererOf(t, "-- a.jsonnet --\nfunction(params) []\n")
	req := requestOf("a.jsonnet")
	req.Params = map[string]any{"a": map[string]any{"id": int64(9007199254740993)}}
	_, err := r.Render(t.Context(), req)
	want := `environments/fleet.cue:7:2: releases.app.values.a.id: Jsonnet has no number 9007199254740993: its integers end at 2^53
    hint: make it a string
`
	if got := textOfFaults(t, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
