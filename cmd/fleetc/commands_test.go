package main

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// commandLine matches a call of fleetc in a shell script.
var commandLine = regexp.MustCompile(`(?m)(?:^|[;&|{(] *|\b(?:if|then|do|exec) )fleetc((?: +(?:'[^'\n]*'|"[^"\n]*"|[^\s;&|<>)'"]+)+)+)`)

// word matches one word of a command.
var word = regexp.MustCompile(`(?:'[^'\n]*'|"[^"\n]*"|[^\s'"]+)+`)

// commandLines returns the arguments of each call of fleetc in a script.
func commandLines(script string) [][]string {
	var calls [][]string
	for _, m := range commandLine.FindAllStringSubmatch(script, -1) {
		words := word.FindAllString(m[1], -1)
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") }); i >= 0 {
			words = words[:i]
		}
		for i, w := range words {
			words[i] = strings.NewReplacer(`'`, "", `"`, "").Replace(w)
		}
		calls = append(calls, words)
	}
	return calls
}

// scripts returns the texts in a document that may be scripts.
func scripts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, scripts(e)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, e := range v {
			out = append(out, scripts(e)...)
		}
		return out
	}
	return nil
}

// TestCommandsOfTemplates checks that each call of fleetc in a CI template or
// shell block uses an existing command and flags.
func TestCommandsOfTemplates(t *testing.T) {
	calls := map[string]int{}
	for _, p := range append(docs(t), readPage(t, "README.md")) {
		for _, b := range p.blocks {
			text := strings.Join(b.lines, "\n")
			found := []string{text}
			switch b.lang {
			case "yaml":
				var v any
				if err := yaml.Unmarshal([]byte(text), &v); err != nil {
					t.Errorf("%s:%d: %v", p.file, b.line, err)
				}
				found = scripts(v)
			case "sh":
			default:
				continue
			}
			for _, script := range found {
				for _, args := range commandLines(script) {
					calls[p.file]++
					if err := parses(args); err != nil {
						t.Errorf("%s:%d: fleetc %s: %v", p.file, b.line, strings.Join(args, " "), err)
					}
				}
			}
		}
	}
	if calls["docs/ci.md"] < 10 || calls["docs/export.md"] < 5 {
		t.Errorf("few calls were found: %v", calls)
	}
}

