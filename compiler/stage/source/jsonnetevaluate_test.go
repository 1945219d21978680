package source

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestJsonnetLimits has endless and expensive evaluations.
func TestJsonnetLimits(t *testing.T) {
	for _, test := range []struct {
		name, file, want string
		set              func(r *JsonnetRenderer)
	}{
		{"a function that calls itself", "local f(x) =\n  f(x) + 1;\nfunction(params) f(1)", `a.jsonnet:2:3: releases.app: calls nest more than 500 deep [FL1407]
    environments/fleet.cue:7:2: and here
    a.jsonnet:3:18: and here
    hint: look for an endless recursion
`, nil},
		{"a function that calls itself last", "local f(x) =\n  f(x) tailstrict;\nfunction(params) f(1)", `a.jsonnet:2:3: releases.app: expressions nest more than 100000 deep [FL1407]
    environments/fleet.cue:7:2: and here
    hint: look for an endless recursion, a large std.range, std.repeat or std.makeArray, or a value with many references to itself
`, nil},
		{"a field that is itself", "function(params) {a: self.b, b: self.a}", `a.jsonnet:1:22: releases.app: calls nest more than 500 deep [FL1407]
    environments/fleet.cue:7:2: and here
    hint: look for an endless recursion
`, nil},
		{"many steps", "function(params)\n  std.foldl(function(a, b)\n    a + b, std.range(1, 100000), 0)", `a.jsonnet:3:5: releases.app: the evaluation takes more than 100000 steps [FL1407]
    environments/fleet.cue:7:2: and here
    hint: look for an endless recursion, a large std.range, std.repeat or std.makeArray, or a value with many references to itself
`, func(r *JsonnetRenderer) { r.MaxSteps = 100_000 }},
		{"a long time", "local f(x) = if x == 0 then 0 else f(x - 1) + f(x - 1);\nfunction(params) f(100)", `a.jsonnet:: releases.app: the evaluation takes longer than 100ms [FL1407]
    environments/fleet.cue:7:2: and here
    hint: look for an endless recursion, a large std.range, std.repeat or std.makeArray, or a value with many references to itself
`, func(r *JsonnetRenderer) { r.MaxTime = 100 * time.Millisecond; r.MaxSteps = 1 << 62 }},
		// Many small steps, since a built-in function cannot be interrupted.
		{"much memory", "local grow(a, n) = std.foldl(function(a, i) [a, i], std.range(1, n), a);\nfunction(params) std.length(std.foldl(function(a, i) grow(a, 1000), std.range(1, 1000000), []))", `a.jsonnet:: releases.app: the evaluation takes more than 64 MiB of memory [FL1407]
    environments/fleet.cue:7:2: and here
    hint: look for an endless recursion, a large std.range, std.repeat or std.makeArray, or a value with many references to itself
`, func(r *JsonnetRenderer) { r.MaxMemory = 64 << 20; r.MaxSteps = 1 << 62 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rendererOf(t, "-- a.jsonnet --\n"+test.file+"\n")
			if test.set != nil {
				test.set(r)
			}
			_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
			got, want := textOfFaults(t, err), test.want
			if strings.HasPrefix(want, "a.jsonnet::") {
				// The position of the interruption varies.
				_, got, _ = strings.Cut(got, ": ")
				_, want, _ = strings.Cut(want, ": ")
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			// The renderer can be used again.
			write(t, r.Dir+"/b.jsonnet", []byte("function(params) {apiVersion: 'v1', kind: 'A'}"))
			r.MaxSteps, r.MaxTime = 0, 0
			if got, err := r.Render(t.Context(), requestOf("b.jsonnet")); err != nil || len(got.Objects) != 1 {
				t.Errorf("the next render returns %v, %v", got, err)
			}
		})
	}
}

func TestJsonnetCancel(t *testing.T) {
	r := rendererOf(t, "-- a.jsonnet --\nlocal f(x) = if x == 0 then 0 else f(x - 1) + f(x - 1);\nlocal chart = std.native('helmTemplate')('a', 'b', {});\nfunction(params) std.length(chart) + f(100)\n")
	r.MaxSteps = 1 << 62
	ctx, cancel := context.WithCancel(t.Context())
	req := requestOf("a.jsonnet")
	req.HelmTemplate = func(context.Context, HelmCall) ([]fleet.Object, error) {
		cancel()
		return nil, nil
	}
	if _, err := r.Render(ctx, req); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// runaway evaluates for hours in one built-in function: it compares two values
// that are small in memory, but large when expanded.
const runaway = `
local d(n) = if n == 0 then [1] else local half = d(n - 1), both = [half, half];
  if std.isArray(both[0]) && std.isArray(both[1]) then both;
function(params) if d(45) == d(45) then {} else []
`

// TestRunaway renders in a child process, since the evaluation continues until
// the process ends.
func TestRunaway(t *testing.T) {
	if dir := os.Getenv("JSONNET_TEST_RUNAWAY"); dir != "" {
		r := &JsonnetRenderer{Dir: dir, MaxTime: 500 * time.Millisecond}
		_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
		if !errors.Is(err, diag.ErrRunaway) {
			t.Fatalf("got %v", err)
		}
		const want = "a.jsonnet: releases.app: the evaluation takes longer than 500ms, and does not stop"
		if err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		return
	}
	r := rendererOf(t, "-- a.jsonnet --\n"+runaway)
	cmd := exec.Command(os.Args[0], "-test.run=^TestRunaway$")
	cmd.Env = append(os.Environ(), "JSONNET_TEST_RUNAWAY="+r.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
