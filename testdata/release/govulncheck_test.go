package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestGovulncheck runs govulncheck with a database of one vulnerability, on a
// program that calls the function and on one that does not.
func TestGovulncheck(t *testing.T) {
	db := t.TempDir()
	write(t, db, "index/db.json", `{"modified":"2026-01-01T00:00:00Z"}`)
	write(t, db, "index/modules.json", `[{"path":"stdlib","vulns":[{"id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z","fixed":"99.0.0"}]}]`)
	write(t, db, "ID/GO-2026-0001.json", `{"schema_version":"1.3.1","id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z",
		"summary":"an example","details":"an example","affected":[{"package":{"name":"stdlib","ecosystem":"Go"},
		"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"99.0.0"}]}],
		"ecosystem_specific":{"imports":[{"path":"strings","symbols":["ToTitle"]}]}}]}`)
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for call, isCalled := range map[string]bool{`strings.ToTitle("a")`: true, `strings.ToUpper("a")`: false} {
		dir := t.TempDir()
		write(t, dir, "go.mod", "module example.com/a\n\ngo 1.26\n")
		write(t, dir, "main.go", "package main\n\nimport \"strings\"\n\nfunc main() { println("+call+") }\n")
		cmd := exec.CommandContext(t.Context(), "go", "tool", "govulncheck", "-db", "file://"+filepath.ToSlash(db), "-C", dir, "-format", "json", ".")
		var stderr bytes.Buffer
		cmd.Stderr, cmd.Env = &stderr, append(os.Environ(), "GOFLAGS=")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		list := []exemption{{"GO-2026-0001", "an example", "2026-12-31"}}
		if err := checkVulnerabilities(bytes.NewReader(out), nil, now); (err != nil) != isCalled {
			t.Errorf("%s: without exemption: %v\n%s", call, err, out)
		}
		if err := checkVulnerabilities(bytes.NewReader(out), list, now); (err == nil) != isCalled {
			t.Errorf("%s: with exemption: %v", call, err)
		}
	}
}
