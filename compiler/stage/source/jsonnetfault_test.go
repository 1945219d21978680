package source

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

func TestJsonnetFaults(t *testing.T) {
	for _, test := range []struct{ name, files, want string }{
		{"a field of params", "function(params)\n  params.image.nmae", `a.jsonnet:2:3: releases.app: there is no field nmae [FL1401]
    environments/fleet.cue:7:2: and here
    hint: did you mean name?
`},
		{"a field of what is no object", "function(params)\n  params.replicas.name", `a.jsonnet:2:3: releases.app: a number has no fields or elements [FL1401]
    environments/fleet.cue:7:2: and here
    hint: correct what is before the dot or the bracket: it must be an object, a list or a string
`},
		{"a function of the standard library", "function(params)\n  std.lenght('x')", `a.jsonnet:2:3: releases.app: there is no field lenght [FL1401]
    environments/fleet.cue:7:2: and here
    hint: did you mean length?
`},
		{"a function of the library", "local k = import 'fleetc.libsonnet';\nfunction(params)\n  k.deploymnet('x', [])", `a.jsonnet:3:3: releases.app: there is no field deploymnet [FL1401]
    environments/fleet.cue:7:2: and here
    hint: did you mean deployment?
`},
		{"what the library is called with", "local k = import 'fleetc.libsonnet';\nfunction(params)\n  k.serviceFor({ metdata: { name: 'x' } })", `a.jsonnet: releases.app: .metadata.labels["app.kubernetes.io/name"]: there is no field metadata [FL1401]
    environments/fleet.cue:7:2: and here
    hint: did you mean metdata?
`},
		{"a field of another file", "local l = import 'l.libsonnet';\nfunction(params)\n  l.make({nam: 1})\n-- l.libsonnet --\n{\n  make(o):: o.name,\n  name:: 1,\n}", `l.libsonnet:2:13: releases.app: there is no field name [FL1401]
    environments/fleet.cue:7:2: and here
    a.jsonnet:3:3: and here
    hint: did you mean nam?
`},
		{"a vendored library", "local l = import 'l.libsonnet';\nlocal f(x) =\n  l.make(x);\nfunction(params)\n  f({})\n-- vendor/l.libsonnet --\n{\n  make(o):: assert std.objectHas(o, 'x') : 'make takes x'; o\n}", `a.jsonnet:3:3: releases.app: make takes x [FL1401]
    environments/fleet.cue:7:2: and here
    vendor/l.libsonnet:2:13: and here
    a.jsonnet:5:3: and here
    hint: correct the value that the file rejects
`},
		{"an error of the user's", "function(params)\n  error 'Set a Host.'", `a.jsonnet:2:3: releases.app: Set a Host [FL1401]
    environments/fleet.cue:7:2: and here
    hint: correct the value that the file rejects
`},
		{"control characters", "function(params)\n  error 'a\\u001b[2Jb\\nc'", "a.jsonnet:2:3: releases.app: a\uFFFD[2Jb [FL1401]\n    c\n    environments/fleet.cue:7:2: and here\n    hint: correct the value that the file rejects\n"},
		{"an assert of an object", "function(params)\n  {assert params.replicas > 2 : 'too few', apiVersion: 'v1', kind: 'A'}", `a.jsonnet:2:4: releases.app: too few [FL1401]
    environments/fleet.cue:7:2: and here
    hint: correct the value that the file rejects
`},
		{"a variable", "function(params)\n  local replicas = 1; replcas", `a.jsonnet:2:23: releases.app: there is no variable replcas [FL1401]
    environments/fleet.cue:7:2: and here
    hint: did you mean replicas?
`},
		{"a file that does not parse", "function(params)\n  import 'b.libsonnet'\n-- b.libsonnet --\n{\n  a: 1\n  b: 2\n}", `b.libsonnet:3:3: releases.app: expected a comma before next field [FL1401]
    environments/fleet.cue:7:2: and here
    hint: correct the syntax here, or in the line above it
`},
		{"a range of lines that does not parse", "function(params)\n  import ('a' +\n    'b')", `a.jsonnet:2:10: releases.app: computed imports are not allowed [FL1401]
    environments/fleet.cue:7:2: and here
    hint: correct the syntax here, or in the line above it
`},
		{"an external variable", "function(params)\n  std.extVar('env')", `a.jsonnet:2:3: releases.app: there is no external variable env [FL1401]
    environments/fleet.cue:7:2: and here
    hint: take it from params or cluster
`},
		{"types", "function(params)\n  1 + {} - 2", `a.jsonnet:2:3: releases.app: unexpected type object, expected number [FL1401]
    environments/fleet.cue:7:2: and here
    hint: write a value of type number in this line, or correct a value that it uses
`},
		{"the standard library in the middle", "function(params)\n  std.map(function(x)\n    x.y, [{}])", `a.jsonnet:3:5: releases.app: there is no field y [FL1401]
    environments/fleet.cue:7:2: and here
    hint: correct the name, or read a field that may be missing with std.get
`},
		{"a vendored import that is not there", "function(params)\n  import 'github.com/grafana/jsonnet-libs/x.libsonnet'", `a.jsonnet:2:3: releases.app: "github.com/grafana/jsonnet-libs/x.libsonnet" is not there [FL1405]
    environments/fleet.cue:7:2: and here
    hint: run jb install, and commit the directory vendor
`},
		{"an own import that is not there", "function(params)\n  import './x.libsonnet'", `a.jsonnet:2:3: releases.app: "./x.libsonnet" is not there [FL1405]
    environments/fleet.cue:7:2: and here
    hint: add x.libsonnet
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rendererOf(t, "-- a.jsonnet --\n"+test.files+"\n")
			_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
			got := textOfFaults(t, err)
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			again := rendererOf(t, "-- a.jsonnet --\n"+test.files+"\n")
			if _, err := again.Render(t.Context(), requestOf("a.jsonnet")); textOfFaults(t, err) != got {
				t.Errorf("another time it is\n%s", textOfFaults(t, err))
			}
		})
	}
}

func TestLongMessage(t *testing.T) {
	r := rendererOf(t, "-- a.jsonnet --\nfunction(params) error std.repeat('x', 100000)\n")
	_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
	if got := textOfFaults(t, err); len(got) > 1200 || !strings.Contains(got, "x ... x") {
		t.Errorf("%d bytes: %s", len(got), got[:min(len(got), 300)])
	}
}

// FuzzRender tests that no text ends the process, and that faults do not
// mention Go.
func FuzzRender(f *testing.F) {
	for _, src := range []string{
		"function(params, cluster) {apiVersion: 'v1', kind: 'A', n: params.n}",
		"local f(x) = f(x) tailstrict; f(1)",
		"{a: importstr 'a.jsonnet', b: import '../x', c: importbin 'vendor'}",
		"std.native('parseYaml')('---\\na: [1') + std.native('manifestYaml')({a: self})",
		"|||\n  x\n|||[0:1]",
		"{assert false, [x]: $.y for x in ['a']}",
		"error {a: std.extVar('x')}",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "\n-- ") || strings.HasPrefix(src, "-- ") || len(src) > 2000 {
			return
		}
		r := rendererOf(t, string(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "a.jsonnet", Data: []byte(src)}}})))
		r.MaxSteps, r.MaxMemory = 200_000, 256<<20
		req := requestOf("a.jsonnet")
		req.Params = nil
		_, err := r.Render(t.Context(), req)
		got := ""
		if err != nil {
			got = textOfFaults(t, err)
		}
		for _, trace := range []string{"goroutine", "jsonnet.value", "runtime error", "INTERNAL", "RUNTIME", "CRASH"} {
			if strings.Contains(got, trace) && !strings.Contains(src, trace) {
				t.Errorf("%q: %s", src, got)
			}
		}
	})
}
