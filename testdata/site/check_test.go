package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckSite checks that dead links, dead anchors and files of other sites are faults.
func TestCheckSite(t *testing.T) {
	const page = `<html><body><h2 id="here">Here</h2>`
	for _, c := range []struct {
		name, link, want string // want is part of the fault; empty for none
	}{
		{"page", `<a href="/v1/b.html">b</a>`, ""},
		{"page without extension", `<a href="/v1/b#here">b</a>`, ""},
		{"relative page", `<a href="./b.html#here">b</a>`, ""},
		{"start page", `<a href="/v1/">start</a>`, ""},
		{"anchor", `<a href="#here">here</a>`, ""},
		{"other site", `<a href="https://example.com/x">x</a>`, ""},
		{"other version", `<a href="/v0/gone.html">v0</a>`, ""},
		{"picture", `<img src="/v1/a.png">`, ""},
		{"embedded picture", `<img src="data:,">`, ""},
		{"dead page", `<a href="/v1/gone.html">gone</a>`, `a.html: "/v1/gone.html": the page does not exist`},
		{"dead anchor", `<a href="#gone">gone</a>`, `a.html: "#gone": a.html has no such heading`},
		{"dead anchor of a page", `<a href="/v1/b.html#gone">gone</a>`, `b.html has no such heading`},
		{"dead picture", `<img src="/v1/gone.png">`, "the page does not exist"},
		{"script of another site", `<script src="https://example.com/x.js"></script>`, "loads https://example.com/x.js"},
		{"style of another site", `<link rel="stylesheet" href="//example.com/x.css">`, "loads //example.com/x.css"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"index.html": page, "a.html": page + c.link, "b.html": page, "a.png": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := checkSite(dir, "/v1/")
			switch {
			case c.want == "" && err != nil:
				t.Errorf("unexpected fault: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if err := checkSite(t.TempDir(), "/"); err == nil {
		t.Error("a site without pages has no fault")
	}
}

// TestRewrite checks which links of a page change.
func TestRewrite(t *testing.T) {
	t.Chdir("../..")
	r := rewriter{file: "docs/layers.md", names: map[string]string{"docs/charts.md": "charts", "README.md": "index"}, version: "v1.2.0"}
	for text, want := range map[string]string{
		"[a](charts.md#pin)":            "[a](./charts.md#pin)",
		"[a](../README.md)":             "[a](./index.md)",
		"[a](#here)":                    "[a](#here)",
		"[a](https://example.com/a)":    "[a](https://example.com/a)",
		"[a](../schema/config.cue)":     "[a](" + repository + "/blob/v1.2.0/schema/config.cue)",
		"![a](pictures/report.png)":     "![a](./pictures/report.png)",
		"```cue\n[a](charts.md)\n```\n": "```cue\n[a](charts.md)\n```\n",
	} {
		if got := r.rewrite(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	if len(r.faults) > 0 {
		t.Errorf("unexpected faults: %v", r.faults)
	}
	r.rewrite("[a](gone.md)")
	if len(r.faults) != 1 {
		t.Errorf("%d faults for a dead link", len(r.faults))
	}
}

// TestNavigation checks that each page is in the navigation, and that links between the
// pages are valid.
func TestNavigation(t *testing.T) {
	t.Chdir("../..")
	b := builder{version: "main"}
	pages, err := b.pages()
	if err != nil {
		t.Fatal(err)
	}
	pages["commands"] = "# Commands"
	if pages["schema"], err = schemaReference(); err != nil {
		t.Fatal(err)
	}
	if _, err := readNavigation(pages); err != nil {
		t.Error(err)
	}
	pages["new"] = "# New"
	if _, err := readNavigation(pages); err == nil || !strings.Contains(err.Error(), "add to site/navigation.json: new") {
		t.Errorf("a page outside the navigation: %v", err)
	}
}

// TestSchemaReference checks parts of the reference of the schema.
func TestSchemaReference(t *testing.T) {
	page, err := schemaReference()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n## #Release\n", "\n### `#Release.namespace`\n\nRequired. namespace is", "\n### `#Flux.source.kind`\n",
		"```cue\ndepends: \"database\": true\n```\n", "See [#ClusterSelector](#clusterselector).", "It also has the fields of [#SecretSource](#secretsource).",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(page, "\n## #Config\n"); n != 1 {
		t.Errorf("#Config is described %d times", n)
	}
}

func TestCodeIndex(t *testing.T) {
	pages := pageSet{"codes": "# One\nFL1001 First\nFL1002 No page\n\n# Empty\nFL1101 No page\n# Two\nFL1201 Last\n", "FL1001": "x", "FL1201": "y"}
	got := codeIndex(pages)
	want := "\n## One\n\n- [FL1001](./FL1001.md): First\n\n## Two\n\n- [FL1201](./FL1201.md): Last\n"
	if !strings.HasPrefix(got, "# Fault codes\n") || !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
}
