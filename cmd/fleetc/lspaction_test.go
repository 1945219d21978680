package main

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// lspActionFleet is a fleet with a chart and two clusters, without faults.
var lspActionFleet = map[string]string{
	"cue.mod/module.cue": lspFleet["cue.mod/module.cue"],
	"environments/fleet.cue": `package fleet

import (
	"github.com/fleetc/fleetc/schema"
)

cluster?: schema.#Cluster
releases: schema.#Releases
stages: [{name: "network"}, {name: "main"}]
releases: base: {namespace: "a", stage: "network", objects: [{apiVersion: "v1", kind: "ServiceAccount", metadata: name: "base"}]}
releases: web: {
	namespace: "a"
	stage:     "main"
	chart: path: "charts/web"
}
policies: [string]: schema.#Policy
`,
	"environments/dev/env.cue":         "package fleet\n\nenvironment: \"dev\"\n",
	"environments/dev/one/cluster.cue": lspFleet["environments/dev/one/cluster.cue"],
	"environments/dev/two/cluster.cue": lspFleet["environments/dev/two/cluster.cue"],
	"charts/web/Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
	"charts/web/values.yaml":           "# Number of pods.\nreplicas: 1\nport: 80\nname: web\nannotations: {}\n",
	"charts/web/values.schema.json":    `{"properties": {"port": {"type": "integer"}}}`,
	"charts/web/templates/web.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Values.name | trunc 20 }}
  annotations: {{ toYaml .Values.annotations | nindent 4 }}
data:
  replicas: {{ .Values.replicas | int | quote }}
  port: {{ .Values.port | quote }}
`,
}

// lspEdit is an edit of a workspace, for clients with documentChanges.
type lspEdit struct {
	Changes         map[string][]lspTextEdit
	DocumentChanges []struct {
		Kind, OldURI, NewURI string // of a file that is renamed
		TextDocument         struct {
			URI     string
			Version *int
		}
		Edits []lspTextEdit
	}
}

type lspTextEdit struct {
	Range   lspRange
	NewText string
}

type lspRange struct{ Start, End struct{ Line, Character int } }

type lspAction struct {
	Title, Kind string
	Edit        *lspEdit
	Command     *struct {
		Command   string
		Arguments []any
	}
}

var lspDocumentChanges = map[string]any{"workspaceEdit": map[string]any{"documentChanges": true, "resourceOperations": []string{"rename"}}}

// ask sends a request and decodes its result.
func (c *lspClient) ask(method string, params, result any) error {
	c.Helper()
	r, err := c.rpc.Call(context.Background(), method, params)
	if err != nil || result == nil {
		return err
	}
	return r.UnmarshalResult(result)
}

// actions returns the actions for all faults of a file.
func (c *lspClient) actions(file string) []lspAction {
	c.Helper()
	var actions []lspAction
	whole := map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 1000, "character": 0}}
	if err := c.ask("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": "file://" + file}, "range": whole, "context": map[string]any{"diagnostics": []any{}}}, &actions); err != nil {
		c.Fatal(err)
	}
	return actions
}

// action returns the action whose title begins with a text.
func (c *lspClient) action(file, title string) lspAction {
	c.Helper()
	var titles []string
	for _, a := range c.actions(file) {
		if strings.HasPrefix(a.Title, title) {
			return a
		}
		titles = append(titles, a.Title)
	}
	c.Fatalf("no action %q, but %q, for the faults %v", title, titles, c.all())
	return lspAction{}
}

// edited returns a text with edits, which do not overlap.
func edited(text string, edits []lspTextEdit) string {
	lines := strings.SplitAfter(text, "\n")
	at := func(line, character int) int {
		from := 0
		for _, l := range lines[:line] {
			from += len(l)
		}
		return from + character // the texts of these tests are ASCII
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b lspTextEdit) int {
		return cmp.Or(cmp.Compare(b.Range.Start.Line, a.Range.Start.Line), cmp.Compare(b.Range.Start.Character, a.Range.Start.Character))
	})
	for _, e := range edits {
		from, to := at(e.Range.Start.Line, e.Range.Start.Character), at(e.Range.End.Line, e.Range.End.Character)
		text = text[:from] + e.NewText + text[to:]
	}
	return text
}

// apply applies an edit as an editor does, and returns the new texts. texts are those of open
// files.
func (c *lspClient) apply(e *lspEdit, texts map[string]string) {
	c.Helper()
	for _, change := range e.DocumentChanges {
		file := strings.TrimPrefix(change.TextDocument.URI, "file://")
		text, open := texts[file]
		if !open {
			data, err := os.ReadFile(file)
			if err != nil {
				c.Fatal(err)
			}
			text = string(data)
			c.open(file, text)
		} else if change.TextDocument.Version == nil || *change.TextDocument.Version != c.versions[file] {
			c.Fatalf("an edit of the version %v of %s, not of %d", change.TextDocument.Version, file, c.versions[file])
		}
		texts[file] = edited(text, change.Edits)
		c.change(file, map[string]any{"text": texts[file]})
	}
}

// Each fault with a fix has a code action that removes the fault.
func TestLSPCodeActions(t *testing.T) {
	const env, root = "environments/dev/env.cue", "environments/fleet.cue"
	for name, test := range map[string]struct{ file, line, title, want string }{
		"field":      {env, `releases: web: namespac: "a"`, "Write namespace", `releases: web: namespace: "a"`},
		"key":        {env, `releases: web: defaults: dev: replcas: 2`, "Write replicas", `releases: web: defaults: dev: replicas: 2`},
		"quoted key": {env, `releases: web: defaults: dev: "replcas": 2`, "Write replicas", `releases: web: defaults: dev: "replicas": 2`},
		"layer":      {env, `releases: web: defaults: dv: replicas: 2`, "Write dev", `releases: web: defaults: dev: replicas: 2`},
		"text":       {env, `releases: web: defaults: dev: name: 80`, `Write "80"`, `releases: web: defaults: dev: name: "80"`},
		"number":     {env, `releases: web: defaults: dev: port: "80"`, "Write 80", `releases: web: defaults: dev: port: 80`},
		"schema":     {root, `releases: other: {namespace: 5, stage: "main", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "other"}]}`, `Write "5"`, `namespace: "5"`},
		"quote":      {env, `releases: web: defaults: dev: annotations: example.com/a: "x"`, `Write "example.com/a"`, `annotations: "example.com/a": "x"`},
		"no quotes":  {env, `releases: web: defaults: dev: name: nginx:1.25`, `Write "nginx:1.25"`, `name: "nginx:1.25"`},
		"import":     {env, `releases: web: defaults: dev: name: strings.ToUpper("a")`, `Add import "strings"`, "package fleet\n\nimport \"strings\"\n\nenvironment"},
		"imports":    {root, `releases: web: defaults: root: name: strings.ToUpper("a")`, `Add import "strings"`, "schema\"\n\t\"strings\"\n)"},
		"cluster":    {root, `releases: web: clusters: ids: ["dev/onw", "dev/two"]`, "Write dev/one", `ids: ["dev/one", "dev/two"]`},
		"pattern":    {root, `releases: web: clusters: ids: ["dv/*"]`, "Write dev/*", `ids: ["dev/*"]`},
		"name":       {root, `releases: web: clusters: environments: ["dve"]`, "Write dev", `environments: ["dev"]`},
		"stage":      {root, `releases: other: {namespace: "a", stage: "netwrk", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "other"}]}`, "Write network", `stage: "network"`},
		"depends":    {root, `releases: web: depends: "bse": true`, "Write base", `depends: "base": true`},
		"reference":  {root, `releases: other: {namespace: releases.wbe.namespace, stage: "main", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "other"}]}`, "Write web", `namespace: releases.web.namespace`},
		"health":     {root, `health: Deploymnt: wait: false`, "Write Deployment", "health: Deployment: wait"},
		"waiver":     {env, `releases: web: defaults: dev: other: 1`, "Add a waiver: releases.web.open", `open: other: "TODO: say why"`},
		"overridden": {root, "releases: web: defaults: root: replicas: 2\nreleases: web: values: replicas: 3", "Add a waiver: releases.web.overridden", `overridden: root: replicas: "TODO: say why"`},
		"pin":        {root, "releases: web: values: replicas: 2", "Move the value", "releases: web: defaults: root: replicas: 2"},
		"pin in map": {root, "releases: web: values: {\n\treplicas: 2 // pods\n\tport: 8080\n}", "Move the value", "releases: web: defaults: root: replicas: 2 // pods\nreleases: web: values: {\n\tport: 8080\n}"},
		"pin braces": {root, "releases: web: {values: {\n\treplicas: 2 @a(b) // pods\n\tport: 8080\n}}", "Move the value", "releases: web: {defaults: root: replicas: 2 @a(b), values: {\n\t// pods\n\tport: 8080\n}}"},
		"pin inline": {root, "releases: web: {values: {port: 8080, replicas: 2}}", "Move the value", "releases: web: {defaults: root: replicas: 2, values: {port: 8080}}"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			fleets.Write(t, dir, lspActionFleet)
			c := startLSPWith(t, lspDocumentChanges, "--offline")
			texts := map[string]string{}
			if strings.HasPrefix(name, "pin") {
				one := filepath.Join(dir, "environments/dev/one/cluster.cue")
				texts[one] = lspActionFleet["environments/dev/one/cluster.cue"] + "releases: web: values: replicas: 3\n"
				c.open(one, texts[one])
			}
			file := filepath.Join(dir, test.file)
			texts[file] = lspActionFleet[test.file] + test.line + "\n"
			c.open(file, lspActionFleet[test.file])
			c.change(file, map[string]any{"text": texts[file]})
			if len(c.faults) == 0 {
				t.Fatal("no fault")
			}
			at := file
			for of := range c.faults {
				if len(c.faults[file]) == 0 {
					at = of
				}
			}
			c.apply(c.action(at, test.title).Edit, texts)
			if len(c.faults) > 0 {
				t.Errorf("after the edit of %s:\n%s\n%v", file, texts[file], c.all())
			}
			if !strings.Contains(texts[file], test.want) {
				t.Errorf("%s is\n%s\nwithout %s", file, texts[file], test.want)
			}
		})
	}
}

// Values in an embedded file of a layer can be waived in the layer. Two values of one layer
// cannot be moved to its defaults.
func TestLSPCodeActionLayers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const embed = "environments/dev/embed.cue"
	files := map[string]string{
		embed:                       "@extern(embed)\n\npackage fleet\n\nreleases: web: defaults: dev: _ @embed(file=web.yaml)\n",
		"environments/dev/web.yaml": "other: 1\n",
	}
	fleets.Write(t, dir, lspActionFleet)
	fleets.Write(t, dir, files)
	c := startLSPWith(t, lspDocumentChanges, "--offline")
	file := filepath.Join(dir, embed)
	texts := map[string]string{file: files[embed]}
	c.open(file, files[embed])
	c.apply(c.action(filepath.Join(dir, "environments/dev/web.yaml"), "Add a waiver: releases.web.open").Edit, texts)
	if len(c.faults) > 0 {
		t.Errorf("after the edit:\n%s\n%v", texts[file], c.all())
	}
	c.change(file, map[string]any{"text": "package fleet\n\nreleases: web: values: replicas: 2\nreleases: web: values: replicas: 3\n"})
	if actions := c.actions(file); len(c.faults) == 0 || len(actions) > 0 {
		t.Errorf("%v has the actions %v", c.all(), actions)
	}
}

// An action in a file with CRLF keeps its line ends.
func TestLSPCodeActionLineEnds(t *testing.T) {
	const root = "environments/fleet.cue"
	for line, title := range map[string]string{
		`releases: web: defaults: root: name: strings.ToUpper("a")`:                      "Add import",
		"releases: web: defaults: root: other: 1":                                        "Add a waiver",
		"releases: web: defaults: root: replicas: 2\nreleases: web: values: replicas: 3": "Add a waiver",
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		fleets.Write(t, dir, lspActionFleet)
		c := startLSPWith(t, lspDocumentChanges, "--offline")
		file := filepath.Join(dir, root)
		texts := map[string]string{file: strings.ReplaceAll(lspActionFleet[root]+line+"\n", "\n", "\r\n")}
		c.open(file, texts[file])
		c.apply(c.action(file, title).Edit, texts)
		if len(c.faults) > 0 || strings.Count(texts[file], "\n") != strings.Count(texts[file], "\r\n") {
			t.Errorf("%s: %q\n%v", title, texts[file], c.all())
		}
	}
}

// The waiver of a policy is added for a fault of a rendered object.
func TestLSPPolicyWaiver(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fleets.Write(t, dir, lspActionFleet)
	c := startLSPWith(t, lspDocumentChanges, "--offline")
	file := filepath.Join(dir, "environments/fleet.cue")
	texts := map[string]string{}
	c.open(file, lspActionFleet["environments/fleet.cue"])
	save := func() {
		fleets.Write(t, dir, map[string]string{"environments/fleet.cue": texts[file]})
		c.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": "file://" + file}})
	}
	texts[file] = lspActionFleet["environments/fleet.cue"] + `policies: named: {message: "has the label team", match: kinds: ["ConfigMap"], object: metadata: labels: team: string, ...}` + "\n"
	c.change(file, map[string]any{"text": texts[file]})
	for save(); len(c.faults) == 0; {
		c.add(<-c.published)
	}
	for at := range c.faults {
		c.apply(c.action(at, "Add a waiver: policies.named.waivers").Edit, texts)
	}
	save()
	c.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": "file://" + file}})
	if got := vettedRendered(t, dir); got != "" {
		t.Errorf("after the edit:\n%s\n%s", texts[file], got)
	}
}

// vettedRendered returns the faults of fleetc vet --render.
func vettedRendered(t *testing.T, dir string) string {
	t.Helper()
	text, err := exec.Command("fleetc", "-C", dir, "--offline", "--cache-dir", t.TempDir(), "vet", "--render").CombinedOutput()
	if err == nil {
		return ""
	}
	return string(text)
}

// The command pins a chart again after its dependencies have changed.
func TestLSPChartAdd(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	packed := t.TempDir()
	for _, version := range []string{"1.0.0", "2.0.0"} {
		src := t.TempDir()
		fleets.Write(t, src, map[string]string{"db/Chart.yaml": "apiVersion: v2\nname: db\nversion: " + version + "\n", "db/values.yaml": "port: 1\n"})
		if err := packageCharts(src, packed); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(packed)))
	defer server.Close()
	chart := func(version string) map[string]string {
		return map[string]string{"charts/web/Chart.yaml": lspActionFleet["charts/web/Chart.yaml"] + "dependencies:\n- {name: db, version: ^" + version + ", repository: " + server.URL + "}\n"}
	}
	root := "environments/fleet.cue"
	text := strings.Replace(lspActionFleet[root], "schema\"\n", "schema\"\n\t\"example.com/small/environments/charts/web\"\n", 1)
	text = strings.Replace(text, "releases: web: {\n", "releases: \"web\": web.#Release & {\n", 1)
	text = strings.Replace(text, "\tchart: path: \"charts/web\"\n", "", 1)
	fleets.Write(t, dir, lspActionFleet)
	fleets.Write(t, dir, map[string]string{root: text})
	fleets.Write(t, dir, chart("1.0.0"))
	if out, err := exec.Command("fleetc", "-C", dir, "--cache-dir", t.TempDir(), "chart", "add", "./charts/web").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	fleets.Write(t, dir, chart("2.0.0"))
	c := startLSPWith(t, lspDocumentChanges)
	c.open(filepath.Join(dir, root), text)
	pkg := filepath.Join(dir, "environments/charts/web/chart.cue")
	if len(c.faults[pkg]) == 0 {
		t.Fatalf("the faults are %v", c.all())
	}
	a := c.action(pkg, "Run fleetc chart add ./charts/web again")
	params := map[string]any{"command": a.Command.Command, "arguments": a.Command.Arguments}
	data, err := os.ReadFile(pkg)
	if err != nil {
		t.Fatal(err)
	}
	c.open(pkg, string(data)+"// unsaved\n")
	if err := c.ask("workspace/executeCommand", params, nil); err == nil || !strings.Contains(err.Error(), "save the file") {
		t.Errorf("the command with an unsaved file: %v", err)
	}
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": "file://" + pkg}})
	delete(c.versions, pkg)
	if err := c.ask("workspace/executeCommand", params, nil); err != nil {
		t.Fatal(err)
	}
	for len(c.faults) > 0 {
		c.add(<-c.published)
	}
	if data, err := os.ReadFile(pkg); err != nil || !strings.Contains(string(data), "db@2.0.0") {
		t.Errorf("%v\n%s", err, data)
	}
}
