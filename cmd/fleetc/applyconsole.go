package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

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
	c.hold(fmt.Sprintf("%s: action %s: %s\n%s: approve? [y/N] ", cluster, a.ID(), diag.Line(a.Manual, diag.MaxText), cluster))
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

// newApplyProgress returns functions that show and remove progress: a screen
// of running clusters on a terminal, otherwise one line per event.
func newApplyProgress(w io.Writer, clusters []*applyCluster) (show func(apply.Event), clear func()) {
	if f, ok := fileOf(w); ok && isTerminal(w) {
		screen, _ := unwrapStream(w).(io.Writer)
		s := newApplyScreen(screen, func() (int, int) {
			width, height, err := term.GetSize(int(f.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24
			}
			return width, height
		}, clusters)
		return s.tell, s.clear
	}
	return func(e apply.Event) {
		if text := eventText(e); text != "" {
			fmt.Fprintln(w, text)
		}
	}, func() {}
}

// eventText describes an event; empty for the end of a cluster, which the
// summary reports.
func eventText(e apply.Event) string {
	words := map[string]string{
		"start": "begins", "level": "goes on with", "done": "is healthy", "failed": "stopped", "create": "created", "change": "changed", "replace": "replaced", "prune": "pruned",
		"keep": "kept", "forget": "removed", "pending": "still deletes",
		"hook": "runs hook", "wait": "waits for", "ready": "is ready:",
		"run": "runs", "skip": "skips", "undo": "undoes", "stand": "cannot undo", // events of actions
	}
	parts := []string{e.Cluster + ":"}
	switch {
	case e.What == "end":
		return ""
	case e.ID == "" && e.Stage != "":
		parts = append(parts, "stage "+e.Stage, words[e.What], e.Text)
	case e.ID == "":
		parts = append(parts, "waits", e.Text)
	default:
		parts = append(parts, cmp.Or(words[e.What], e.What), e.ID)
		if e.Text != "" {
			parts = append(parts, "("+diag.Line(e.Text, diag.MaxText)+")")
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// alsoDeletes returns a part of a question: the number of objects that are
// deleted along with others and that fleetc has not applied.
func alsoDeletes(ready []*applyCluster) string {
	n := 0
	for _, c := range ready {
		n += c.Plan.Cascaded()
	}
	if n == 0 {
		return ""
	}
	return " and delete " + diag.Count(n, "object", "objects") + " along with namespaces, CRDs and volumes"
}

// cascadeNotes returns the objects that are deleted along with an object.
func cascadeNotes(it apply.Item) []string {
	if text := it.Cascade.String(); text != "" {
		return []string{"deletes " + it.ID + ": " + text}
	}
	return nil
}

// pending returns the number of objects whose deletion is not complete.
func (c *applyCluster) pending() int {
	if c.Plan == nil {
		return 0
	}
	return max(c.result.Pending, c.Plan.Count(apply.Pending))
}

// pendingText returns the summary of incomplete deletions, if there are any.
func (c *applyCluster) pendingText() []string {
	n := c.pending()
	if n == 0 {
		return nil
	}
	return []string{diag.Count(n, "object is", "objects are") + " still being deleted"}
}

// objects returns the changed objects of a plan, and objects of Helm releases
// that another tool manages or that cause other deletions.
func (c *applyCluster) objects() []appliedObject {
	out := []appliedObject{}
	for _, it := range c.Plan.Items {
		if it.Action != apply.Unchanged {
			out = append(out, objectJSON(it))
		}
		for _, part := range it.Parts {
			if part.Owner != "" || part.Cascade.String() != "" {
				out = append(out, objectJSON(part))
			}
		}
	}
	return out
}
