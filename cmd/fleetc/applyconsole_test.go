package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// written is a writer that sends all text to a channel.
type written chan string

func (w written) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// TestApplyConsole checks that one question is asked at a time, that events
// are shown afterwards, and that an answer is used for one question.
func TestApplyConsole(t *testing.T) {
	in, person := io.Pipe()
	out := make(written, 20)
	c := newApplyConsole(in, out)
	c.show = func(e apply.Event) { out <- e.Cluster + " " + e.What }
	c.clear = func() { out <- "clear" }
	want := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if got := <-out; got != text {
				t.Fatalf("%q, want %q", got, text)
			}
		}
	}
	type answer struct {
		ok  bool
		err error
	}
	ask := func(ctx context.Context, cluster string) <-chan answer {
		done := make(chan answer, 1)
		go func() {
			ok, err := c.ask(ctx, cluster, &fleet.Action{Name: "x", Task: fleet.Task{Manual: "really?"}})
			done <- answer{ok, err}
		}()
		return done
	}
	answers := func(text string) {
		t.Helper()
		if _, err := io.WriteString(person, text); err != nil {
			t.Fatal(err)
		}
	}

	c.tell(apply.Event{Cluster: "z", What: "create"})
	want("z create")
	a := ask(t.Context(), "a")
	want("clear", "a: action x: really?\na: approve? [y/N] ")
	b := ask(t.Context(), "b")
	c.tell(apply.Event{Cluster: "z", What: "ready"})
	if len(out) > 0 {
		t.Errorf("while a question is asked it says %q", <-out)
	}
	answers(" Yes\n")
	if got := <-a; !got.ok || got.err != nil {
		t.Error(got)
	}
	want("z ready", "clear", "b: action x: really?\nb: approve? [y/N] ")
	answers("\n")
	if got := <-b; got.ok || got.err != nil {
		t.Error(got)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	a, b = ask(ctx, "a"), nil
	want("clear", "a: action x: really?\na: approve? [y/N] ")
	stopped := errors.New("somebody stopped it")
	cancel(stopped)
	if got := <-a; got.ok || !errors.Is(got.err, stopped) {
		t.Error(got)
	}
	want("\n")
	if err := person.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-ask(t.Context(), "b"); got.ok || got.err == nil {
		t.Error(got)
	}
}

// TestApplyConsoleTypedAhead checks that text typed before a question is not
// an answer.
func TestApplyConsoleTypedAhead(t *testing.T) {
	in, person := io.Pipe()
	out := make(written, 20)
	c := newApplyConsole(in, out)
	c.clear = func() {}
	c.listen()
	if _, err := io.WriteString(person, "y\ny\n"); err != nil { // returns when it is read
		t.Fatal(err)
	}
	// The last line is between the pipe and the reader's look at the question; the
	// next read says that it is through.
	if _, err := io.WriteString(person, "\n"); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	go func() {
		ok, _ := c.ask(t.Context(), "a", &fleet.Action{Name: "x", Task: fleet.Task{Manual: "really?"}})
		done <- ok
	}()
	<-out
	if _, err := io.WriteString(person, "no\n"); err != nil {
		t.Fatal(err)
	}
	if <-done {
		t.Error("it is approved")
	}
}
