package compiler_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// memoryDir names, for the child process of TestMemory, the fleet to export.
const memoryDir = "FLEETC_TEST_MEMORY_DIR"

// TestMemory exports fleets of 10 and of 200 clusters, each in a process of
// its own, and compares how much memory these had at their peaks: it must not
// grow with the fleet.
func TestMemory(t *testing.T) {
	if dir := os.Getenv(memoryDir); dir != "" {
		exportFleet(t, dir, filepath.Join(t.TempDir(), "out"))
		return
	}
	peak := func(n int) int64 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
		cmd.Env = append(os.Environ(), memoryDir+"="+generate(t, n))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%d clusters: %v\n%s", n, err, out)
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	}
	few, many := peak(10), peak(200)
	t.Logf("peak resident: %d for 10 clusters, %d for 200", few, many)
	if float64(many) > 1.5*float64(few) {
		t.Errorf("200 clusters take %.2f times the memory of 10", float64(many)/float64(few))
	}
}
