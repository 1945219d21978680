//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptServer ends a server with one signal. That is a success, however long a slow
// machine takes to remove the clone of the fleet.
func TestInterruptServer(t *testing.T) {
	t.Parallel()
	dir, temp := t.TempDir(), t.TempDir()
	if out, err := exec.Command("git", "init", "--quiet", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "fleetc", "drift", "--serve", "127.0.0.1:0", "--git", dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewReader(stderr)
	if line, err := log.ReadString('\n'); !strings.Contains(line, `"msg":"serving"`) {
		t.Fatalf("%v, %s", err, line)
	}
	clones, _ := filepath.Glob(filepath.Join(temp, "*", "tree"))
	if len(clones) != 1 {
		t.Fatalf("clones: %q", clones)
	}
	const files = 20000
	for i := range files {
		if err := os.WriteFile(filepath.Join(clones[0], strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	signal := func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGTERM)
	for left := files; left == files; {
		entries, _ := os.ReadDir(clones[0])
		left = min(left, len(entries))
	}
	signal(syscall.SIGSTOP)
	time.Sleep(2 * exitDelay)
	signal(syscall.SIGCONT)
	rest, _ := io.ReadAll(log)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v, %s", err, rest)
	}
	if _, err := os.Stat(clones[0]); !os.IsNotExist(err) {
		t.Errorf("the clone is left: %v", err)
	}
}

// TestEndSignals leaves a SIGHUP alone that nohup ignores.
func TestEndSignals(t *testing.T) {
	if !slices.Contains(endSignals(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP does not end commands")
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if slices.Contains(endSignals(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP ends commands although it is ignored")
	}
}
