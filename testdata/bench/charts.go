package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// blocks are the files of which charts are made. In their names and texts,
// CHART is the chart, PART one of its workloads and KEY the key of the
// workload's values.
//
//go:embed blocks
var blocks embed.FS

// size is the size of a chart. The zero value adds nothing.
type size struct {
	parts      []string // workloads, of eleven objects each
	crds       int      // how many custom resources are defined
	crdBytes   int      // bytes of each definition
	crdsIn     string   // where they are: crds, templates (behind a value), files (read, decoded and printed by one template)
	dashboards int      // ConfigMaps with one dashboard each
	dashBytes  int      // bytes of each dashboard
	blob       int      // bytes of a file that one ConfigMap holds
	schema     bool     // whether values.schema.json is there
	charts     []string // subcharts, of one workload each
}

// chart generates a chart in dir.
func chart(dir, name string, s size) error {
	if err := block(dir, "Chart.yaml", "Chart.yaml", "CHART", name); err != nil {
		return err
	}
	if err := block(dir, "templates/_helpers.tpl", "helpers.tpl", "CHART", name); err != nil {
		return err
	}
	values, err := fill("values.yaml", "CHART", name)
	if err != nil {
		return err
	}
	for _, part := range s.parts {
		v, err := fill("part-values.yaml", "CHART", name, "PART", part, "KEY", part)
		if err != nil {
			return err
		}
		values += v
		if err := workload(dir, name, part); err != nil {
			return err
		}
	}
	if s.schema {
		if err := block(dir, "values.schema.json", "values.schema.json", "KEY", s.parts[0]); err != nil {
			return err
		}
	}
	if s.blob > 0 {
		if err := put(dir, "files/injection.txt", blob(s.blob)); err != nil {
			return err
		}
		if err := block(dir, "templates/injection.yaml", "injection.yaml", "CHART", name); err != nil {
			return err
		}
	}
	for _, sub := range s.charts {
		if err := chart(filepath.Join(dir, "charts", sub), sub, size{parts: []string{sub}}); err != nil {
			return err
		}
	}
	if s.crds > 0 {
		values += "crds:\n  # -- Install the custom resources\n  install: true\n  # -- Annotations of their definitions\n  annotations: {}\n"
	}
	if s.dashboards > 0 {
		values += "dashboards:\n  # -- Create the dashboards\n  enabled: true\n"
	}
	if err := put(dir, "values.yaml", values); err != nil {
		return err
	}
	return enlarge(dir, name, s, ".Values.crds.install", ".Values.dashboards.enabled")
}

// enlarge adds definitions, dashboards and subcharts to the chart in dir, which
// renders them under the conditions.
func enlarge(dir, name string, s size, ifCRDs, ifDashboards string) error {
	for i := range s.crds {
		kind := fmt.Sprintf("%s%s", strings.ToUpper(name[:1])+strings.ReplaceAll(name[1:], "-", ""), ordinal(i))
		text := crd(name+".bench.example.dev", kind, s.crdBytes)
		file := fmt.Sprintf("crd-%02d.yaml", i)
		var err error
		switch s.crdsIn {
		case "crds":
			err = put(dir, "crds/"+file, text)
		case "files":
			err = put(dir, "files/crds/"+file, text)
		default:
			err = put(dir, "templates/crds/"+file, "{{- if "+ifCRDs+" }}\n"+text+"{{- end }}\n")
		}
		if err != nil {
			return err
		}
	}
	if s.crds > 0 && s.crdsIn == "files" {
		if err := block(dir, "templates/crds.yaml", "crds.yaml", "CHART", name); err != nil {
			return err
		}
	}
	for i := range s.dashboards {
		board := replace(dashboard(fmt.Sprintf("%s-%02d", name, i), s.dashBytes), "{{", "{{`{{`}}", "}}", "{{`}}`}}")
		text, err := fill("dashboard.yaml", "CONDITION", ifDashboards, "NUMBER", fmt.Sprintf("%02d", i), "BOARD", "    "+strings.ReplaceAll(strings.TrimSpace(board), "\n", "\n    "))
		if err == nil {
			err = put(dir, fmt.Sprintf("templates/dashboards/board-%02d.yaml", i), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// workload writes the templates of one workload.
func workload(dir, chart, part string) error {
	entries, err := fs.ReadDir(blocks, "blocks/part")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := block(dir, "templates/"+part+"/"+e.Name(), "part/"+e.Name(), "CHART", chart, "PART", part, "KEY", part); err != nil {
			return err
		}
	}
	return nil
}

// ordinal names the definitions of a chart: A, B, and so on to Z.
func ordinal(i int) string { return string(rune('A' + i%26)) }

// blob returns lines of text that are not a template.
func blob(n int) string {
	b := &strings.Builder{}
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(b, "%s- %s: \"%s\"\n", strings.Repeat("  ", i%5), words[i%len(words)], text(i, 10))
	}
	return b.String()
}

// block writes one of the blocks with its placeholders replaced.
func block(dir, file, name string, pairs ...string) error {
	text, err := fill(name, pairs...)
	if err != nil {
		return err
	}
	return put(dir, file, text)
}

func fill(name string, pairs ...string) (string, error) {
	data, err := blocks.ReadFile("blocks/" + name)
	return replace(string(data), pairs...), err
}

// replace replaces the first of each pair by the second.
func replace(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

// put writes a file and creates its parent directories.
func put(dir, file, text string) error {
	path := filepath.Join(dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
