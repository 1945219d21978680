package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// locations returns the answer of a request as FILE:LINE:COLUMN, from 1, with the text there.
func (s *lspSession) locations(method, name, text string) string {
	s.Helper()
	var result []struct {
		URI   string
		Range struct{ Start, End struct{ Line, Character int } }
	}
	s.ask(method, s.at(name, text), &result)
	var out []string
	for _, l := range result {
		file := strings.TrimPrefix(l.URI, "file://")
		data, err := os.ReadFile(file)
		if err != nil {
			s.Fatal(err)
		}
		content := string(data)
		if rel, err := filepath.Rel(s.dir, file); err == nil && filepath.IsLocal(rel) {
			file = rel
			if text, ok := s.texts[rel]; ok {
				content = text // it may be unsaved
			}
		} else {
			_, file, _ = strings.Cut(file, "/editor/")
			_, file, _ = strings.Cut(file, "/")
			file = "CACHE/" + file
		}
		line := strings.Split(content, "\n")[l.Range.Start.Line]
		out = append(out, fmt.Sprintf("%s:%d: %s", file, l.Range.Start.Line+1, line[l.Range.Start.Character:l.Range.End.Character]))
	}
	return strings.Join(out, "\n")
}

// The definition of a value is the lines that set it, those of most clusters first, the line
// of the chart's values.yaml and that of the template; its references are all lines of
// layers that set it.
func TestLSPDefinition(t *testing.T) {
	s := startLSPSession(t, lspChartFleet)
	root, prod, one := "environments/fleet.cue", "environments/prod/env.cue", "environments/dev/one/cluster.cue"
	s.edit(root, s.texts[root])
	s.edit(one, s.texts[one]+"_n: releases.web.values.replicas\n")
	s.edit(prod, "// a line that is not saved\n"+s.texts[prod])
	for at, want := range map[[2]string]string{
		{root, "replicas: 2"}: "environments/fleet.cue:12: 2\nenvironments/prod/env.cue:5: 3\nenvironments/prod/one/cluster.cue:4: 5\n" +
			"charts/web/values.yaml:2: replicas: 1\ncharts/web/templates/web.yaml:6: replicas: {{ .Values.replicas }}",
		{one, "values.repl|icas"}: "environments/fleet.cue:12: 2\ncharts/web/values.yaml:2: replicas: 1\ncharts/web/templates/web.yaml:6: replicas: {{ .Values.replicas }}",
		{one, "2.0"}:              "environments/dev/one/cluster.cue:4: \"2.0\"\ncharts/web/values.yaml:4: tag: \"1.0\"\ncharts/web/templates/web.yaml:13: image: \"web:{{ .Values.image.tag }}\"",
		{root, "w|eb: {"}:         "environments/fleet.cue:8: web",
		{root, "namespace: \""}:   "environments/fleet.cue:9: \"web\"",
		{root, "package"}:         "",
	} {
		if got := s.locations("textDocument/definition", at[0], at[1]); got != want {
			t.Errorf("the definition of %q in %s is\n%s\nwant\n%s", at[1], at[0], got, want)
		}
	}
	want := "environments/fleet.cue:12: replicas\nenvironments/prod/env.cue:5: replicas\nenvironments/prod/one/cluster.cue:4: replicas"
	if got := s.locations("textDocument/references", root, "replicas: 2"); got != want {
		t.Errorf("the references are\n%s\nwant\n%s", got, want)
	}
	if got := s.locations("textDocument/references", root, "password"); got != "environments/fleet.cue:13: password" {
		t.Errorf("the references are\n%s", got)
	}
}

// The files of a chart that is an archive open from the cache directory.
func TestLSPDefinitionArchive(t *testing.T) {
	files := map[string]string{}
	for name, text := range lspChartFleet {
		files[name] = strings.Replace(text, "path: \"charts/web\"", "path: \"charts/web.tgz\"", 1)
	}
	s := startLSPSession(t, files)
	if out, err := exec.Command("tar", "-C", filepath.Join(s.dir, "charts"), "-czf", filepath.Join(s.dir, "charts/web.tgz"), "web").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	root := "environments/fleet.cue"
	s.edit(root, s.texts[root])
	want := "CACHE/values.yaml:2: replicas: 1\nCACHE/templates/web.yaml:6: replicas: {{ .Values.replicas }}"
	for range 2 {
		if got := s.locations("textDocument/definition", root, "replicas: 2"); !strings.HasSuffix(got, want) {
			t.Errorf("the definition is\n%s\nwant\n%s", got, want)
		}
	}
}
