package compiler_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets/exported"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// memoryDir is the variable that names the fleet for the child process of TestMemory.
const memoryDir = "FLEETC_TEST_MEMORY_DIR"

// TestMemory exports fleets of 10 and 200 clusters in separate processes and compares their
// peak memory: the objects of a cluster must not stay in memory.
func TestMemory(t *testing.T) {
	if dir := os.Getenv(memoryDir); dir != "" {
		exported.Fleet(t, dir, filepath.Join(t.TempDir(), "out"))
		// The peak that a parent reads of its child includes the parent's memory at the
		// time of the fork.
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.Write(status); err != nil {
			t.Fatal(err)
		}
		return
	}
	// Each two clusters share more releases than others.
	pairs := func(j int) string {
		return fmt.Sprintf("releases: certs: defaults: c%03d: replicaCount: %d\n", j, 1+j/6)
	}
	peak := func(n int) int {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
		cmd.Env = append(os.Environ(), "GOGC=100", memoryDir+"="+fleets.Generate(t, n, pairs))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%d clusters: %v\n%s", n, err, out)
		}
		m := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(out)
		if m == nil {
			t.Fatalf("the child does not say how much it took:\n%s", out)
		}
		kilobytes, _ := strconv.Atoi(string(m[1]))
		return kilobytes
	}
	few, many := peak(10), peak(200)
	t.Logf("peak resident: %d kB for 10 clusters, %d kB for 200", few, many)
	// A cluster's layers stay, its objects do not.
	const most = 250 // kB
	if grown := (many - few) / 190; grown > most {
		t.Errorf("each cluster more takes %d kB, want at most %d", grown, most)
	}
}
