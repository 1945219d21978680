package main

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestProgress checks when the line is shown, and its text.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, text: "reading the fleet"}
	says := func(want string) {
		t.Helper()
		if b.String() != want {
			t.Errorf("the terminal has %q, want %q", b.String(), want)
		}
		b.Reset()
	}
	p.ran = time.Second
	p.tick()
	says("")
	p.ran = 2500 * time.Millisecond
	p.tick()
	says("\r\033[Kreading the fleet, 2s")
	p.total, p.ran = 3, 61*time.Second
	p.step()
	says("")
	p.tick()
	says("\r\033[K1/3 clusters, 1m1s")
	p.beforePlugin()
	says("\r\033[K")
	p.tick()
	says("")
	p.step()
	says("\r\033[K2/3 clusters, 1m1s")

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (progressWriter{w, p}).Write([]byte("result")); err != nil {
		t.Fatal(err)
	}
	says("\r\033[K")
	p.step()
	p.clear()
	says("")
	w.Close()
	if text, err := io.ReadAll(r); err != nil || string(text) != "result" {
		t.Errorf("written: %q, %v", text, err)
	}
}

// TestProgressOfPipes checks that streams that are not terminals show no progress.
func TestProgressOfPipes(t *testing.T) {
	cmd := newRootCommand(&options{})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	_, end := startProgress(cmd)
	p := newProgress(cmd, 1)
	for range 100 {
		p.tick()
	}
	p.step()
	end()
	if out.Len() > 0 {
		t.Errorf("written: %q", &out)
	}
}

// TestProgressOfAllCommands checks that no command replaces the start of the root command,
// which starts the progress.
func TestProgressOfAllCommands(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.PersistentPreRun != nil || sub.PersistentPreRunE != nil {
				t.Errorf("%s has its own start", sub.CommandPath())
			}
			check(sub)
		}
	}
	check(newRootCommand(&options{}))
}
