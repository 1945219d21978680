package main

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// The initialization of packages collects no garbage: package memory comes before those
// that allocate most.
func TestNoCollectionAtStart(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "fleetc", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=", "GOMEMLIMIT=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "fleetc") || strings.Contains(string(out), "gc 1 @") {
		t.Errorf("%v, %s", err, out)
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	setting := func(kv ...string) (out []debug.BuildSetting) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return out
	}
	for name, test := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"checkout":         {debug.BuildInfo{Settings: setting("vcs.revision", "8c7cb26a", "vcs.modified", "false", "vcs.time", "2026-11-26T15:57:00Z")}, "8c7cb26a"},
		"changed checkout": {debug.BuildInfo{Settings: setting("vcs.revision", "8c7cb26a", "vcs.modified", "true")}, "8c7cb26a+dirty"},
		"go install":       {debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261126155700-8c7cb26a0123"}}, "8c7cb26a0123"},
		"after a release":  {debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261126155700-8c7cb26a0123"}}, "8c7cb26a0123"},
		"released":         {debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, ""},
		"candidate":        {debug.BuildInfo{Main: debug.Module{Version: "v1.2.3-rc.1"}}, ""},
		"without git":      {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, ""},
	} {
		if got := commit(&test.info); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
