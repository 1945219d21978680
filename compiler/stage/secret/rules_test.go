package secret

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// TestRuledFiles checks that commands which check or rotate all files of the rules leave
// out .git, cue.mod and symbolic links.
func TestRuledFiles(t *testing.T) {
	dir := t.TempDir()
	fleets.Write(t, dir, map[string]string{
		".sops.yaml":      "creation_rules:\n- path_regex: \\.yaml$\n  age: age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj\n",
		"a/secret.yaml":   "a: b\n",
		"a/other.txt":     "a\n",
		".git/x.yaml":     "a: b\n",
		"sub/.git/x.yaml": "a: b\n",
		"cue.mod/x.yaml":  "a: b\n",
	})
	if err := os.Symlink("../.git/x.yaml", filepath.Join(dir, "a", "link.yaml")); err != nil {
		t.Fatal(err)
	}
	got, err := NewFiles(dir).Ruled()
	if err != nil || !slices.Equal(got, []string{"a/secret.yaml"}) {
		t.Errorf("got %q, %v", got, err)
	}
}
