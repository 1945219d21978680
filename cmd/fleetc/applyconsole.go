package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// An applyConsole shows what happens to clusters, and asks what a person must
// approve, one question at a time. While one is asked, what happens waits.
type applyConsole struct {
	in  io.Reader
	out io.Writer

	turn  chan struct{} // has an element while somebody asks
	read  sync.Once
	lines chan string // the answer to the question; closed at the end of in

	show  func(apply.Event)
	clear func() // takes away what is shown of clusters that are under way

	mu     sync.Mutex
	asking bool
	held   []apply.Event
}

func newApplyConsole(in io.Reader, out io.Writer) *applyConsole {
	return &applyConsole{in: in, out: out, turn: make(chan struct{}, 1), lines: make(chan string, 1)}
}

// ask asks whether an action is approved for a cluster.
func (c *applyConsole) ask(ctx context.Context, cluster string, a *fleet.Action) (bool, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	c.listen()
	select {
	case <-c.lines: // it was for a question that nobody waits for any more
	default:
	}
	c.hold(fmt.Sprintf("%s: action %s: %s\n%s: approve? [y/N] ", cluster, a.ID(), diag.Visible(a.Manual, diag.MaxText), cluster))
	defer c.release()
	select {
	case answer, ok := <-c.lines:
		if !ok {
			return false, &diag.Diag{Msg: "there was no answer"}
		}
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(c.out)
		return false, context.Cause(ctx)
	}
}

// listen begins to read what is typed, of which nothing is an answer until there
// is a question. Who is going to ask calls it before: what was typed ahead must
// not wait for the question.
func (c *applyConsole) listen() { c.read.Do(func() { go c.readLines() }) }

// readLines reads what is typed. A read cannot be interrupted: one goroutine
// reads for all questions, until the program ends.
func (c *applyConsole) readLines() {
	defer close(c.lines)
	for s := bufio.NewScanner(c.in); s.Scan(); {
		c.mu.Lock()
		asking := c.asking
		c.mu.Unlock()
		if !asking { // nothing is approved before it is asked for
			continue
		}
		select {
		case c.lines <- s.Text():
		default:
		}
	}
}

// hold prints a question and keeps what is told from then on.
func (c *applyConsole) hold(question string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = true
	c.clear()
	_ = ask(c.out, question)
}

// release shows what was told while a question was asked.
func (c *applyConsole) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.held {
		c.show(e)
	}
	c.asking, c.held = false, nil
}

// tell shows what happens to a cluster.
func (c *applyConsole) tell(e apply.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking {
		c.held = append(c.held, e)
		return
	}
	c.show(e)
}
