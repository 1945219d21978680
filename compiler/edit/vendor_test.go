package edit

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// TestVerifyInterrupted checks that an interrupted comparison does not list a chart as
// one that differs.
func TestVerifyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	defer server.Close()
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		"cue.mod/module.cue":           "module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/dev/cluster.cue": "package fleet\n\ncluster: {name: \"dev\", kubernetes: \"1.36\"}\nreleases: web: {namespace: \"web\", chart: {repo: \"" + server.URL + "\", name: \"web\", version: \"1.0.0\", digest: \"sha256:" + strings.Repeat("0", 64) + "\"}}\n",
	})
	charts, err := VerifyCharts(ctx, &compiler.Compiler{Dir: dir, Cache: t.TempDir()})
	if charts != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", charts, err)
	}
}
