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
	progressDelay = 2 * time.Second // delay before a terminal shows progress
	progressTick  = 200 * time.Millisecond
)

// A progress shows the progress of a command on a terminal until the command
// writes output. The zero value shows nothing. It may be used by several
// goroutines.
type progress struct {
	mu          sync.Mutex
	w           io.Writer // nil for none
	ran         time.Duration
	done, total int  // clusters
	drawn       bool // whether the line is on the terminal
	ended       bool
	text        string
	eachStep    bool // whether steps draw the line, and not the clock
}

// startProgress shows the progress of a command if standard error is a
// terminal. The returned function ends it.
func startProgress(cmd *cobra.Command) (p *progress, end func()) {
	out := cmd.OutOrStdout()
	_, isFile := fileOf(out)
	errs, ok := cmd.ErrOrStderr().(*os.File)
	if !isFile || !ok || cmd.Hidden || !isTerminal(errs) {
		return &progress{}, func() {}
	}
	p = &progress{w: errs, text: "reading the fleet"}
	if cmd.Flags().Lookup("kubeconfig") != nil {
		p.text += " and its clusters"
	}
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
	return p, func() {
		ticker.Stop()
		close(done)
		p.clear()
	}
}

// newProgress returns the progress of a command that compiles a number of
// clusters.
func newProgress(cmd *cobra.Command, total int) *progress {
	w, ok := unwrapStream(cmd.ErrOrStderr()).(progressWriter)
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

// stepOf counts one more cluster of a number of clusters.
func (p *progress) stepOf(total int) {
	p.mu.Lock()
	p.total = total
	p.mu.Unlock()
	p.step()
}

// tick counts the running time.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ran += progressTick; !p.eachStep {
		p.draw()
	}
}

// beforePlugin prepares the terminal for a credential plugin, which may ask for a
// password: from now on, only steps draw the line.
func (p *progress) beforePlugin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.eachStep = true
}

// draw draws the line. The caller holds the lock.
func (p *progress) draw() {
	if p.w == nil || p.ended || p.ran < progressDelay {
		return
	}
	text := p.text
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
	p.ended = true
	p.erase()
}

// erase removes the line. The caller holds the lock.
func (p *progress) erase() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\033[K")
		p.drawn = false
	}
}

// A progressWriter is a stream of a command whose writes end the progress.
type progressWriter struct {
	io.Writer
	p *progress
}

// Write implements io.Writer.
func (w progressWriter) Write(text []byte) (int, error) {
	w.p.clear()
	return w.Writer.Write(text)
}

// fileOf returns the file of a command's stream.
func fileOf(stream any) (file *os.File, ok bool) {
	switch w := unwrapStream(stream).(type) {
	case progressWriter:
		return fileOf(w.Writer)
	case *stdout:
		return w.file, true
	case *os.File:
		return w, true
	}
	return nil, false
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}
