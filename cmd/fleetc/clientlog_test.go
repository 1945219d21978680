package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// The log of the Kubernetes client is not printed. It would be among the lines of JSON of
// drift --serve.
func TestClientLog(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("{")) // the client logs an unexpected EOF
	}))
	defer server.Close()
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		"cue.mod/module.cue":           "module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/dev/cluster.cue": "package fleet\n\ncluster: {name: \"dev\", kubernetes: \"1.36\", context: \"dev\"}\n",
		"kubeconfig":                   `{"clusters": [{"name": "dev", "cluster": {"server": "` + server.URL + `"}}], "contexts": [{"name": "dev", "context": {"cluster": "dev"}}]}`,
	})
	cmd := exec.CommandContext(t.Context(), "fleetc", "-C", dir, "drift", "--check-timeout", "2s")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(dir, "kubeconfig"))
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || strings.Contains(text, "request.go") || !strings.Contains(text, "[FL2101]") {
		t.Errorf("%v, %s", err, out)
	}
}