// parses parses the command and its flags and checks formats, without running
// it.
func parses(args []string) error {
	o := &options{}
	root := newRootCommand(o)
	root.SetOut(io.Discard)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root {
		return fmt.Errorf("no command")
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return o.start(cmd)
}

func TestCommandLines(t *testing.T) {
	got := fmt.Sprint(commandLines("set -e\nfleetc vet --render && fleetc export --shard \"$((I + 1))/4\" 'a b' # why\nif fleetc list; then x=$(fleetc build -o json | jq); fi\necho no-fleetc vet"))
	if got != `[[vet --render] [export --shard $((I + 1))/4 a b] [list] [build -o json]]` {
		t.Errorf("got %s", got)
	}
	for _, wrong := range []string{"vet --rendr", "exprt", "export --shard", "diff -o sarif", "list -o yaml"} {
		if err := parses(strings.Fields(wrong)); err == nil {
			t.Errorf("fleetc %s is right", wrong)
		}
	}
}

// TestTemplatesScopeCredentials checks that git passes a credential only to
// its host.
func TestTemplatesScopeCredentials(t *testing.T) {
	scoped := regexp.MustCompile(`credential\.https://[^ ]+\.helper`)
	found := 0
	for _, p := range append(docs(t), readPage(t, "README.md")) {
		for _, b := range p.blocks {
			for i, line := range b.lines {
				if !strings.Contains(line, "git config") || !strings.Contains(line, "helper") {
					continue
				}
				if found++; !scoped.MatchString(line) {
					t.Errorf("%s:%d: the credential helper is for all hosts: %s", p.file, b.line+i, line)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("%d credential helpers were found", found)
	}
}

// TestTemplates checks that the templates are valid workflows, pipelines and
// tasks.
func TestTemplates(t *testing.T) {
	page := readPage(t, "docs/ci.md")
	kinds := map[string]int{}
	for _, b := range page.blocks {
		if b.lang != "yaml" {
			continue
		}
		var v any
		if err := yaml.Unmarshal([]byte(strings.Join(b.lines, "\n")), &v); err != nil {
			t.Fatal(err)
		}
		doc, _ := v.(map[string]any)
		steps, _ := v.([]any)
		at := fmt.Sprintf("%s:%d", page.file, b.line)
		switch {
		case b.section == "GitHub Actions" && doc != nil:
			jobs, ok := doc["jobs"].(map[string]any)
			if !ok {
				jobs = doc
			}
			for name, job := range jobs {
				j, _ := job.(map[string]any)
				if j["runs-on"] == nil {
					t.Errorf("%s: the job %s runs nowhere", at, name)
				}
				of, _ := j["steps"].([]any)
				steps = append(steps, of...)
			}
			kinds["workflow"]++
		case doc["apiVersion"] == "tekton.dev/v1":
			spec, _ := doc["spec"].(map[string]any)
			of, _ := spec["steps"].([]any)
			for _, s := range of {
				step, _ := s.(map[string]any)
				if step["name"] == nil || step["image"] == nil || step["script"] == nil {
					t.Errorf("%s: the step %v lacks something", at, step["name"])
				}
				if strings.Contains(fmt.Sprint(step["script"]), "$(params.") {
					t.Errorf("%s: the step %v runs text of a parameter", at, step["name"])
				}
			}
			kinds["task"] += len(of)
			continue
		case b.section == "GitLab":
			for name, job := range doc {
				j, _ := job.(map[string]any)
				if name != "include" && j["script"] == nil {
					t.Errorf("%s: the job %s has no script", at, name)
				}
			}
			kinds["pipeline"]++
		}
		for _, s := range steps {
			step, _ := s.(map[string]any)
			if b.section == "GitHub Actions" && (step["uses"] == nil) == (step["run"] == nil) {
				t.Errorf("%s: a step uses or runs something: %v", at, step)
			}
			if strings.Contains(fmt.Sprint(step["run"]), "${{ github.") {
				t.Errorf("%s: a step runs text of an event: %v", at, step)
			}
		}
	}
	if kinds["workflow"] != 2 || kinds["task"] != 2 || kinds["pipeline"] != 2 {
		t.Errorf("got %v", kinds)
	}
}

// TestJobManifest checks that the Job on the page is a valid Kubernetes
// object.
func TestJobManifest(t *testing.T) {
	var job string
	for _, b := range readPage(t, "docs/export.md").blocks {
		if text := strings.Join(b.lines, "\n"); b.lang == "yaml" && strings.Contains(text, "kind: Job") {
			job = text
		}
	}
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		"cue.mod/module.cue": "module: \"example.com/jobs@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"job.yaml":           job,
		"environments/dev/cluster.cue": `package fleet

cluster: {name: "dev", kubernetes: "1.36"}
stages: [{name: "all"}]
releases: export: {
	namespace: "fleet"
	manifests: "job.yaml"
}
`,
	})
	out, err := exec.Command("fleetc", "-C", dir, "--cache-dir", filepath.Join(dir, "cache"), "vet", "--render").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 object: no faults") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every command has an example. Those that take clusters select them by labels and
// environments; results are text by default, and JSON.
func TestCommandConventions(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		if cmd.Hidden {
			return
		}
		name, flags := cmd.CommandPath(), cmd.Flags()
		if !strings.Contains(cmd.Example, "fleetc") {
			t.Errorf("%s has no example", name)
		}
		takesClusters := strings.Contains(cmd.Use, "[CLUSTER...]")
		if selects := flags.ShorthandLookup("l") != nil && flags.ShorthandLookup("e") != nil; selects != takesClusters {
			t.Errorf("%s takes clusters: %t, and has -l and -e: %t", name, takesClusters, selects)
		}
		if takesClusters && cmd.ValidArgsFunction == nil {
			t.Errorf("%s does not complete clusters", name)
		}
		output := flags.ShorthandLookup("o")
		if hasResult := !cmd.HasSubCommands() && cmd.Name() != "help" && cmd.Name() != "lsp" && cmd.Parent().Name() != "completion"; hasResult != (output != nil) {
			t.Errorf("%s has a result: %t, and -o: %t", name, hasResult, output != nil)
		}
		if output == nil {
			return
		}
		formats := output.Annotations[outputFormats]
		want := "text"
		if cmd.Name() == "build" {
			want = "yaml"
		}
		if formats[0] != want || output.DefValue != want || !slices.Contains(formats, "json") {
			t.Errorf("%s has the formats %q, the default is %s", name, formats, output.DefValue)
		}
	}
	check(newRootCommand(&options{}))
}
