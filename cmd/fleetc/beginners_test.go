package main

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

const beginners = "../../testdata/beginners"

// internals matches terms of CUE and Go that do not help users, and positions
// in files that are not theirs.
var internals = regexp.MustCompile(`conflicting values|disjunction|incomplete|non-concrete|strconv\.|_\|_|bottom|` +
	`mismatched types|#[A-Z][A-Za-z]*\b|\bast\b|\btoken\b|operand|out of bound|EOF|explicit error|structural cycle|` +
	`(?:^|\s)(?:schema|cue\.mod)/|=~|panic|goroutine`)

// ownMessage is a message of the fleet for a fault.
const ownMessage = "no more than two, please"

// TestBeginners runs fleetc vet on typical mistakes of beginners. Each case is
// a set of files that are added to the same fleet; -update rewrites the
// expected output.
func TestBeginners(t *testing.T) {
	base := beginnersFleet(t)
	sources, err := filepath.Glob(beginners + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, source := range sources {
		if filepath.Base(source) == "base.txtar" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(source), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(source)
			if err != nil {
				t.Fatal(err)
			}
			cases, order := map[string]map[string]string{}, []string{}
			for _, f := range archive.Files {
				name, file, _ := strings.Cut(f.Name, "/")
				if cases[name] == nil {
					cases[name], order = map[string]string{}, append(order, name)
				}
				cases[name][file] = string(f.Data)
			}
			total += len(order)
			for _, name := range order {
				t.Run(name, func(t *testing.T) { cases[name]["want"] = checkBeginner(t, base, cases[name]) })
			}
			if *update {
				writeBeginners(t, source, string(archive.Comment), order, cases)
			}
		})
	}
	if total < 240 {
		t.Errorf("the collection has %d texts, want at least 240", total)
	}
}

// checkBeginner runs vet with the files of a case, compares the output, and
// returns it.
func checkBeginner(t *testing.T, base string, files map[string]string) string {
	t.Helper()
	overlay(t, base, without(files, "want"))
	got := vetFaults(t, base)
	if want := files["want"]; got != want && !*update {
		t.Errorf("vet says\n%swant\n%s", got, want)
	}
	if got == "" {
		t.Error("vet finds nothing wrong")
	}
	own := strings.Join(slices.Collect(maps.Values(without(files, "want"))), "")
	said := strings.ReplaceAll(got, "did you mean #Release?", "") // chart packages define it
	if m := strings.TrimSpace(internals.FindString(said)); m != "" && !strings.Contains(own, m) {
		t.Errorf("the fault has %q, which is not the user's language:\n%s", m, got)
	}
	if !strings.Contains(got, "    hint: ") && !strings.Contains(got, ownMessage) {
		t.Errorf("the fault has no hint:\n%s", got)
	}
	if !strings.HasPrefix(got, "environments/") {
		t.Errorf("the fault has no place of the user's:\n%s", got)
	}
	return got
}

// overlay writes files into a directory until the test ends, and restores the directory
// then.
func overlay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		before, err := os.ReadFile(file)
		if err == nil {
			t.Cleanup(func() { writeFile(t, dir, name, string(before)) })
		} else {
			t.Cleanup(func() {
				for ; file != dir && os.Remove(file) == nil; file = filepath.Dir(file) {
				}
			})
		}
		writeFile(t, dir, name, text)
	}
}

// TestBeginnersAccepted checks valid texts that look wrong.
func TestBeginnersAccepted(t *testing.T) {
	base := beginnersFleet(t)
	for name, text := range map[string]string{
		"line ends of Windows":                    "package fleet\r\n\r\nenvironment: \"prod\"\r\nreleases: \"my-web\": defaults: prod: {\r\n\tmessage: \"\"\"\r\n\t\ta\r\n\t\t\"\"\"\r\n}\r\n",
		"a byte order mark in front":              "\ufeffpackage fleet\n\nenvironment: \"prod\"\n",
		"commas at line ends":                     "package fleet\n\nenvironment: \"prod\",\nreleases: {\"my-web\": {defaults: {prod: {replicaCount: 3,},},},}\n",
		"JSON below the package":                  "package fleet\n\n{\n  \"environment\": \"prod\",\n  \"releases\": {\"my-web\": {\"defaults\": {\"prod\": {\"replicaCount\": 3}}}}\n}\n",
		"no line end":                             "package fleet\n\nenvironment: \"prod\"",
		"a loop without objects in some clusters": "package fleet\n\nenvironment: \"prod\"\nreleases: \"other\": {namespace: \"a\", objects: {for n in [if cluster.name == \"eu\" {\"a\"}] {(n): {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: n}}}}\n",
		"comments":                                "// ours\npackage fleet // ours\n\nenvironment: \"prod\" // # ours\n",
	} {
		t.Run(name, func(t *testing.T) {
			overlay(t, base, map[string]string{"environments/prod/env.cue": text})
			if got := vetFaults(t, base); got != "" {
				t.Errorf("vet says\n%s", got)
			}
		})
	}
}

