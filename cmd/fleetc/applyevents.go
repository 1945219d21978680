package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

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
			parts = append(parts, "("+diag.Visible(e.Text, diag.MaxText)+")")
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
