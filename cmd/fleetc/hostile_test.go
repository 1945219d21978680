package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// hostileText contains sequences that control terminals and CI systems, at
// positions where they work.
const hostileText = "a![b](//evil.example) <b> @all | `b`\x1b[2J\x1b]8;;https://evil.example\x07b\r::error::c\r\n::error::d\n  ::set-output name=e::f\n\t##[add-mask]g ##vso[task.h]\u202ei\u009b31m\xff\x00"

// hostileCommands are command lines of every command that works without a
// cluster, for the fleet of hostileFleet. TEXT stands for the text.
var hostileCommands = []string{
	"list", "list TEXT", "__complete list -l t", "vet -v", "vet --render", "vet --render --secrets", "vet TEXT",
	"build", "build --release TEXT", "export --out out", "export --out out --check", "export --git TEXT --path a", "export --oci TEXT",
	"affected --since git:HEAD", "affected --since git:HEAD --files", "affected --since git:TEXT",
	"compare prod/eu prod/us --full", "compare --all", "compare prod/eu TEXT",
	"report", "report --against git:HEAD", "report --out out.html", "report --out TEXT", "report --markdown TEXT --link-template TEXT",
	"diff --against git:HEAD", "diff --against git:HEAD --rehearse", "diff --against empty", "diff --against TEXT",
	"explain prod/eu releases.web.values", "explain prod/eu releases.web.values.text", "explain prod/eu ConfigMap web/web data.text", "explain prod/eu TEXT",
	"fmt --check", "fmt TEXT", "fix --dry-run", "fix TEXT", "lift --dry-run", "lift TEXT", "lsp", "lsp TEXT", "init", "init TEXT",
	"chart add charts/web", "chart add charts/TEXT", "chart add --refresh", "chart add --refresh TEXT", "chart outdated", "chart update web", "chart update TEXT",
	"chart values web", "chart values TEXT", "chart vendor", "chart verify",
	"image list", "image list --image TEXT", "image outdated", "image outdated --all", "image outdated TEXT", "image update", "image update web --tag TEXT --in TEXT", "image update TEXT --dry-run", "update --dry-run", "update --dry-run -o markdown", "update --group TEXT", "update --branch-per-group --git TEXT --branch TEXT --branch-prefix TEXT --bodies b", "source add built", "source add TEXT", "secret list", "secret list TEXT -o json", "secret set TEXT", "secret check TEXT", "secret edit TEXT", "secret check -o json", "secret rotate TEXT", "secret rotate --dry-run",
	"import argocd . --dry-run", "import argocd TEXT --cluster a=TEXT", "import argocd . --cluster TEXT=more --app-of-apps TEXT --chart TEXT",
	"import helm --context TEXT --namespace TEXT --repo TEXT", "import helm --context a=TEXT --context b", "import helmfile TEXT -e TEXT --env TEXT", "import helmfile . --cluster a=TEXT --env TEXT=TEXT", "import helmfile helmfile.yaml", "import helmfile helmfile.yaml -e TEXT",
	"import kustomize . --dry-run", "import kustomize TEXT a=TEXT --release TEXT",
	"import flux . --cluster a=more --dry-run", "import flux . --cluster TEXT=more", "import flux TEXT --cluster a=TEXT", "import flux . --cluster a=more --chart TEXT --variable TEXT",
	"cache", "cache why prod/eu", "cache why TEXT", "cache clean", "version", "version TEXT", "TEXT", "help TEXT", "list --TEXT", "list -o TEXT", "list --color TEXT",
	// These commands read the fleet, and have no cluster to connect to.
	"apply prod/eu", "apply TEXT", "destroy prod/eu", "history prod/eu", "rollback prod/eu --to 1", "rollback --wave TEXT", "status prod/eu",
	"apply --wave TEXT", "rollout status", "rollout approve TEXT --bundle TEXT", "rollout approve all --bundle TEXT", "rollout pause TEXT", "rollout resume TEXT", "rollout abort --reason TEXT", "rollout report TEXT --git TEXT", "export --git TEXT --rollout", "rollout status --git TEXT", "drift prod/eu", "drift TEXT", "test prod/eu", "test TEXT",
}

