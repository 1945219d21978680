package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts and the golden files")

func TestMain(m *testing.M) {
	testscript.Main(manyCommands{m}, map[string]func(){"fleetc": func() {
		if os.Getenv("FLEETC_TEST_RENAMES") != "" {
			diag.Renames = testRenames
		}
		main()
	}})
}

// manyCommands are tests that run many commands in one process. The limit of fleetc for the
// memory of one command would make the process collect garbage all the time.
type manyCommands struct{ *testing.M }

// Run runs the tests.
func (m manyCommands) Run() int {
	debug.SetMemoryLimit(math.MaxInt64)
	return m.M.Run()
}

// testRenames are renames that scripts can ask for with FLEETC_TEST_RENAMES, because
// no field of the schema was renamed so far.
var testRenames = []diag.Rename{
	{Since: "v0.3.0", Definition: "#Release", Old: "recreate", New: "replace"},
	{Since: "v0.3.0", Definition: "#Config", Old: "checks", New: "policies"},
	{Since: "v0.4.0", Definition: "#ObjectSelector", Old: "types", New: "kinds"},
}

// TestScripts runs the command line as users do. The scripts are its
// specification: the first line of each is the rule that it checks.
func TestScripts(t *testing.T) { runScripts(t, "script") }

// TestProgramScripts runs the scripts that compare with sops, vals and helmfile. These
// programs take longer to build than fleetc, so make test leaves them to make test-programs.
func TestProgramScripts(t *testing.T) { runScripts(t, filepath.Join("script", "programs")) }

// runScripts runs the scripts in a directory below testdata.
func runScripts(t *testing.T, dir string) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cue := cueCommand(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(top, "testdata", dir),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOP", top)
			env.Setenv("CUE", cue)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("CHARTS", filepath.Join(top, "testdata", "charts"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "home", "cache"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "home", "config"))
			env.Setenv("DOCKER_CONFIG", filepath.Join(env.WorkDir, "home", "docker"))
			env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(env.WorkDir, "home", "gitconfig"))
			env.Values[serversKey{}] = &servers{}
			env.Values[imagesKey{}] = new(*imageProxy)
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve":  cmdServe,
			"shut":   cmdShut,
			"asked":  cmdAsked,
			"report": cmdReport,
			"ago":    cmdAgo,
			"images": cmdImages,
			"pull":   cmdPull,

			"annotations": cmdAnnotations,
			"files":       cmdFiles,
			"times":       cmdTimes,
			"program":     cmdProgram,
			"sub":         cmdSub,
			"sarif":       cmdSARIF,
		},
	})
}

// cmdProgram builds a program of a module below testdata, such as tools, and puts it into
// PATH: program MODULE NAME.
func cmdProgram(ts *testscript.TestScript, neg bool, args []string) {
	const count = 2
	if neg || len(args) != count {
		ts.Fatalf("usage: program MODULE NAME")
	}
	path, err := toolPath(args[0], args[1])
	ts.Check(err)
	ts.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

// cmdFiles writes the sorted paths of all files below a directory to a file:
// files DIR LIST.
func cmdFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: files DIR LIST")
	}
	dir := ts.MkAbs(args[0])
	var b strings.Builder
	ts.Check(filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		fmt.Fprintln(&b, filepath.ToSlash(rel))
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

// cmdTimes is like files, with the inode and times of every file and directory
// below the top: equal lists mean that nothing was written.
func cmdTimes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: times DIR LIST")
	}
	dir := ts.MkAbs(args[0])
	var b strings.Builder
	ts.Check(filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		inode := reflect.Indirect(reflect.ValueOf(info.Sys())).FieldByName("Ino")
		fmt.Fprintf(&b, "%s %v %d %d %d\n", filepath.ToSlash(rel), info.Mode(), info.Size(), inode.Uint(), info.ModTime().UnixNano())
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

// cmdSub replaces a text in a file: sub OLD NEW FILE. The text must exist.
func cmdSub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: sub OLD NEW FILE")
	}
	file := ts.MkAbs(args[2])
	data, err := os.ReadFile(file)
	ts.Check(err)
	if !strings.Contains(string(data), args[0]) {
		ts.Fatalf("%s has no %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(file, []byte(strings.ReplaceAll(string(data), args[0], args[1])), 0o644))
}
