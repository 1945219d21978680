//go:build unix

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs a plugin instead of the tests when a test starts this program with
// "run".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "run" {
		status, err := RunCredentialPlugin(context.Background(), time.Hour, os.Args[2:], os.Stdin, os.Stdout, os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(status)
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, script string
		status       int
		stdout       string
	}{
		{name: "credentials", script: "echo token", stdout: "token\n"},
		{name: "no partial credentials", script: "echo token; exit 3", status: 3},
		{name: "leaves a program", script: "sleep 30 & echo token", stdout: "token\n"},
		{name: "hangs", script: "echo token; sleep 30", status: pluginTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stdout bytes.Buffer
			status, err := RunCredentialPlugin(t.Context(), 2*time.Second, []string{"sh", "-c", test.script}, null(t), &stdout, io.Discard)
			if err != nil || status != test.status || stdout.String() != test.stdout {
				t.Errorf("got status %d, %q, %v; want %d and %q", status, stdout.String(), err, test.status, test.stdout)
			}
		})
	}
}

func TestRunMissing(t *testing.T) {
	for _, name := range []string{"fleetc-has-no-such-plugin", "/fleetc/has/no/such/plugin"} {
		if status, err := RunCredentialPlugin(t.Context(), time.Minute, []string{name}, null(t), io.Discard, io.Discard); status != pluginMissing || err != nil {
			t.Errorf("%s: got status %d, %v; want %d", name, status, err, pluginMissing)
		}
	}
}

func TestRunEndless(t *testing.T) {
	var stdout bytes.Buffer
	status, err := RunCredentialPlugin(t.Context(), time.Minute, []string{"sh", "-c", "yes"}, null(t), &stdout, io.Discard)
	if stdout.Len() > 0 || status == pluginTimeout || status == 0 && err == nil {
		t.Errorf("got %d bytes, status %d and %v of a plugin that prints without end", stdout.Len(), status, err)
	}
}

// Processes that a plugin started end with it.
func TestRunKillsProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	script := `sleep 300 & echo $! > "$0.new" && mv "$0.new" "$0"; wait`
	status, err := RunCredentialPlugin(t.Context(), time.Second, []string{"sh", "-c", script, file}, null(t), io.Discard, io.Discard)
	if status != pluginTimeout || err != nil {
		t.Fatalf("got status %d, %v", status, err)
	}
	checkEnded(t, pidIn(t, file))
}

// A plugin ends when the parent of its runner has ended.
func TestRunOrphan(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	plugin := `echo $$ > "$0.new" && mv "$0.new" "$0"; exec sleep 300`
	// The shell ends once the plugin runs, which orphans the runner.
	cmd := exec.Command("sh", "-c", `"$@" & until test -e "$0"; do sleep 0.1; done`, file, self, "run", "sh", "-c", plugin, file)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, pidIn(t, file))
}

func null(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// checkEnded waits for a process to end.
func checkEnded(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		if err := syscall.Kill(pid, 0); err != nil {
			return
		}
		// A process whose parent does not wait for it is a zombie.
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d goes on", pid)
}