// FuzzCommands runs the commands in a fleet with hostile names, values and
// messages. The output must not control a terminal or a CI system.
func FuzzCommands(f *testing.F) {
	f.Add(hostileText)
	f.Fuzz(func(t *testing.T, text string) {
		dir := hostileFleet(t, text)
		git := func(args ...string) {
			cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		git("init", "-q")
		git("add", "-A")
		git("commit", "-q", "-m", "a")
		writeFile(t, dir, "environments/prod/change.cue", "package fleet\n\nreleases: web: defaults: prod: text: "+quoted("changed"+text)+"\n")
		for _, line := range hostileCommands {
			hostileRun(t, dir, line, text)
		}
		// Faults of the fleet contain the text and its position.
		for name, content := range hostileFaults(text) {
			before, err := os.ReadFile(filepath.Join(dir, name))
			writeFile(t, dir, name, content)
			for _, line := range []string{"vet --render", "diff --against git:HEAD", "list"} {
				hostileRun(t, dir, line, text)
			}
			if err == nil {
				writeFile(t, dir, name, string(before))
			} else if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// hostileRun runs a command in each of its formats.
func hostileRun(t *testing.T, dir, line, text string) {
	t.Helper()
	args := []string{"-C", dir, "--offline", "--cache-dir", filepath.Join(dir, ".cache")}
	line, isCompletion := strings.CutPrefix(line, "__complete ")
	if isCompletion {
		args = slices.Insert(args, 0, "__complete") // __complete must precede the flags
	}
	for arg := range strings.FieldsSeq(line) {
		args = append(args, strings.ReplaceAll(arg, "TEXT", strings.ReplaceAll(text, "\x00", "")))
	}
	formats := []string{""}
	if cmd, _, err := newRootCommand(&options{}).Find(strings.Fields(line)); err == nil && !strings.Contains(line, "-o ") && !isCompletion {
		if flag := cmd.Flags().Lookup("output"); flag != nil {
			formats = append(slices.Clone(flag.Annotations[outputFormats]), "github")
		}
	}
	for _, format := range slices.Compact(formats) {
		run := args
		if format != "" {
			run = append(slices.Clone(args), "-o", format)
		}
		o := &options{}
		root := newRootCommand(o)
		var out, errs bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&errs)
		root.SetArgs(run)
		cmd, err := o.execute(t.Context(), root)
		if err := o.report(cmd, err, run); err != nil {
			t.Fatal(err)
		}
		if !isBuild(cmd, format) {
			checkPrintable(t, line+" -o "+format+": standard output", out.String(), format)
		}
		if format == "markdown" {
			format = "text" // the format of faults
		}
		checkPrintable(t, line+" -o "+format+": standard error", errs.String(), format)
	}
}

// isBuild reports whether the result of a command is the bytes of a bundle.
func isBuild(cmd *cobra.Command, format string) bool {
	return cmd.Name() == "build" && format != "json"
}

// ownCommand matches commands that fleetc itself writes. stopped matches text
// in which the runner recognizes no commands.
var (
	ownCommand = regexp.MustCompile(`^::(error (file=[^:,]*,)?(line=\d+,)?(col=\d+,)?title=[^:]*::|notice title=fleetc diff::|group::|endgroup::$)`)
	fences     = regexp.MustCompile("(?ms)^```+(diff)?$.*?^```+$")
	stopped    = regexp.MustCompile(`(?ms)^::stop-commands::(fleetc-[0-9a-f]{64})\n.*?^::fleetc-[0-9a-f]{64}::$`)
)

func checkPrintable(t *testing.T, what, text, format string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8:\n%q", what, text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			t.Errorf("%s has %U:\n%q", what, r, text)
			break
		}
	}
	if strings.Contains(text, "##[") || strings.Contains(text, "##vso[") {
		t.Errorf("%s has a command in a line:\n%s", what, text)
	}
	if format == "github" {
		text = stopped.ReplaceAllString(text, "")
	}
	if format == "markdown" {
		for _, mark := range []string{"![", "<b>", "@all"} {
			if outside := fences.ReplaceAllString(text, ""); strings.Contains(outside, mark) {
				t.Errorf("%s has %s outside of code:\n%s", what, mark, text)
			}
		}
	}
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "::") && (format != "github" || !ownCommand.MatchString(l)) {
			t.Errorf("%s has the command %s in\n%s", what, l, text)
		}
	}
}

// quoted returns a text as a string literal of CUE, JSON and YAML.
func quoted(text string) string {
	data, _ := json.Marshal(strings.Map(func(r rune) rune { return min(r, unicode.ReplacementChar) }, text)) // strings can always be encoded
	return diag.PrintableJSON(string(data))
}

// fileOfText returns a text as a file name.
func fileOfText(text string) string {
	if name := strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '_'
		}
		return r
	}, strings.ReplaceAll(text, "\xff", "?")); len(name) < 200 {
		return "a" + name
	}
	return "a"
}

