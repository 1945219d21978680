package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const (
	progressDelay = 2 * time.Second // that a command runs before a terminal shows its progress
	progressTick  = 200 * time.Millisecond
)

// A progress shows on a terminal how far a command is, until the command writes
// something itself. The zero value shows nothing. It is safe for several goroutines.
type progress struct {
	mu          sync.Mutex
	w           io.Writer // nil for none
	ran         time.Duration
	done, total int  // clusters
	drawn       bool // whether the line is on the terminal
	over        bool
	eachStep    bool // whether a step shows the line
}

// startProgress shows the progress of a command when standard error is a terminal.
// The returned function ends it. A command that connects to clusters shows it only
// after each cluster: a credential plugin may be asking for a password meanwhile.
func startProgress(cmd *cobra.Command) (end func()) {
	out, isFile := cmd.OutOrStdout().(*os.File)
	errs, ok := cmd.ErrOrStderr().(*os.File)
	if !isFile || !ok || cmd.Hidden || !isTerminal(errs) {
		return func() {}
	}
	p := &progress{w: errs, eachStep: cmd.Flags().Lookup("kubeconfig") != nil}
	cmd.SetOut(progressWriter{out, p})
	cmd.SetErr(progressWriter{errs, p})
	ticker := time.NewTicker(progressTick)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				p.tick()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		p.clear()
	}
}

// newProgress returns the progress of a command that compiles a number of clusters.
func newProgress(cmd *cobra.Command, total int) *progress {
	w, ok := beneath(cmd.ErrOrStderr()).(progressWriter)
	if !ok {
		return &progress{}
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.done, w.p.total = 0, total
	return w.p
}

// step counts one more cluster.
func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done++; p.eachStep {
		p.draw()
	}
}

// tick counts the time that the command runs.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ran += progressTick; !p.eachStep {
		p.draw()
	}
}

// draw shows the line. Its caller has the lock.
func (p *progress) draw() {
	if p.w == nil || p.over || p.ran < progressDelay {
		return
	}
	text := "reading the fleet"
	if p.total > 0 {
		text = fmt.Sprintf("%d/%d clusters", p.done, p.total)
	}
	fmt.Fprintf(p.w, "\r\033[K%s, %s", text, p.ran.Truncate(time.Second))
	p.drawn = true
}

// clear removes the line and ends the progress.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over = true; p.drawn {
		fmt.Fprint(p.w, "\r\033[K")
		p.drawn = false
	}
}

// A progressWriter is a stream of a command that has a progress, which ends when the
// command writes.
type progressWriter struct {
	*os.File
	p *progress
}

// Write implements io.Writer.
func (w progressWriter) Write(text []byte) (int, error) {
	w.p.clear()
	return w.File.Write(text)
}

// fileOf returns the file that a stream of a command writes to or reads from.
func fileOf(stream any) (file *os.File, ok bool) {
	stream = beneath(stream)
	if w, ok := stream.(progressWriter); ok {
		return w.File, true
	}
	file, ok = stream.(*os.File)
	return file, ok
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}
