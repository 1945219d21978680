package deliver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// Reports are pushed at the same time: each push waits in a hook of the server for another one.
func TestReportsArePushedAtTheSameTime(t *testing.T) {
	home, bare := t.TempDir(), filepath.Join(t.TempDir(), "reports.git")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "config"))
	config := "[user]\n\tname = Ann Example\n\temail = ann@example.com\n"
	hook := "#!/bin/sh\nmkdir -p waiting\n: > waiting/$$\ni=0\nwhile [ $(ls waiting | wc -l) -lt 2 ]; do\n\ti=$((i+1))\n\t[ $i -lt 600 ] || exit 1\n\tsleep 0.1\ndone\n"
	if err := os.WriteFile(filepath.Join(home, "config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "--quiet", "--bare", bare).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(bare, "hooks", "pre-receive"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	o := GitOpsReportOptions{Branch: "r", Open: func() (*export.Remote, error) { return export.OpenRemote(t.Context(), bare, home) }}
	var reports []export.GitOpsReport
	for _, id := range []string{"prod/a", "prod/b", "prod/c", "prod/d"} {
		reports = append(reports, export.NewGitOpsReport(id, time.Now(), nil))
	}
	pushed, err := o.pushAll(t.Context(), reports)
	if err != nil || len(pushed) != len(reports) || pushed[3].Cluster != "prod/d" {
		t.Errorf("pushed %v: %v", pushed, err)
	}
	out, err := exec.Command("git", "-C", bare, "for-each-ref", "--format=%(refname)").CombinedOutput()
	if want := "refs/heads/r/prod/a.report refs/heads/r/prod/b.report refs/heads/r/prod/c.report refs/heads/r/prod/d.report"; err != nil || strings.Join(strings.Fields(string(out)), " ") != want {
		t.Errorf("branches %s: %v", out, err)
	}
}
