package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// wantFault checks that an error contains a text, or is nil for an empty text.
func wantFault(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// TestArchiveCheck changes one file of a complete archive.
func TestArchiveCheck(t *testing.T) {
	committed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		file   string
		change func(*archiveFile)
		want   string
	}{
		"complete":      {"LICENSE", func(*archiveFile) {}, ""},
		"empty":         {"LICENSES.txt", func(f *archiveFile) { f.data = nil }, "no file LICENSES.txt"},
		"writable":      {"LICENSE", func(f *archiveFile) { f.mode = 0o664 }, "LICENSE: -rw-rw-r--"},
		"a directory":   {"LICENSE", func(f *archiveFile) { f.mode |= fs.ModeDir }, "LICENSE: drw-r--r--"},
		"not a program": {"fleetc.exe", func(f *archiveFile) { f.mode = 0o644 }, "fleetc.exe: -rw-r--r--"},
		"of a user":     {"README.md", func(f *archiveFile) { f.owner = "me:me" }, "me:me"},
		"newer":         {"README.md", func(f *archiveFile) { f.time = f.time.Add(time.Second) }, "00:00:01"},
	} {
		files := archive{"fleetc.exe": {0o755, "root:root", committed, []byte("a")}}
		for _, file := range required {
			files[file] = archiveFile{0o644, "root:root", committed, []byte("a")}
		}
		f := files[test.file]
		test.change(&f)
		files[test.file] = f
		wantFault(t, name, files.check(artifact{Goos: "windows"}, committed), test.want)
	}
}

func TestSameFiles(t *testing.T) {
	unix := archive{"fleetc": {data: []byte("a")}, "LICENSE": {data: []byte("b")}}
	wantFault(t, "same", unix.sameFiles(archive{"fleetc.exe": {data: []byte("c")}, "LICENSE": {data: []byte("b")}}), "")
	wantFault(t, "other text", unix.sameFiles(archive{"LICENSE": {data: []byte("c")}}), "differ")
	wantFault(t, "more", unix.sameFiles(archive{}), "differ")
}

// TestCheckBinary checks this test's own binary, which was not built from a commit.
func TestCheckBinary(t *testing.T) {
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	here := artifact{Goos: runtime.GOOS, Goarch: runtime.GOARCH}
	path := []byte("/home/me/src/a.go")
	for _, test := range []struct {
		name string
		data []byte
		a    artifact
		want string
	}{
		{"another system", data, artifact{Goos: "windows", Goarch: runtime.GOARCH}, "the program is for " + runtime.GOOS},
		{"no commit", data, here, "vcs.revision=, not abc"},
		{"a path", append(bytes.Clone(data), path...), here, `a path of this machine: "/home/me/src/a.go`},
		{"a script", []byte("#!/bin/sh\n"), here, "is not an ELF, PE or Mach-O file"},
	} {
		wantFault(t, test.name, checkBinary(test.data, test.a, "abc", []string{"/home/me"}), test.want)
	}
}

// TestChecksums checks files, SPDX documents and manifests of a release.
func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	const digest = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" // of a
	write(t, dir, "a.zip", "a")
	write(t, dir, "dist/fleetc.json", `{"url": "https://example.com/v1.2.3/a.zip", "hash": "`+digest+`"}`)
	r := &release{
		dir: dir, Version: "1.2.3", checksums: map[string]string{"a.zip": digest},
		artifacts: []artifact{{Name: "a.zip", Type: "Archive", Goos: "windows"}},
	}
	wantFault(t, "right", r.checkChecksums(), "")
	wantFault(t, "no manifest", r.checkManifests(), "0 files of type Scoop Manifest")
	r.dir = filepath.Join(dir, "dist")
	r.artifacts = append(r.artifacts, artifact{Name: "fleetc.json", Path: "dist/fleetc.json", Type: "Scoop Manifest"})
	wantFault(t, "manifest", r.checkManifests(), "")
	r.checksums["a.zip"] = "0123"
	wantFault(t, "manifest of another file", r.checkManifests(), "fleetc.json does not install a.zip")
	r.dir = dir
	write(t, dir, "a~rc.1.deb", "a")
	r.artifacts = append(r.artifacts, artifact{Name: "a~rc.1.deb", Type: "Linux Package"})
	wantFault(t, "renamed by GitHub", r.checkChecksums(), "would replace ~ in the name of a~rc.1.deb")
	wantFault(t, "wrong", r.checkChecksums(), "a.zip has the digest "+digest)
	write(t, dir, "a.spdx.json", `{"spdxVersion": "SPDX-2.3", "checksumValue": "`+digest+`"}`)
	wantFault(t, "document", checkDocument(filepath.Join(dir, "a.spdx.json"), []byte("a")), "")
	wantFault(t, "document of another program", checkDocument(filepath.Join(dir, "a.spdx.json"), []byte("b")), "a.spdx.json does not contain")
}

// TestFollow follows pages with a release that has one file.
func TestFollow(t *testing.T) {
	dist := t.TempDir()
	write(t, dist, "metadata.json", `{"version": "7.8.9"}`)
	write(t, dist, "artifacts.json", `[]`)
	write(t, dist, "checksums.txt", "a sum\n")
	const install = "## An archive\n\n```sh\nversion=1.2.3\ncurl -fsSLO \"https://github.com/fleetc/fleetc/releases/download/v$version/checksums.txt\"\nmkdir fleet && cd fleet\n```\n\n## Go\n\n```sh\nfalse\n```\n"
	for name, test := range map[string]struct{ page, want string }{
		"right":          {"```console\n$ cat ../checksums.txt\na sum\n$ echo $version\n7.8.9\n$ ls -A ~\n```\n", ""},
		"a file":         {"```cue\n// a/b.cue\npackage b\n```\n\n```console\n$ tail -n 1 a/b.cue\npackage b\n```\n", ""},
		"other output":   {"```console\n$ true\n$ echo b\na\n```\n", "quickstart.md:2: echo b prints\nb\n"},
		"a failure":      {"```sh\nfalse\ntrue\n```\n", "quickstart.md:2: the shell ended"},
		"not a command":  {"```console\nb\n```\n", `"b" is not a command`},
		"no such upload": {"```sh\ncurl -fsSLO https://github.com/fleetc/fleetc/releases/download/v7.8.9/b\n```\n", "the shell ended"},
	} {
		docs := t.TempDir()
		write(t, docs, "install.md", install)
		write(t, docs, "quickstart.md", test.page)
		wantFault(t, name, followDocs(t.Context(), docs, dist, io.Discard), test.want)
	}
}
