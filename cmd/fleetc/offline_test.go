package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// TestOfflineModules checks that CUE does not fetch modules with --offline, or to complete
// arguments.
func TestOfflineModules(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		"cue.mod/module.cue":           "module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\ndeps: \"example.org/stacks@v0\": v: \"v0.1.0\"\n",
		"environments/dev/cluster.cue": "package fleet\n\nimport \"example.org/stacks@v0:stacks\"\n\ncluster: {name: \"dev\", kubernetes: \"1.36\", labels: x: stacks.x}\n",
	})
	for _, offline := range []bool{false, true} {
		requests.Store(0)
		args := []string{"-C", dir, "--cache-dir", t.TempDir(), "vet"}
		if offline {
			args = append(args, "--offline")
		}
		cmd := exec.CommandContext(t.Context(), "fleetc", args...)
		cmd.Env = append(os.Environ(), "CUE_REGISTRY="+strings.TrimPrefix(server.URL, "http://"), "CUE_CACHE_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "cannot fetch the module example.org/stacks@v0.1.0") {
			t.Errorf("offline %t: %v, %s", offline, err, out)
		}
		if (requests.Load() == 0) != offline {
			t.Errorf("offline %t: %d requests", offline, requests.Load())
		}
	}
	requests.Store(0)
	cmd := exec.CommandContext(t.Context(), "fleetc", "__complete", "-C", dir, "--cache-dir", t.TempDir(), "vet", "")
	cmd.Env = append(os.Environ(), "CUE_REGISTRY="+strings.TrimPrefix(server.URL, "http://"), "CUE_CACHE_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || requests.Load() > 0 {
		t.Errorf("completion: %v, %d requests, %s", err, requests.Load(), out)
	}
}
