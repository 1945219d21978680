package main

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// lspChartFleet is a fleet with a chart in its repository, layers that override each other,
// and texts that look like Markdown.
var lspChartFleet = map[string]string{
	"cue.mod/module.cue":    "module: \"example.com/small\"\nlanguage: version: \"v0.17.0\"\n",
	"charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\n",
	"charts/web/values.yaml": "# Pods of the *web* [server](http://example.com).\nreplicas: 1\n" +
		"image:\n  tag: \"1.0\"\npassword: \"\"\nunused: x\n",
	"charts/web/templates/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: {{ .Values.replicas }}\n" +
		"  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n        - name: web\n          image: \"web:{{ .Values.image.tag }}\"\n",
	"charts/web/templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web\nstringData:\n  password: {{ .Values.password | quote }}\n{{ .Values.unused | trunc 0 }}\n",
	"environments/fleet.cue": "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\ncluster?: schema.#Cluster\nenvironment?: string\nreleases: schema.#Releases\n" +
		"releases: web: {\n\tnamespace: \"web\"\n\tchart: path: \"charts/web\"\n\tdefaults: root: {\n\t\treplicas: 2\n\t\tpassword: \"hunter2-hunter2\"\n\t}\n\tplaintext: \"Secret/web\": \"a test\"\n}\n",
	"environments/dev/env.cue":          "package fleet\n\nenvironment: \"dev\"\n",
	"environments/dev/one/cluster.cue":  "package fleet\n\ncluster: {name: \"one\", kubernetes: \"1.36\", labels: tier: \"a`b\"}\nreleases: web: values: image: tag: \"2.0\"\n",
	"environments/dev/two/cluster.cue":  "package fleet\n\ncluster: {name: \"two\", kubernetes: \"1.36\"}\n",
	"environments/prod/env.cue":         "package fleet\n\nenvironment: \"prod\"\nreleases: web: defaults: prod: replicas: 3\n",
	"environments/prod/one/cluster.cue": "package fleet\n\ncluster: {name: \"one\", kubernetes: \"1.36\"}\nreleases: web: defaults: one: replicas: 5\n",
	"environments/prod/two/cluster.cue": "package fleet\n\ncluster: {name: \"two\", kubernetes: \"1.36\"}\n",
}

// lspSession is a client with the files of a fleet.
type lspSession struct {
	*lspClient
	dir   string
	texts map[string]string // of open files by name
}

func startLSPSession(t *testing.T, files map[string]string) *lspSession {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fleets.Write(t, dir, files)
	return &lspSession{startLSP(t), dir, maps.Clone(files)}
}

// edit opens or changes a file without saving it.
func (s *lspSession) edit(name, text string) {
	s.Helper()
	file := filepath.Join(s.dir, name)
	s.texts[name] = text
	if s.versions[file] == 0 {
		s.open(file, text)
		return
	}
	s.change(file, map[string]any{"text": text})
}

// at returns the parameters of a request at the first occurrence of a text in an open file,
// or at a | in it.
func (s *lspSession) at(name, text string) map[string]any {
	s.Helper()
	before, after, _ := strings.Cut(text, "|")
	at := strings.Index(s.texts[name], before+after)
	if at < 0 {
		s.Fatalf("%s has no %q", name, before+after)
	}
	if strings.Contains(text, "|") {
		at += len(before)
	}
	lines := strings.Split(s.texts[name][:at], "\n")
	return map[string]any{
		"textDocument": map[string]any{"uri": "file://" + filepath.Join(s.dir, name)},
		"position":     map[string]any{"line": len(lines) - 1, "character": len(lines[len(lines)-1])},
	}
}

// ask sends a request and decodes the answer.
func (s *lspSession) ask(method string, params, result any) {
	s.Helper()
	answer, err := s.rpc.Call(context.Background(), method, params)
	if err != nil {
		s.Fatalf("%s: %v", method, err)
	}
	if err := json.Unmarshal([]byte(answer.ResultString()), result); err != nil {
		s.Fatal(err)
	}
}

// hover returns the text of a hover, with the directory of the fleet as DIR.
func (s *lspSession) hover(name, text string) string {
	s.Helper()
	var result struct {
		Contents struct{ Kind, Value string }
	}
	s.ask("textDocument/hover", s.at(name, text), &result)
	return strings.ReplaceAll(result.Contents.Value, "file://"+s.dir, "DIR")
}

