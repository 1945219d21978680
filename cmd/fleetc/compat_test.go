package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCompatibility reads what earlier commits wrote: testdata/compat has a directory for
// each, which testdata/compat/record wrote with the fleetc of that commit. The test of
// the clusters is in testdata/e2e.
func TestCompatibility(t *testing.T) {
	records, err := filepath.Glob("../../testdata/compat/20*")
	if err != nil || len(records) == 0 {
		t.Fatalf("there are no records of earlier commits: %v", err)
	}
	for _, record := range records {
		t.Run(filepath.Base(record), func(t *testing.T) {
			scripts := []string{"../../testdata/compat/read.txtar"}
			if _, err := os.Stat(filepath.Join(record, "rollout.json")); err == nil {
				scripts = append(scripts, "../../testdata/compat/rollout.txtar")
			}
			testscript.Run(t, testscript.Params{
				Files:               scripts,
				UpdateScripts:       *update,
				RequireExplicitExec: true,
				Setup: func(env *testscript.Env) error {
					env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
					env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "home", "cache"))
					env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(env.WorkDir, "home", "gitconfig"))
					env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "home", "kubeconfig"))
					return os.CopyFS(env.WorkDir, os.DirFS(record))
				},
				Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"sub": cmdSub},
			})
		})
	}
}
