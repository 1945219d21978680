package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// exampleCluster is the file of the only cluster in the fleet of the examples.
const exampleCluster = "package fleet\n\ncluster: {name: \"eu-1\", kubernetes: \"1.36\"}\n"

// withoutHint are the codes whose examples have no hint. Do not add one.
var withoutHint = []diag.Code{"FL3110"}

// TestCodeExamples runs the example of each fault code, as TestReadme runs the pages of
// docs. Each example starts with a new fleet that has one cluster, and provokes a fault
// with the code of the page. A page may name a script or an e2e test instead.
func TestCodeExamples(t *testing.T) {
	work := t.TempDir()
	fleet := filepath.Join(work, "fleet")
	if err := os.Mkdir(fleet, 0o755); err != nil {
		t.Fatal(err)
	}
	shell(t, work, fleet, "fleetc init example.com/infra")
	writeFile(t, fleet, "environments/prod/eu-1/cluster.cue", exampleCluster)
	for _, c := range diag.Codes() {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			p := readPage(t, "compiler/base/diag/codes/"+string(c)+".md")
			home := t.TempDir()
			dir := filepath.Join(home, "fleet")
			if err := os.CopyFS(dir, os.DirFS(fleet)); err != nil {
				t.Fatal(err)
			}
			p.follow(t, home, dir)
			if !*update && !p.shows(c) && !p.namesTest(t, c) {
				t.Errorf("the page has no command that ends with a fault [%s], and names no test with one", c)
			}
			if !*update && p.shows(c) && !strings.Contains(p.text, "    hint: ") && !slices.Contains(withoutHint, c) {
				t.Errorf("the fault [%s] of the page has no hint", c)
			}
		})
	}
}

// provoking matches the line of a page whose example needs a server or a cluster.
var provoking = regexp.MustCompile(`(?m)^A test provokes the fault: \[(.+)\]\(`)

// namesTest reports whether the page names a test that expects a fault with the code, in
// an output or in a pattern.
func (p page) namesTest(t *testing.T, c diag.Code) bool {
	t.Helper()
	m := provoking.FindStringSubmatch(p.text)
	if m == nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(m[1])))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(strings.ReplaceAll(string(text), `\`, ""), "["+string(c)+"]")
}

// shows reports whether a command of the page prints a fault with the code.
func (p page) shows(c diag.Code) bool {
	for _, b := range p.blocks {
		for _, line := range b.lines {
			if b.lang == "console" && strings.HasSuffix(line, " ["+string(c)+"]") {
				return true
			}
		}
	}
	return false
}
