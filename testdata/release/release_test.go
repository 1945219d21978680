package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdx/tools-golang/json"
)

const repository = "../.."

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLinkedModules reads the licences of everything that fleetc links.
func TestLinkedModules(t *testing.T) {
	modules, err := linkedModules(t.Context(), repository, platforms...)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := writeLicenses(&first, modules); err != nil {
		t.Fatal(err)
	}
	again, err := linkedModules(t.Context(), repository, platforms...)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeLicenses(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("two runs differ: %v", err)
	}
	for _, m := range modules {
		if !strings.Contains(first.String(), "\n"+m.Path+" "+m.Version+" (") {
			t.Errorf("%s is missing", m.Path)
		}
	}
	for _, path := range []string{"std", "cuelang.org/go", "helm.sh/helm/v3", "github.com/klauspost/compress"} {
		if !slices.ContainsFunc(modules, func(m module) bool { return m.Path == path }) {
			t.Errorf("no module %s", path)
		}
	}
}

func TestLicensesOf(t *testing.T) {
	mit, err := os.ReadFile("testdata/MIT.txt")
	if err != nil {
		t.Fatal(err)
	}
	const gpl = "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation, version 3.\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"allowed":                {map[string]string{"LICENSE": string(mit)}, ""},
		"British spelling":       {map[string]string{"Licence.md": string(mit)}, ""},
		"none":                   {map[string]string{"README.md": string(mit)}, "no licence file"},
		"a notice alone":         {map[string]string{"NOTICE": string(mit)}, "no licence file"},
		"unknown":                {map[string]string{"LICENSE": "You may use this on Sundays.\n"}, "LICENSE: unknown licence: 0% of the text is known: []"},
		"additional terms":       {map[string]string{"LICENSE": string(mit) + strings.Repeat("You may use this on Sundays.\n", 50)}, "LICENSE: unknown licence"},
		"not allowed":            {map[string]string{"LICENSE": gpl}, "LICENSE: licence GPL-3.0-only is not allowed"},
		"one of two not allowed": {map[string]string{"LICENSE": string(mit), "COPYING": gpl}, "COPYING: licence GPL-3.0-only is not allowed"},
		"in a linked package":    {map[string]string{"LICENSE": string(mit), "a/COPYING": gpl}, "a/COPYING: licence GPL-3.0-only is not allowed"},
		"in another package":     {map[string]string{"LICENSE": string(mit), "c/COPYING": gpl}, ""},
	} {
		dir := t.TempDir()
		write(t, dir, "a/b/b.go", "package b\n")
		for file, text := range test.files {
			write(t, dir, file, text)
		}
		_, ids, err := licensesOf(dir, []string{filepath.Join(dir, "a/b")})
		if test.want == "" && (err != nil || !slices.Equal(ids, []string{"MIT"})) || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %v, %v, want %q", name, ids, err, test.want)
		}
	}
}

// TestSBOM writes the document of this test's own binary.
func TestSBOM(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	modules := []module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), Licenses: []string{"BSD-3-Clause"}}}
	for _, d := range info.Deps {
		modules = append(modules, module{Path: d.Path, Version: d.Version, Licenses: []string{"Apache-2.0", "MIT"}})
	}
	var texts []string
	for range 2 {
		file := filepath.Join(t.TempDir(), "test.spdx.json")
		if err := writeSBOM(binary, file, modules); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Error("two documents of one binary differ")
	}
	doc, err := json.Read(strings.NewReader(texts[0]))
	if err != nil {
		t.Fatal(err)
	}
	if want := len(info.Deps) + 2; len(doc.Packages) != want || doc.CreationInfo.Created != "2026-01-01T00:00:00Z" {
		t.Errorf("%d packages, want %d; created %s", len(doc.Packages), want, doc.CreationInfo.Created)
	}
	for _, want := range []string{`"pkg:golang/github.com/google/licensecheck@v0.3.1"`, `"licenseDeclared": "Apache-2.0 AND MIT"`, `"go.sum has h1:`} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("no %s in\n%s", want, texts[0])
		}
	}
	err = writeSBOM(binary, filepath.Join(t.TempDir(), "a"), modules[:1])
	if err == nil || !strings.HasSuffix(err.Error(), "is in the binary but not in go.mod") {
		t.Errorf("a binary with unknown modules: %v", err)
	}
}

