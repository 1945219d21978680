package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creachadair/jrpc2/channel"
)

// hints returns the inlay hints of a file as LINE:COLUMN LABEL (TOOLTIP), from 1.
func (s *lspSession) hints(name string, from, to int) string {
	s.Helper()
	var result []struct {
		Position       struct{ Line, Character int }
		Label, Tooltip string
	}
	params := s.at(name, "p")
	params["range"] = map[string]any{"start": map[string]any{"line": from, "character": 0}, "end": map[string]any{"line": to, "character": 0}}
	s.ask("textDocument/inlayHint", params, &result)
	var out []string
	for _, h := range result {
		out = append(out, fmt.Sprintf("%d:%d %s (%s)", h.Position.Line+1, h.Position.Character+1, h.Label, h.Tooltip))
	}
	return strings.Join(out, "\n")
}

// A line that lower layers override has a hint with the number of clusters, and a line without
// effect has a hint that says so.
func TestLSPInlayHints(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	root, prod, two := "environments/fleet.cue", "environments/prod/env.cue", "environments/prod/two/cluster.cue"
	s.edit(root, s.texts[root])
	s.edit(prod, s.texts[prod])
	if got, want := s.hints(root, 0, 100), "12:14 overridden in 2 of 4 clusters (overridden by environments/prod/one/cluster.cue:4\noverridden by environments/prod/env.cue:4)"; got != want {
		t.Errorf("the hints are\n%s\nwant\n%s", got, want)
	}
	if got, want := s.hints(prod, 0, 100), "4:43 overridden in 1 of 2 clusters (overridden by environments/prod/one/cluster.cue:4)"; got != want {
		t.Errorf("the hints are\n%s\nwant\n%s", got, want)
	}
	if got := s.hints(root, 0, 5); got != "" {
		t.Errorf("the hints of other lines are\n%s", got)
	}
	s.edit(two, s.texts[two]+"releases: web: {defaults: two: replicas: 7, overridden: prod: replicas: \"a test\"}\n")
	if len(s.faults) > 0 {
		t.Fatalf("the fleet has faults: %v", s.all())
	}
	if got, want := s.hints(prod, 0, 100), "4:43 no effect: overridden in all 2 clusters (overridden by environments/prod/one/cluster.cue:4\noverridden by environments/prod/two/cluster.cue:4)"; got != want {
		t.Errorf("the hints are\n%s\nwant\n%s", got, want)
	}
}

// A release has a lens with its chart and clusters.
func TestLSPCodeLens(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	for name, want := range map[string]string{
		"environments/fleet.cue":           "8:11 charts/web 1.2.3 · 4 of 4 clusters",
		"environments/prod/env.cue":        "4:11 charts/web 1.2.3 · 2 of 2 clusters",
		"environments/dev/one/cluster.cue": "4:11 charts/web 1.2.3 · dev/one",
		"environments/dev/env.cue":         "",
	} {
		s.edit(name, s.texts[name])
		var result []struct {
			Range   struct{ Start struct{ Line, Character int } }
			Command struct{ Title, Command string }
		}
		s.ask("textDocument/codeLens", s.at(name, "p"), &result)
		var out []string
		for _, l := range result {
			out = append(out, fmt.Sprintf("%d:%d %s", l.Range.Start.Line+1, l.Range.Start.Character+1, l.Command.Title))
		}
		if got := strings.Join(out, "\n"); got != want {
			t.Errorf("the lenses of %s are %q, want %q", name, got, want)
		}
	}
}

// After a check, the server asks clients that support it to refresh hints and lenses.
func TestLSPRefresh(t *testing.T) {
	dir := lspDir(t)
	cmd := exec.Command("fleetc", "--offline", "--cache-dir", t.TempDir(), "lsp")
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ch := channel.LSP(out, in)
	refresh := `{"refreshSupport": true}`
	for _, message := range []string{
		`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {"workspace": {"inlayHint": ` + refresh + `, "codeLens": ` + refresh + `}}}}`,
		fmt.Sprintf(`{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file://%s", "text": "package fleet"}}}`, filepath.Join(dir, "environments/dev/env.cue")),
	} {
		if err := ch.Send([]byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	missing := []string{"workspace/inlayHint/refresh", "workspace/codeLens/refresh"}
	for len(missing) > 0 {
		data, err := ch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		missing = slices.DeleteFunc(missing, func(method string) bool { return strings.Contains(string(data), method) })
	}
}
