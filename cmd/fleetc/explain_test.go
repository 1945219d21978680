package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestExplainDocs checks that docs describe every field of explain -o json.
func TestExplainDocs(t *testing.T) {
	page := readPage(t, "docs/explain.md")
	at := diag.Pos{File: "a.cue", Line: 1, Col: 1}
	line := &fleet.Contribution{At: at, Chart: "chart", Layer: "layer", Path: "path", By: at, More: 1, From: []fleet.Source{{Contribution: &fleet.Contribution{}}}}
	data, err := json.Marshal(fleet.Explanation{
		Type: "type", Doc: "doc", Unselected: true, Layers: []fleet.LayerValue{{}}, Contributions: []*fleet.Contribution{line}, Leaves: []fleet.Leaf{{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(data), -1) {
		fields[m[1]] = true
		if !strings.Contains(page.text, "`"+m[1]+"`") {
			t.Errorf("docs/explain.md does not describe `%s`", m[1])
		}
	}
	if want := 22; len(fields) != want {
		t.Errorf("explain -o json has %d fields, want %d: %v", len(fields), want, fields)
	}
}