func TestVulnerabilities(t *testing.T) {
	list := []exemption{{"GO-2026-0001", "no fix is released", "2026-12-31"}}
	const config = `{"config":{"protocol_version":"v1.0.0"}}`
	const called = `{"finding":{"osv":"GO-2026-0001","fixed_version":"v1.2.4","trace":[{"module":"example.com/a","version":"v1.2.3","function":"F"},{"module":"b","function":"main"}]}}`
	const imported = `{"finding":{"osv":"GO-2026-0002","trace":[{"module":"example.com/a","version":"v1.2.3","package":"example.com/a"}]}}`
	for name, test := range map[string]struct {
		output string
		list   []exemption
		today  string
		want   string
	}{
		"none":               {config, nil, "2026-12-31", ""},
		"imported only":      {config + imported, nil, "2026-12-31", ""},
		"called":             {config + called, nil, "2026-12-31", `GO-2026-0001: example.com/a v1.2.3 is called; fixed in "v1.2.4"`},
		"called twice":       {config + called + called, list, "2026-12-31", ""},
		"until the last day": {config + called, list, "2026-12-31", ""},
		"after the last day": {config + called, list, "2027-01-01", "GO-2026-0001 was allowed until 2026-12-31: no fix is released"},
		"allowed but gone":   {config + imported, list, "2026-12-31", "GO-2026-0001 is allowed but not found: remove it from the list"},
		"no output":          {"", nil, "2026-12-31", "govulncheck printed nothing: it did not run to its end"},
		"cut off":            {config + `{"finding":`, nil, "2026-12-31", "govulncheck prints invalid JSON: unexpected EOF"},
	} {
		today, err := time.Parse(time.DateOnly, test.today)
		if err != nil {
			t.Fatal(err)
		}
		err = checkVulnerabilities(strings.NewReader(test.output), test.list, today.Add(23*time.Hour))
		if got := text(err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAllowed checks the list of the repository. Its entries end: an entry whose
// day is past fails.
func TestAllowed(t *testing.T) {
	list, err := readAllowed("vulnerabilities.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if a.Until < time.Now().UTC().Format(time.DateOnly) {
			t.Errorf("%s was allowed until %s: %s", a.ID, a.Until, a.Reason)
		}
	}
	const entry = `{"id":"GO-2026-0001","reason":"no fix is released","until":"2026-12-31"}`
	for content, want := range map[string]string{
		"[" + entry + "]":                                           "",
		"[" + entry + "," + entry + "]":                             "GO-2026-0001 is listed twice",
		`[{"id":"CVE-2026-1","reason":"a","until":"2026-12-31"}]`:   `"CVE-2026-1" is not the ID of a Go vulnerability`,
		`[{"id":"GO-2026-0001","until":"2026-12-31"}]`:              "GO-2026-0001 has no reason",
		`[{"id":"GO-2026-0001","reason":"a"}]`:                      "GO-2026-0001: until must be a date such as 2026-12-31",
		`[{"id":"GO-2026-0001","reason":"a","until":"2026-13-31"}]`: "GO-2026-0001: until must be a date such as 2026-12-31",
		`[{"id":"GO-2026-0001","why":"a"}]`:                         `json: unknown field "why"`,
	} {
		dir := t.TempDir()
		write(t, dir, "list.json", content)
		_, err := readAllowed(filepath.Join(dir, "list.json"))
		if got := strings.TrimPrefix(text(err), filepath.Join(dir, "list.json")+": "); got != want {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
}
