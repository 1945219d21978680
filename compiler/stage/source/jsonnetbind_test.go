package source

import "testing"

func TestBindFaults(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{"function(params,\n  clster) []", `a.jsonnet:2:3: releases.app: the parameter clster of the file's function has no value [FL1402]
    environments/fleet.cue:7:2: and here
    hint: did you mean cluster?
`},
		{"local main(params, x) = []; main", `a.jsonnet:1:20: releases.app: the parameter x of the file's function has no value [FL1402]
    environments/fleet.cue:7:2: and here
    hint: write params.x, or remove params: then each value has a parameter
`},
		{"function(cluster, host, replicas) []", `environments/fleet.cue:7:2: releases.app.values.image: no such value: the file's function has no parameter image [FL1402]
    a.jsonnet:1:1: and here
    hint: use one of host, replicas
`},
		{"function(hots, image, replicas) []", `environments/fleet.cue:7:2: releases.app.values.host: no such value: the file's function has no parameter host [FL1402]
    a.jsonnet:1:1: and here
    hint: did you mean hots?
`},
		{"function(host, image, replicas, size) []", `environments/fleet.cue:7:2: releases.app: the parameter size of the file's function has no value [FL1402]
    a.jsonnet:1:33: and here
    hint: set releases.app.values.size, or give the parameter a default
`},
		{"function() []", `environments/fleet.cue:7:2: releases.app.values.host: no such value: the file's function has no parameter host [FL1402]
    a.jsonnet:1:1: and here
    hint: add the parameter host, or params, which takes all values
environments/fleet.cue:7:2: releases.app.values.image: no such value: the file's function has no parameter image [FL1402]
    a.jsonnet:1:1: and here
    hint: add the parameter image, or params, which takes all values
environments/fleet.cue:7:2: releases.app.values.replicas: no such value: the file's function has no parameter replicas [FL1402]
    a.jsonnet:1:1: and here
    hint: add the parameter replicas, or params, which takes all values
`},
		{"{}", `a.jsonnet: releases.app: the file is not a function, but the release sets values [FL1402]
    environments/fleet.cue:7:2: and here
    hint: make it a function with a parameter for each value
`},
		{"local f(x) = function(params) []; f(1)", `a.jsonnet: releases.app: function has no parameter cluster [FL1401]
    environments/fleet.cue:7:2: and here
    hint: correct this line, or a value that it uses
`},
		{"import 'b.jsonnet'", `environments/fleet.cue:7:2: releases.app: the parameter x of the file's function has no value [FL1402]
    b.jsonnet:1:33: and here
    hint: set releases.app.values.x, or give the parameter a default
`},
		{"import 'c.jsonnet'", `a.jsonnet:1:1: releases.app: "c.jsonnet" is not there [FL1405]
    environments/fleet.cue:7:2: and here
    hint: add c.jsonnet or vendor/c.jsonnet
`},
		{"import 'a.jsonnet'", `a.jsonnet:1:1: releases.app: calls nest more than 500 deep [FL1407]
    environments/fleet.cue:7:2: and here
    hint: look for an endless recursion
`},
		{"local a = b, b = a; a", `a.jsonnet:1:11: releases.app: calls nest more than 500 deep [FL1407]
    environments/fleet.cue:7:2: and here
    hint: look for an endless recursion
`},
	} {
		r := rendererOf(t, "-- a.jsonnet --\n"+test.file+"\n-- b.jsonnet --\nfunction(host, image, replicas, x) []\n")
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
	want := `environments/fleet.cue:7:2: releases.app.values.a.id: Jsonnet cannot represent the number 9007199254740993 exactly: its integers end at 2^53 [FL1401]
    hint: make it a string
`
	if got := textOfFaults(t, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