// TestInternals checks that no script expects a fault with terms of CUE and
// Go, or with a position in the schema. Faults that quote text of the script
// are skipped.
func TestInternals(t *testing.T) {
	scripts, err := filepath.Glob("../../testdata/script/*.txtar")
	programs, err2 := filepath.Glob("../../testdata/script/programs/*.txtar")
	if err := cmp.Or(err, err2); err != nil {
		t.Fatal(err)
	}
	scripts = append(scripts, programs...)
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range faultLines(archive) {
			// The user calls this CUE function.
			if m := scriptInternals.FindString(strings.ReplaceAll(line, "strconv.FormatFloat", "")); m != "" {
				t.Errorf("%s: the fault has %q, which is not the user's language:\n%s", script, m, line)
			}
		}
	}
}

// scriptInternals matches text that no fault in a script may contain.
var scriptInternals = regexp.MustCompile(`=~"|=~ |strconv\.|#Releases\.|_\|_|conflicting values|disjunction|structural cycle|incomplete (?:value|type)|` +
	`non-concrete|mismatched types|out of bound|explicit error|^\s*(?:schema|cue\.mod/pkg/\S*)/\S+\.cue:\d+:\d+: `)

// faultLine matches the lines of a fault.
var faultLine = regexp.MustCompile(`^\S+\.(?:cue|jsonnet|yaml|yml)(?::\d+){0,2}: |^    (?:hint: |\S+: and here$)`)

// faultLines returns the lines of faults that a script expects, in files and
// in stderr patterns.
func faultLines(archive *txtar.Archive) []string {
	var out []string
	for line := range strings.SplitSeq(string(archive.Comment), "\n") {
		if strings.HasPrefix(line, "stderr ") {
			out = append(out, line)
		}
	}
	for _, f := range archive.Files {
		for line := range strings.SplitSeq(string(f.Data), "\n") {
			if faultLine.MatchString(line) {
				out = append(out, line)
			}
		}
	}
	return out
}

// without returns the files except one.
func without(files map[string]string, name string) map[string]string {
	out := maps.Clone(files)
	delete(out, name)
	return out
}

// vetFaults returns the standard error of fleetc vet in a directory.
func vetFaults(t *testing.T, dir string) string {
	t.Helper()
	o := &options{}
	cmd := newRootCommand(o)
	var out, faults bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&faults)
	cmd.SetArgs([]string{"-C", dir, "--offline", "--no-cache", "vet"})
	run, err := cmd.ExecuteContextC(context.Background())
	if werr := o.report(run, err, nil); werr != nil {
		t.Fatal(werr)
	}
	from, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(from, dir)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(faults.String(), filepath.ToSlash(rel)+"/", "")
	return strings.ReplaceAll(text, filepath.ToSlash(dir)+"/", "")
}

// beginnersFleet returns the directory of a valid fleet.
func beginnersFleet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	archive, err := txtar.ParseFile(beginners + "/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		writeFile(t, dir, f.Name, string(f.Data))
	}
	if err := os.CopyFS(filepath.Join(dir, "charts/plain"), os.DirFS("../../testdata/charts/plain")); err != nil {
		t.Fatal(err)
	}
	fleetc(t, "-C", dir, "init", "example.com/infra")
	fleetc(t, "-C", dir, "chart", "add", "charts/plain")
	if got := vetFaults(t, dir); got != "" {
		t.Fatalf("the fleet itself is wrong:\n%s", got)
	}
	return dir
}

// writeBeginners writes a collection with the output of vet.
func writeBeginners(t *testing.T, file, comment string, order []string, cases map[string]map[string]string) {
	t.Helper()
	archive := &txtar.Archive{Comment: []byte(comment)}
	for _, name := range order {
		for _, f := range slices.Sorted(maps.Keys(cases[name])) {
			if f != "want" {
				archive.Files = append(archive.Files, txtar.File{Name: name + "/" + f, Data: []byte(cases[name][f])})
			}
		}
		archive.Files = append(archive.Files, txtar.File{Name: name + "/want", Data: []byte(cases[name]["want"])})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
