package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// TestReplacedModulesStayInside checks replacing directories outside of the
// repository and in .git, also behind a link.
func TestReplacedModulesStayInside(t *testing.T) {
	t.Setenv("CUE_REGISTRY", "none")
	dir := write(t, `
-- .git/modules/s/s.cue --
package s
-- .git/modules/cue.mod/module.cue --
module: "example.org/stacks@v0"
language: version: "v0.17.0"
-- environments/dev/cluster.cue --
package fleet
cluster: {name: "dev"}
`)
	outside := t.TempDir()
	for name, to := range map[string]string{"out": outside, "git": ".git/modules"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for with, want := range map[string]string{
		outside:          "is outside of the repository",
		"../elsewhere":   "is outside of the repository",
		"./out":          "is outside of the repository",
		"./.git/modules": "is inside .git",
		"./git":          "is inside .git",
	} {
		text := "deps: \"example.org/stacks@v0\": {v: \"v0.1.0\", replaceWith: \"" + with + "\"}\n"
		if err := os.WriteFile(filepath.Join(dir, localModule), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir, nil, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "cue.mod/local-module.cue:1:59: the module in ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", with, err)
		}
		if _, _, err := ReadPackage(dir, filepath.Join(dir, "environments", "dev")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: a package: got %v", with, err)
		}
	}
}

// TestLocalModuleFaults checks that a fault in local-module.cue has a position
// and a hint, and is reported once.
func TestLocalModuleFaults(t *testing.T) {
	t.Setenv("CUE_REGISTRY", "none")
	dir := write(t, `
-- environments/dev/cluster.cue --
package fleet
cluster: {name: "dev"}
-- environments/prod/cluster.cue --
package fleet
cluster: {name: "prod"}
`)
	for text, want := range map[string]string{
		`deps: "example.org/s@v0": {v: "v0.1.0", replaceWith: "~/mod"}`:    "cue.mod/local-module.cue:1:54: \"~/mod\" is not a directory",
		`deps: "example.org/s@v0": {v: "v0.1.0", replaceWith: "./" + "a"}`: "cue.mod/local-module.cue:1:54: invalid module file syntax: expressions ",
		`deps: "example.org/s@v0": {}`:                                     "cue.mod/local-module.cue: dependency ",
	} {
		if err := os.WriteFile(filepath.Join(dir, localModule), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir, nil, nil)
		if all := diag.All(err); len(all) != 1 || !strings.HasPrefix(all[0].Error(), want) || all[0].Hint == "" || all[0].Code != diag.CodeModulePath {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