func (s *lspSession) wantHover(name, text string, want ...string) {
	s.Helper()
	got := s.hover(name, text)
	for _, w := range want {
		if !strings.Contains(got, w) {
			s.Errorf("the hover at %q in %s lacks %q:\n%s", text, name, w, got)
		}
	}
}

// A hover shows the effective values by cluster, the lines that set and override them, the
// comment of the chart, and the object fields that depend on the value, also for a reference
// and for unsaved text.
func TestLSPHover(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	root, prod, one := "environments/fleet.cue", "environments/prod/env.cue", "environments/dev/one/cluster.cue"
	for _, name := range []string{root, prod, one} {
		s.edit(name, s.texts[name])
	}
	s.wantHover(root, "replicas: 2",
		"`releases.web.values.replicas`",
		"- `2` in all 2 clusters of `dev`\n  - set by [environments/fleet.cue:12](<DIR/environments/fleet.cue#L12>) (default of layer root)\n"+
			"  - overrides [charts/web/values.yaml:2](<DIR/charts/web/values.yaml#L2>) of the chart: `1`",
		"- `5` in `prod/one`\n  - set by [environments/prod/one/cluster.cue:4](<DIR/environments/prod/one/cluster.cue#L4>) (default of layer one)\n"+
			"  - overrides [environments/prod/env.cue:4](<DIR/environments/prod/env.cue#L4>) (default of layer prod): `3`\n  - overrides [environments/fleet.cue:12]",
		"- `3` in `prod/two`", "Type in the chart: number", `> Pods of the \*web\* \[server\]\(http\://example.com\).`,
		"Used in `dev/one` by:\n\n- `Deployment.apps web/web` `spec.replicas`, [charts/web/templates/web.yaml:6](<DIR/charts/web/templates/web.yaml#L6>)",
	)
	s.wantHover(prod, "repl|icas", "`releases.web.values.replicas`\n\n- `5` in `prod/one`", "- `3` in `prod/two`")
	s.wantHover(root, "names|pace", "- `\"web\"` in all 4 clusters\n")
	s.wantHover(root, "releases: |web", "`releases.web`\n\ncharts/web 1.2.3 · 4 of 4 clusters\n\n- namespace: `\"web\"` in all 4 clusters\n- stage: `\"default\"` in all 4 clusters")
	s.wantHover(root, "path: |", "- `\"charts/web\"` in all 4 clusters\n")
	s.wantHover(one, "tier", "- `` \"a`b\" `` in `dev/one`")
	s.wantHover(one, "tag", "- `\"2.0\"` in `dev/one`\n  - set by [environments/dev/one/cluster.cue:4]", "`spec.template.spec.containers[0].image`")
	s.edit(one, s.texts[one]+"releases: web: values: replicas: releases.web.values.image.tag\n")
	s.wantHover(one, "values.image.t|ag", "`releases.web.values.image.tag`\n\n- `\"2.0\"` in `dev/one`")
	s.edit(one, s.texts[one]+"x: {\n")
	s.wantHover(root, "replicas: 2", "- `2` in `dev/two`")
	for _, text := range []string{"import", "package", "\n\ncluster?", "schema.#Rel|eases"} {
		if got := s.hover(root, text); got != "" {
			t.Errorf("the hover at %q is %s", text, got)
		}
	}
}

// The server answers also when all clusters have a fault from the start, and follows changes.
func TestLSPFaultsFromTheStart(t *testing.T) {
	files := maps.Clone(lspChartFleet)
	const root, one = "environments/fleet.cue", "environments/dev/one/cluster.cue"
	files[root] += "releases: web: depends: wbe: true\n"
	s := startLSPSession(t, files)
	s.edit(root, files[root])
	if len(s.faults) == 0 {
		t.Fatal("no fault")
	}
	s.wantHover(root, "replicas: 2", "- `2` in all 2 clusters of `dev`\n  - set by [environments/fleet.cue:12]", "- `5` in `prod/one`", "Type in the chart: number")
	s.edit(one, files[one]+"releases: web: values: replicas: 7\n")
	s.wantHover(root, "replicas: 2", "- `7` in `dev/one`")
	s.edit(root, lspChartFleet[root])
	s.wantHover(root, "replicas: 2", "- `7` in `dev/one`")
}

