package main

import (
	"strings"
	"testing"
)

type lspSymbol struct {
	Name, Detail string
	Kind         int
	Range        struct{ Start, End struct{ Line, Character int } }
	Children     []lspSymbol
}

func symbolTree(symbols []lspSymbol, indent string) string {
	var b strings.Builder
	for _, s := range symbols {
		b.WriteString(strings.TrimRight(indent+s.Name+" "+s.Detail, " ") + "\n" + symbolTree(s.Children, indent+"  "))
	}
	return b.String()
}

// The symbols of a file are its releases, the cluster, stages and policies, also in a file
// with a syntax error.
func TestLSPSymbols(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	root := "environments/fleet.cue"
	for text, want := range map[string]string{
		s.texts[root]: "cluster\nenvironment\nreleases\nweb release\n  namespace \"web\"\n  chart\n    path \"charts/web\"\n  defaults\n    root\n" +
			"      replicas 2\n      password \"hunter2-hunter2\"\n  plaintext\n    Secret/web \"a test\"\n",
		"package fleet\n\nstages: [{name: \"base\"}, {name: \"apps\"}]\npolicies: p: {a: 1}\nif x {cluster: name: \"a\"}\nreleases: {a: {}, b: {x: [1]}}\nreleases: c: {\n": "stages\n  base\n  apps\n" +
			"p policy\n  a 1\ncluster\n  name \"a\"\na release\nb release\n  x\nc release\n",
		"": "",
	} {
		s.edit(root, text)
		var got []lspSymbol
		s.ask("textDocument/documentSymbol", s.at(root, text[:min(len(text), 1)]), &got)
		if tree := symbolTree(got, ""); tree != want {
			t.Errorf("the symbols of %q are\n%s\nwant\n%s", text, tree, want)
		}
	}
}
