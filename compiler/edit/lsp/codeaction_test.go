package lsp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A fault has no actions after a change of its file, until the next check: its position may
// be that of another value.
func TestStaleActions(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"cue.mod", "environments"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "cue.mod", "module.cue"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "environments", "a.cue")
	s := &server{docs: map[string]*document{file: {uri: uriOf(file), text: "a: 1\nb: 2\n"}}, checkers: map[string]*checker{}}
	c := &checker{s: s, root: root, changed: map[string]bool{}, stale: map[string]bool{}, wake: make(chan struct{}, 1), cancel: func() {}}
	s.checkers[root] = c
	c.shown = diag.List{{
		At: []diag.Pos{{File: "environments/a.cue", Line: 2, Col: 4}}, Msg: "wrong", Fixes: []diag.Fix{{Kind: diag.FixValue, New: "3"}},
	}}
	actions := func() int {
		result, err := s.codeAction(t.Context(), codeActionParams{TextDocument: textDocument{URI: uriOf(file)}, Range: textRange{position{}, position{10, 0}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(result.([]codeAction)) //nolint:forcetypeassert // a test
	}
	if n := actions(); n != 1 {
		t.Errorf("%d actions", n)
	}
	change := didChangeParams{textDocument{URI: uriOf(file)}, []contentChange{{Range: &textRange{}, Text: "first: 5\n"}}}
	if err := s.didChange(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if n := actions(); n != 0 {
		t.Errorf("%d actions at the position of another value", n)
	}
}
