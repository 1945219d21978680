package edit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

func TestFiles(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		"a.cue", "b/c.cue", "b/_d.cue", "b/.e.cue", "b/f_tool.cue", "b/testdata/g.cue", "b/cue", "b/h.cue.new",
		"_x/a.cue", ".y/a.cue", "b/_x/a.cue", "cue.mod/module.cue", "cue.mod/pkg/p/p.cue", "b/other/cue.mod/module.cue", "b/other/a.cue",
	} {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.cue": "a.cue", "loop": ".", "nowhere.cue": "x.cue", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "dir.cue"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := cueFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.cue", "b/.e.cue", "b/_d.cue", "b/c.cue", "b/f_tool.cue", "b/testdata/g.cue"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for _, file := range got {
		if !isCUE(file) {
			t.Errorf("%s is a file and no CUE", file)
		}
	}
}

func TestIsCUE(t *testing.T) {
	for file, want := range map[string]bool{
		"a.cue": true, "cue.mod.cue": true, "x/cue.mod.cue": true, "a.cue.new": false, "cue": false, "cue.mod/module.cue": false, "cue.mod/pkg/a.cue": false,
	} {
		if isCUE(file) != want {
			t.Errorf("IsCUE(%s) = %v", file, !want)
		}
	}
}

func TestSourceFaults(t *testing.T) {
	_, err := FormatSource("/root", "/root/x/a.cue", []byte("package a\n\nb: ü c\nd: ]\n"))
	var lines []string
	for _, d := range diag.All(err) {
		lines = append(lines, d.Error())
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "x/a.cue:3:7: ") {
		t.Errorf("got %q", lines)
	}
}

// FuzzSource checks that formatted text parses, so that formatting cannot
// destroy a file.
func FuzzSource(f *testing.F) {
	f.Add("package a\nx:1 // c\ny: {a:2,\nb:3}")
	f.Add("a: [...{b?: int | *\"\\(c)\"}]\nif x {y: 1}\nlet z = 1\n")
	f.Add("@if(a)\n\n#!x\nx: ''' \n   ''' & \"\"\"\n\n\t\"\"\"")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := FormatSource("/r", "/r/a.cue", []byte(text))
		if err != nil {
			return
		}
		if _, err := parser.ParseFile("a.cue", out, parser.ParseComments); err != nil {
			t.Errorf("%q becomes %q: %v", text, out, err)
		}
	})
}
