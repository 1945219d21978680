package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

type lspItem struct {
	Label, Detail string
	Documentation *struct{ Value string }
	TextEdit      lspTextEdit
}

// complete returns the completions at the mark | of a text.
func (c *lspClient) complete(file, text string) []lspItem {
	c.Helper()
	before, after, _ := strings.Cut(text, "|")
	c.change(file, map[string]any{"text": before + after})
	line := strings.Count(before, "\n")
	var items []lspItem
	err := c.ask("textDocument/completion", map[string]any{
		"textDocument": map[string]any{"uri": "file://" + file},
		"position":     map[string]any{"line": line, "character": len(before) - strings.LastIndexByte(before, '\n') - 1},
	}, &items)
	if err != nil {
		c.Fatal(err)
	}
	return items
}

// Completion proposes names of the fleet where they are valid, even if the text does not
// parse.
func TestLSPCompletion(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fleets.Write(t, dir, lspActionFleet)
	fleets.Write(t, dir, map[string]string{
		"environments/dev/two/cluster.cue":       "package fleet\n\ncluster: {name: \"two\", kubernetes: \"1.36\", labels: tier: \"gold\"}\n",
		"charts/web/charts/db/Chart.yaml":        "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"charts/web/charts/db/values.yaml":       "# The *size* ![a](http://example.com/a.png) <img>\nsize: \"`10`\"\n",
		"charts/web/charts/db/templates/db.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db}\ndata: {size: {{ .Values.size | quote }}}\n",
	})
	const env, root = "environments/dev/env.cue", "environments/fleet.cue"
	c := startLSP(t)
	for _, name := range []string{env, root} {
		c.open(filepath.Join(dir, name), lspActionFleet[name])
	}
	if len(c.faults) > 0 {
		t.Fatal(c.all())
	}
	for name, test := range map[string]struct {
		file, line string
		want       []string // labels
		after      string   // the line with the first item; empty when it is not checked
	}{
		"layer":             {env, `releases: web: defaults: |`, []string{"dev"}, `releases: web: defaults: dev: `},
		"layer in braces":   {env, "releases: web: defaults: {\n\td|\n}", []string{"dev"}, "releases: web: defaults: {\n\tdev: \n}"},
		"root layer":        {root, "releases: web: defaults: r|: {}", []string{"root"}, "releases: web: defaults: root: {}"},
		"value":             {env, "releases: web: defaults: dev: repl|", []string{"annotations", "name", "port", "replicas", "db"}, ""},
		"value in map":      {env, "releases: web: defaults: dev: {\n\tport: 1\n\t|\n}", []string{"replicas"}, ""},
		"missing brace":     {env, "releases: web: defaults: dev: {\n\tport: 1\n\tre|\n", []string{"replicas"}, ""},
		"dependency":        {env, "releases: web: defaults: dev: db: |", []string{"size"}, ""},
		"values":            {env, "releases: web: values: db: s|", []string{"size"}, ""},
		"release":           {env, "releases: w|", []string{"base", "web"}, ""},
		"depends":           {root, "releases: web: depends: |", []string{"base"}, "releases: web: depends: base: "},
		"stage":             {root, `releases: web: stage: "|"`, []string{"main", "network"}, `releases: web: stage: "main"`},
		"open text":         {root, `releases: web: stage: "n|`, []string{"main", "network"}, ""},
		"cluster":           {root, `releases: web: clusters: ids: ["|"]`, []string{"dev/one", "dev/two", "dev/*"}, `releases: web: clusters: ids: ["dev/one"]`},
		"second cluster":    {root, `releases: web: clusters: ids: ["dev/one", |]`, []string{"dev/two"}, `releases: web: clusters: ids: ["dev/one", "dev/two"]`},
		"empty list":        {root, `releases: web: clusters: ids: [|]`, []string{"dev/one"}, `releases: web: clusters: ids: ["dev/one"]`},
		"open list":         {root, `releases: web: clusters: ids: ["d|`, []string{"dev/one"}, ""},
		"environment":       {root, `releases: web: clusters: environments: ["|"]`, []string{"dev"}, ""},
		"label":             {root, `releases: web: clusters: labels: |`, []string{"tier"}, `releases: web: clusters: labels: tier: `},
		"label value":       {root, `releases: web: clusters: labels: tier: "|"`, []string{"gold"}, ""},
		"lines of a list":   {root, "releases: web: clusters: ids: [\n\t\"dev/one\",\n\t\"|\n]", []string{"dev/two"}, "releases: web: clusters: ids: [\n\t\"dev/one\",\n\t\"dev/two\"\n]"},
		"image":             {root, `images: "nginx": environments: ["|"]`, []string{"dev"}, `images: "nginx": environments: ["dev"]`},
		"difference":        {root, `differences: same: between: ["|"]`, []string{"dev/one", "dev/*"}, ""},
		"allowed":           {root, `differences: same: allow: charts: ["|"]`, []string{"web"}, ""},
		"namespace":         {root, `policies: a: match: namespaces: ["|"]`, []string{"a"}, ""},
		"quoted layer":      {env, `releases: web: defaults: "|"`, []string{"dev"}, `releases: web: defaults: "dev": `},
		"open layer":        {env, `releases: web: defaults: "|`, []string{"dev"}, `releases: web: defaults: "dev": `},
		"quoted depends":    {root, `releases: web: depends: "|"`, []string{"base"}, `releases: web: depends: "base": `},
		"layer of a secret": {env, `secrets: db: defaults: |`, []string{"dev"}, `secrets: db: defaults: dev: `},
		"waived layer":      {env, `releases: web: overridden: |`, []string{"dev", "root"}, `releases: web: overridden: dev: `},
		"pointer":           {root, "releases: web: patches: a: {\n\ttarget: kinds: [\"Deployment\"]\n\tjson: [{op: \"add\", path: \"/spec/template/|\"}]\n}", []string{"/spec/template/spec", "/spec/template/metadata"}, ""},
		"wave":              {root, `rollout: waves: [{name: "a", clusters: ids: ["|"]}]`, []string{"dev/one"}, ""},
		"freeze":            {root, `rollout: freezes: [{except: environments: ["|"]}]`, []string{"dev"}, ""},
		"kind of a patch":   {root, `releases: web: patches: a: target: kinds: ["|"]`, []string{"ConfigMap", "Deployment"}, ""},
		"field of a patch":  {root, "releases: web: patches: a: {\n\ttarget: kinds: [\"Deployment\"]\n\tmerge: spec: |\n}", []string{"replicas", "template"}, ""},
		"field of a policy": {root, "policies: a: {\n\tmatch: kinds: [\"Pod\"]\n\tobject: spec: |\n}", []string{"hostNetwork"}, ""},
		"field of owners":   {root, "releases: web: ownership: a: {target: kinds: [\"Deployment\"], fields: [\"spec.rep|\"]}", []string{"spec.replicas"}, ""},
		"kind of health":    {root, "health: |", []string{"Deployment"}, ""},
		"kind of a rule":    {root, `health: a: match: kinds: ["|"]`, []string{"Deployment"}, ""},
		"release of a rule": {root, `health: a: match: releases: ["|"]`, []string{"web"}, ""},
		"nothing":           {root, `releases: web: defaults: root: name: "|"`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.T = t
			file := filepath.Join(dir, test.file)
			text := lspActionFleet[test.file] + test.line + "\n"
			items := c.complete(file, text)
			var labels []string
			for _, i := range items {
				labels = append(labels, i.Label)
			}
			for _, want := range test.want {
				if !slices.Contains(labels, want) {
					t.Errorf("%s is not in %q", want, labels[:min(len(labels), 50)])
				}
			}
			if test.want == nil && len(labels) > 0 {
				t.Errorf("got %q", labels)
			}
			if test.after == "" || len(items) == 0 {
				return
			}
			if got := edited(strings.Replace(text, "|", "", 1), []lspTextEdit{items[0].TextEdit}); got != lspActionFleet[test.file]+test.after+"\n" {
				t.Errorf("with %s: %s", items[0].Label, strings.TrimPrefix(got, lspActionFleet[test.file]))
			}
		})
		c.change(filepath.Join(dir, test.file), map[string]any{"text": lspActionFleet[test.file]})
	}
	c.T = t
	for _, i := range c.complete(filepath.Join(dir, env), lspActionFleet[env]+"releases: web: defaults: dev: |\n") {
		if i.Label == "replicas" && (i.Detail != "number or string" || i.Documentation == nil || i.Documentation.Value != "> Number of pods.\n\nDefault: `1`") {
			t.Errorf("%+v %+v", i, i.Documentation)
		}
	}
	const want = "> The \\*size\\* \\!\\[a\\]\\(http\\://example.com/a.png\\) \\<img\\>\n\nDefault: `` \"`10`\" ``"
	items := c.complete(filepath.Join(dir, env), lspActionFleet[env]+"releases: web: defaults: dev: db: |\n")
	for _, i := range items {
		if i.Label == "size" && (i.Documentation == nil || i.Documentation.Value != want) {
			t.Errorf("the documentation has markup of the chart: %+v", i.Documentation)
		}
	}
	behind := map[string]any{"line": 1 << 30, "character": 1 << 30}
	var last []lspItem
	if err := c.ask("textDocument/completion", map[string]any{"textDocument": map[string]any{"uri": "file://" + filepath.Join(dir, env)}, "position": behind}, &last); err != nil {
		t.Fatal(err)
	}
	for _, i := range last {
		if i.TextEdit.Range.Start.Line > 100 {
			t.Errorf("an edit behind the text: %+v", i)
		}
	}
	if len(items) == 0 || len(last) == 0 {
		t.Errorf("no proposals: %v, %v", items, last)
	}
}