// hostileFleet returns the directory of a valid fleet that contains the text
// wherever a fleet can.
func hostileFleet(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	q := quoted(text)
	for name, content := range map[string]string{
		"charts/web/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: " + q + "\ndescription: " + q + "\nkeywords: [" + q + "]\n",
		"charts/web/values.yaml": "# text is printed.\ntext: " + q + "\nother:\n  " + q + ": " + q + "\n",
		"charts/web/templates/configmap.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: web, annotations: {description: {{ .Chart.Description | quote }}}}
data:
  text: {{ .Values.text | quote }}
  other: {{ .Values.other | toYaml | quote }}
`,
	} {
		writeFile(t, dir, name, content)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	fleetc(t, "-C", dir, "init", "example.com/infra")
	fleetc(t, "-C", dir, "chart", "add", "charts/web")
	writeFile(t, dir, ".gitignore", ".cache\nout\n")
	writeFile(t, dir, "environments/fleet.cue", `package fleet

import "example.com/infra/environments/charts/web"

releases: "web": web.#Release & {
	namespace: "web"
	defaults: root: text: `+q+`
	values: other: key: string
}
releases: "app": {namespace: "app", jsonnet: "app/main.jsonnet"}
releases: "more": {namespace: "app", manifests: "more"}
`)
	writeFile(t, dir, "environments/rollout.cue", `package fleet

rollout: {
	waves: [{name: "all", others: true, approve: `+q+`}]
	freezes: [{from: "2020-01-01", to: "2999-01-01", reason: `+q+`}]
}
`)
	writeFile(t, dir, "app/main.jsonnet", "function(params) {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {a: "+q+"}}\n")
	writeFile(t, dir, "built/kustomization.yaml", "resources:\n- "+quoted("https://127.0.0.1:1/"+text+".yaml")+"\n- "+quoted(text)+"\n")
	writeFile(t, dir, "more/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  a: "+q+"\n")
	writeFile(t, dir, "environments/prod/eu/cluster.cue", `package fleet

cluster: {name: "eu", kubernetes: "1.36", context: `+q+`, labels: text: `+q+`, facts: text: `+q+`}
releases: "web": defaults: eu: other: key: cluster.facts.text
`)
	writeFile(t, dir, "environments/prod/us/cluster.cue", `package fleet

cluster: {name: "us", kubernetes: "1.36", context: "us", facts: text: "us"}
releases: "web": defaults: us: other: key: "us"
`)
	return dir
}

// TestBuildIsExact checks that build prints the bytes of exported files, even
// if a terminal or CI system would interpret them.
func TestBuildIsExact(t *testing.T) {
	dir := hostileFleet(t, "first\n::error::a\n##[add-mask]b\n")
	fleetc(t, "-C", dir, "export", "--out", "out")
	exported, err := os.ReadFile(filepath.Join(dir, "out/prod/eu/web/configmap-web-web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o := &options{}
	root := newRootCommand(o)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"-C", dir, "--offline", "build", "prod/eu"})
	if _, err := o.execute(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if text := string(exported); !strings.Contains(text, "  ::error::a\n") || !strings.Contains(text, "  ##[add-mask]b\n") || !strings.Contains(out.String(), text) {
		t.Errorf("build prints\n%s\nand the file has\n%s", &out, text)
	}
}

// hostileFaults returns invalid files by name.
func hostileFaults(text string) map[string]string {
	q := quoted(text)
	return map[string]string{
		"environments/error.cue":                      "package fleet\n\nreleases: web: values: text: error(" + q + ")\n",
		"environments/raw.cue":                        "package fleet\n\n" + text,
		"environments/" + fileOfText(text) + ".cue":   "package fleet\n\ncluster: nam: " + q + "\n",
		"environments/prod/key.cue":                   "package fleet\n\nreleases: web: defaults: prod: " + q + ": " + q + "\n",
		"environments/prod/release.cue":               "package fleet\n\nreleases: " + q + ": {namespace: " + q + ", objects: [" + q + "]}\n",
		"environments/" + fileOfText(text) + "/b.cue": "package fleet\n\ncluster: {name: \"b\", kubernetes: " + q + "}\n",
		"charts/web/templates/" + fileOfText(text):    "",
		"app/main.jsonnet":                            "error " + q + "\n",
		"more/a.yaml":                                 "apiVersion: v1\nkind: " + q + "\nmetadata: {name: " + q + "}\n",
		"more/" + fileOfText(text) + ".yaml":          "kind: [" + text,
		"charts/web/templates/fail.yaml":              "{{ fail " + q + " }}\n",
		"charts/web/templates/raw.yaml":               "kind: {{ .Values.text }}\n" + text,
	}
}

// TestStreamsArePrintable writes hostile text to the streams of a command,
// including text that only clusters send.
func TestStreamsArePrintable(t *testing.T) {
	for _, format := range []string{"text", "json", "github"} {
		o := &options{}
		cmd, rest, err := newRootCommand(o).Find([]string{"list", "-o", format})
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		var out, errs bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		if err == nil {
			err = o.start(cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		for w, name := range map[io.Writer]string{cmd.OutOrStdout(): "standard output", cmd.ErrOrStderr(): "standard error"} {
			if err := ask(w, strings.ToValidUTF8(hostileText, "")); err != nil {
				t.Fatal(err)
			}
			if out.Len()+errs.Len() == 0 {
				t.Errorf("%s: a question is not written", name)
			}
		}
		if format != "json" { // here the text is not a JSON string
			checkPrintable(t, "standard output", out.String(), "")
		}
		checkPrintable(t, "standard error", errs.String(), "")
	}
}

// TestHostileCommands checks that the list of commands is complete.
func TestHostileCommands(t *testing.T) {
	var missing func(cmd *cobra.Command)
	missing = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			missing(sub)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "fleetc ")
		if !cmd.HasSubCommands() && !cmd.Hidden && cmd.Parent().Name() != "completion" &&
			!slices.ContainsFunc(hostileCommands, func(line string) bool { return line == path || strings.HasPrefix(line, path+" ") }) {
			t.Errorf("fleetc %s is not run with hostile text", path)
		}
	}
	missing(newRootCommand(&options{}))
}