// A hover hides the values of hidden fields to which a value in a Secret refers.
func TestLSPHoverHiddenSecrets(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	root := "environments/fleet.cue"
	s.edit(root, strings.Replace(s.texts[root], `password: "hunter2-hunter2"`, "password: _shared", 1)+"_shared: \"hunter2-hunter2\"\n_all: {deep: _shared}\n_open: \"blue\"\n")
	for _, more := range []string{"", "_x: 1 & 2\n"} { // which does not render
		s.edit(root, s.texts[root]+more)
		for _, at := range []string{"_shared\n", "_shared: \"", "_all", "deep"} {
			if got := s.hover(root, at); got == "" || strings.Contains(got, "hunter2") {
				t.Errorf("the hover shows a secret at %q:\n%s", at, got)
			}
		}
		s.wantHover(root, "_open", "blue")
	}
}

// A hover hides hidden fields that are parts of a value in a Secret, and all of them until the fleet
// renders.
func TestLSPHoverHiddenParts(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	root := "environments/fleet.cue"
	text := strings.Replace(s.texts[root], `password: "hunter2-hunter2"`, `password: "app:\(_words.db)@db"`, 1) + "_words: db: \"hunter2-hunter2\"\n#open: \"bluebird\"\n"
	hidden := func(ats ...string) {
		t.Helper()
		for _, at := range ats {
			if got := s.hover(root, at); got == "" || strings.Contains(got, "hunter2") || strings.Contains(got, "bird") {
				t.Errorf("the hover shows a secret at %q:\n%s", at, got)
			}
		}
	}
	s.edit(root, text+"_x: 1 & 2\n")
	hidden("_words:", "db: \"", "#open")
	s.edit(root, text)
	hidden("_words:", "db: \"", "_words.db")
	s.wantHover(root, "#open", "bluebird")
	s.edit(root, strings.Replace(text, "bluebird", "blackbird", 1)+"_x: 1 & 2\n")
	hidden("#open")
}

// A hover hides a hidden field that only the last of the clusters below its layer puts into a Secret.
func TestLSPHoverHiddenElsewhere(t *testing.T) {
	files := maps.Clone(lspChartFleet)
	const root, two = "environments/fleet.cue", "environments/prod/two/cluster.cue"
	files[root] += "_shared: \"correct-horse\"\n_open: \"blue\"\n"
	files[two] += "releases: web: values: password: _shared\n"
	s := startLSPSession(t, files)
	s.edit(root, s.texts[root])
	if got := s.hover(root, "_shared"); got == "" || strings.Contains(got, "horse") {
		t.Errorf("the hover shows a secret:\n%s", got)
	}
	s.wantHover(root, "_open", "blue")
}

// A hover hides values that reach a Secret, even when the fleet does not render.
func TestLSPHoverSecrets(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	root, prod := "environments/fleet.cue", "environments/prod/env.cue"
	s.edit(root, s.texts[root])
	s.edit(prod, s.texts[prod]+"releases: web: defaults: prod: password: \"correct-horse\"\n")
	check := func() {
		t.Helper()
		for name, text := range map[string]string{root: "password: \"", prod: "password: \""} {
			s.wantHover(name, text, "a value of a Secret in ", "set by [environments/")
			if got := s.hover(name, text); strings.Contains(got, "hunter2") || strings.Contains(got, "horse") {
				t.Errorf("the hover shows a secret:\n%s", got)
			}
		}
	}
	check()
	s.wantHover(root, "password: \"", "`Secret web/web` `stringData.password`")
	s.edit(prod, s.texts[prod]+"_x: 1 & 2\n")
	check()
	s = startLSPSession(t, lspChartFleet) // which never renders
	s.edit(root, s.texts[root]+"releases: web: values: missing: 1\n")
	for _, more := range []string{"", "releases: web: values: users: [{name: \"a\", password: \"correct-horse\"}]\n", "releases: web: values: token: a: \"correct-horse\"\n", "_password: \"correct-horse\"\n"} {
		s.edit(root, s.texts[root]+more)
		for _, at := range []string{"password: \"", "users", "a: \"correct", "_password"} {
			if !strings.Contains(s.texts[root], at) {
				continue
			}
			if got := s.hover(root, at); !strings.Contains(got, "a value of a Secret") && !strings.Contains(got, "a secret value") || strings.Contains(got, "hunter2") || strings.Contains(got, "horse") {
				t.Errorf("the hover shows a secret at %s:\n%s", at, got)
			}
		}
	}
}
