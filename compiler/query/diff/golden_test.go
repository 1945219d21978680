package diff

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("update", false, "rewrite testdata; read the diff")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is now\n%s\nand was\n%s", name, got, want)
	}
}

// example is the result in the golden files: a chart update in four of five
// clusters.
func example(t *testing.T) Result {
	t.Helper()
	const before = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: web, annotations: {release: web, helm.sh/chart: app-1.0.0, checksum/config: CLUSTER-old}}
spec:
  replicas: 2
  template:
    spec:
      initContainers: [{name: wait}, {name: setup}]
      containers:
      - name: app
        image: registry.example.com/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef
        args: [--level=info, --old, "--port=80"]
        ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]
      - name: gone
        image: side
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: web, annotations: {release: web}}
data:
  mode: fast
  app.conf: |
    # one
    # two
    # three
    # four
    level = info
    # five
    # six
    # seven
    # eight
    # nine
    # ten
    # eleven
    # twelve
    port = 80
---
apiVersion: v1
kind: Secret
metadata: {name: app, namespace: web, annotations: {release: web}}
data: {password: Q0xVU1RFUi1wYXNz, same: YQ==}
---
apiVersion: v1
kind: Service
metadata: {name: old, namespace: web, annotations: {release: web}}
spec: {clusterIP: None}
---
apiVersion: v1
kind: Namespace
metadata: {name: web, annotations: {release: base}}
`
	after := strings.NewReplacer(
		"app-1.0.0", "app-2.0.0", "-old}", "-new}", "{name: wait}, {name: setup}", "{name: setup}, {name: wait}",
		"@sha256:0123456789abcdef0123456789abcdef0123456789abcdef", "@sha256:0123456789abcdef0123456789abcdef00000000000000ff",
		"--level=info, --old,", "--level=debug,", "      - name: gone\n        image: side",
		"      - {name: new, image: side, command: [sh, -c, \"exec \\e[31m\\n```\\nend \"], env: [{name: A, value: \"1\"}], resources: {}}",
		"{containerPort: 53}", "{containerPort: 53, name: dns}",
		"level = info", "level = debug", "port = 80\n---", "port = 81\n---", "app.conf: |", "app.conf: |-", "mode: fast", "mode: \"true\"", "YQ==", "YQ==, more: bW9yZQ==", "Q0xVU1RFUi1wYXNz", "Q0xVU1RFUi1QYXNz",
		"kind: Service\nmetadata: {name: old,", "kind: Service\nmetadata: {name: new,", "release: base", "release: web",
	).Replace(before)
	var g Grouper
	for _, cluster := range []string{"prod/a", "prod/b", "prod/c<x>", "staging/a"} {
		in := func(s string) string { return strings.ReplaceAll(s, "CLUSTER", cluster[len(cluster)-2:]) }
		before, after := in(before), in(after)
		if cluster == "staging/a" {
			before, after = strings.ReplaceAll(before, "replicas: 2", "replicas: 1"), strings.ReplaceAll(after, "replicas: 2", "paused: true")
		}
		g.Add(cluster, Objects(objects(t, before), objects(t, after), key))
	}
	g.Add("dev", nil)
	r := g.Result()
	r.Created, r.Deleted, r.NotCompared = []WholeCluster{{"prod/new", 14}, {"prod/newer", 1}}, []WholeCluster{{"old", 0}}, []string{"```"}
	return r
}

func TestGolden(t *testing.T) {
	r := example(t)
	text, markdown, result := checkWritten(t, r, Style{})
	golden(t, "text", text)
	golden(t, "markdown.md", markdown)
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(result), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "result.json", indented.String())
	text, markdown, _ = checkWritten(t, r, Style{Content: true, Lines: 6})
	golden(t, "text-content", text)
	golden(t, "markdown-content.md", markdown)
	var b strings.Builder
	if err := WriteText(&b, r, Style{Colour: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "text-colour", b.String())
	b.Reset()
	if err := WriteStat(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "stat", b.String())
	b.Reset()
	if err := WriteGitHub(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "github", b.String())
}
