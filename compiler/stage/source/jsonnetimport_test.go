package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile makes a fleet with a file outside of it, ../secret.txt.
func hostile(t *testing.T, main string) *JsonnetRenderer {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret.txt"), []byte("{apiVersion: 'v1', kind: 'Secret'}"))
	write(t, filepath.Join(dir, "fleet/app/main.jsonnet"), []byte(main))
	write(t, filepath.Join(dir, "fleet/vendor/lib.libsonnet"), []byte("importstr '../../secret.txt'"))
	write(t, filepath.Join(dir, "fleet/folder/x"), nil)
	for link, target := range map[string]string{
		"out.libsonnet":       "../../secret.txt",
		"absolute.libsonnet":  filepath.Join(dir, "secret.txt"),
		"circle.libsonnet":    "circle.libsonnet",
		"out":                 "../..",
		"main-link.libsonnet": "../app/main.jsonnet",
		"inside.libsonnet":    "../folder/../folder/x",
	} {
		if err := os.Symlink(target, filepath.Join(dir, "fleet/app", link)); err != nil {
			t.Fatal(err)
		}
	}
	r := &JsonnetRenderer{Dir: filepath.Join(dir, "fleet")}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestHostileImports(t *testing.T) {
	for _, test := range []struct{ path, want string }{
		{"../../secret.txt", "is outside of the fleet's directory [FL1405]"},
		{"../../fleet/folder/x", "is outside of the fleet's directory [FL1405]"},
		{"x/../../../secret.txt", "is outside of the fleet's directory [FL1405]"},
		{"/etc/passwd", "is not a relative path with slashes: imports must be files of the fleet [FL1405]"},
		{"https://example.com/x.libsonnet", "is not a relative path with slashes: imports must be files of the fleet [FL1405]"},
		{`..\\..\\secret.txt`, "is not a relative path with slashes: imports must be files of the fleet [FL1405]"},
		{`x\u0000y`, "is not a relative path with slashes: imports must be files of the fleet [FL1405]"},
		{"out.libsonnet", "cannot be read: it is outside of the fleet's directory [FL1405]"},
		{"absolute.libsonnet", "cannot be read: it is outside of the fleet's directory [FL1405]"},
		{"out/secret.txt", "cannot be read: it is outside of the fleet's directory [FL1405]"},
		{"circle.libsonnet", "cannot be read: it has too many symbolic links [FL1405]"},
		{"../folder", "cannot be read: it is a directory [FL1405]"},
		{"", "cannot be read: it is a directory [FL1405]"},
		{".", "cannot be read: it is a directory [FL1405]"},
		{"../folder/x/y", "is not there [FL1405]"},
		{"<fleetc>/fleetc.libsonnet", "is not there [FL1405]"},
		{"./fleetc.libsonnet", "is not there [FL1405]"},
	} {
		for _, how := range []string{"import", "importstr", "importbin"} {
			t.Run(how+" "+test.path, func(t *testing.T) {
				r := hostile(t, "function(params)\n  "+how+" '"+test.path+"'\n")
				got, err := r.Render(t.Context(), requestOf("app/main.jsonnet"))
				if err == nil {
					t.Fatalf("no error: %v", got)
				}
				text := textOfFaults(t, err)
				if !strings.HasPrefix(text, "app/main.jsonnet:2:3: releases.app: ") || !strings.Contains(text, test.want+"\n") {
					t.Errorf("got\n%s\nwant\n%s", text, test.want)
				}
				if want := "app/main.jsonnet"; strings.Join(got.Reads, " ") != want {
					t.Errorf("read %q", got.Reads)
				}
			})
		}
	}
}

func TestHostileFile(t *testing.T) {
	for file, want := range map[string]string{
		"../secret.txt":     "environments/fleet.cue:7:2: releases.app: \"../secret.txt\" is outside of the fleet's directory [FL1405]\n    hint: name a file of the fleet, relative to its root\n",
		"app/out.libsonnet": "environments/fleet.cue:7:2: releases.app: \"app/out.libsonnet\" cannot be read: it is outside of the fleet's directory [FL1405]\n    hint: name a file of the fleet that can be read\n",
		"app/none.jsonnet":  "environments/fleet.cue:7:2: releases.app: \"app/none.jsonnet\" is not there [FL1405]\n    hint: create it, or correct the path of the release\n",
		"fleetc.libsonnet":  "environments/fleet.cue:7:2: releases.app: \"fleetc.libsonnet\" is not there [FL1405]\n    hint: create it, or correct the path of the release\n",
		"/etc/passwd":       "environments/fleet.cue:7:2: releases.app: \"/etc/passwd\" is not a relative path with slashes: imports must be files of the fleet [FL1405]\n    hint: name a file of the fleet, relative to its root\n",
	} {
		_, err := hostile(t, "{}").Render(t.Context(), requestOf(file))
		if got := textOfFaults(t, err); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
}

// TestLinkInside follows links that stay inside.
func TestLinkInside(t *testing.T) {
	r := hostile(t, "function(params) {apiVersion: 'v1', kind: 'A', x: importstr 'inside.libsonnet'}")
	got, err := r.Render(t.Context(), requestOf("app/main-link.libsonnet"))
	if err != nil || len(got.Objects) != 1 {
		t.Errorf("%v, %v", got.Objects, err)
	}
}

func TestVendoredLibraryStaysInside(t *testing.T) {
	r := hostile(t, "function(params)\n  import 'lib.libsonnet'\n")
	_, err := r.Render(t.Context(), requestOf("app/main.jsonnet"))
	want := `app/main.jsonnet:2:3: releases.app: "../../secret.txt" is outside of the fleet's directory [FL1405]
    environments/fleet.cue:7:2: and here
    vendor/lib.libsonnet:1:1: and here
    hint: copy the file into the fleet, and write its path relative to the file that imports it
`
	if got := textOfFaults(t, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOwnFilesBeforeVendored tests the order of import paths; the embedded
// library is the last.
func TestOwnFilesBeforeVendored(t *testing.T) {
	r := rendererOf(t, `
-- main.jsonnet --
function(params) {apiVersion: 'v1', kind: 'A', x: [import 'a.json', import './a.json', import 'b.json', (import 'fleetc.libsonnet').own]}
-- a.json --
1
-- vendor/a.json --
2
-- vendor/b.json --
3
-- vendor/fleetc.libsonnet --
{own: 4}
`)
	got, err := r.Render(t.Context(), requestOf("main.jsonnet"))
	if err != nil {
		t.Fatal(err)
	}
	if text, want := jsonOf(t, got.Objects), "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"x\":[1,1,3,4]}\n"; text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestTooManyFiles(t *testing.T) {
	r := rendererOf(t, "-- a.jsonnet --\nfunction(params) importstr 'one.txt'\n-- one.txt --\n")
	m, err := newMachine()
	if err != nil {
		t.Fatal(err)
	}
	req := requestOf("a.jsonnet")
	run := newRun(t.Context(), r, req)
	for i := range maxJsonnetReads {
		run.reads[fmt.Sprint(i)] = &jsonnetFile{}
	}
	m.run = run
	if _, _, err := m.Import("a.jsonnet", "one.txt"); err == nil || err.Error() != `"one.txt" exceeds the limit of 10000 files and 128 MiB` {
		t.Errorf("got %v", err)
	}
}

func TestLargeFiles(t *testing.T) {
	r := rendererOf(t, "-- a.jsonnet --\nfunction(params) {apiVersion: 'v1', kind: 'A', x: std.length(importstr 'code.json')}\n-- b.jsonnet --\nfunction(params) import 'code.json'\n-- c.jsonnet --\nfunction(params) importstr 'data.txt'\n")
	write(t, filepath.Join(r.Dir, "code.json"), append(bytes.Repeat([]byte(" "), maxJsonnetCode), '1'))
	write(t, filepath.Join(r.Dir, "data.txt"), make([]byte, maxJsonnetFile+1))
	got, err := r.Render(t.Context(), requestOf("a.jsonnet"))
	if err != nil || jsonOf(t, got.Objects) != "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"x\":4194305}\n" {
		t.Errorf("%v, %v", got, err)
	}
	for file, want := range map[string]string{
		"b.jsonnet": `b.jsonnet:1:18: releases.app: "code.json" is not evaluated: it is larger than 4 MiB, too much for code`,
		"c.jsonnet": `c.jsonnet:1:18: releases.app: "data.txt" cannot be read: it is larger than 16 MiB`,
	} {
		if _, err := r.Render(t.Context(), requestOf(file)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
