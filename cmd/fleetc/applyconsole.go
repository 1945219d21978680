package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// An applyConsole shows the progress of clusters and asks for approvals, one
// at a time. Progress is queued during a question.
type applyConsole struct {
	in  io.Reader
	out io.Writer

	turn  chan struct{} // holds an element during a question
	read  sync.Once
	lines chan string // answers; closed at the end of in

	show  func(apply.Event)
	clear func() // removes the progress from the screen

	mu     sync.Mutex
	asking bool
	queued []apply.Event
}

func newApplyConsole(in io.Reader, out io.Writer) *applyConsole {
	return &applyConsole{in: in, out: out, turn: make(chan struct{}, 1), lines: make(chan string, 1)}
}

// ask asks for the approval of an action.
func (c *applyConsole) ask(ctx context.Context, cluster string, a *fleet.Action) (bool, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	c.listen()
	select {
	case <-c.lines: // an answer to a cancelled question
	default:
	}
	c.hold(fmt.Sprintf("%s: action %s: %s\n%s: approve? [y/N] ", cluster, a.ID(), diag.Visible(a.Manual, diag.MaxText), cluster))
	defer c.release()
	select {
	case answer, ok := <-c.lines:
		if !ok {
			return false, &diag.Diag{Code: diag.CodeNotConfirmed, Msg: "there was no answer", Hint: "answer the question on the terminal, or approve the action with --approve"}
		}
		return isYes(answer), nil
	case <-ctx.Done():
		fmt.Fprintln(c.out)
		return false, context.Cause(ctx)
	}
}

// listen starts reading input. Call it before the first question: text that is
// typed before a question is discarded.
func (c *applyConsole) listen() { c.read.Do(func() { go c.readLines() }) }

// readLines reads lines until the program ends. Reads cannot be interrupted,
// so one goroutine reads for all questions.
func (c *applyConsole) readLines() {
	defer close(c.lines)
	for s := bufio.NewScanner(c.in); s.Scan(); {
		c.mu.Lock()
		asking := c.asking
		c.mu.Unlock()
		if !asking { // discard text that is typed before a question
			continue
		}
		select {
		case c.lines <- s.Text():
		default:
		}
	}
}

// hold prints a question and queues further progress.
func (c *applyConsole) hold(question string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = true
	c.clear()
	_ = ask(c.out, question)
}

// release shows the queued progress.
func (c *applyConsole) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.queued {
		c.show(e)
	}
	c.asking, c.queued = false, nil
}

// tell shows an event of a cluster, or queues it during a question.
func (c *applyConsole) tell(e apply.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking {
		c.queued = append(c.queued, e)
		return
	}
	c.show(e)
}
