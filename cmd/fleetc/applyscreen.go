package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// An applyScreen shows the progress of an apply on a terminal: important
// events as permanent lines, and below them one line per running cluster. It
// must not be used by several goroutines at once.
type applyScreen struct {
	w      io.Writer
	size   func() (width, height int)
	todo   map[string]map[string]int // number of objects to write, by cluster and stage
	active []*clusterProgress        // running clusters, in start order
	drawn  int                       // lines of the last drawing
}

// A clusterProgress is the progress of one cluster.
type clusterProgress struct {
	cluster, stage string
	done           int           // written objects of the stage
	waits          []apply.Event // about awaited objects, the latest last
	note           string        // other current work
}

func newApplyScreen(w io.Writer, size func() (int, int), clusters []*applyCluster) *applyScreen {
	s := &applyScreen{w: w, size: size, todo: map[string]map[string]int{}}
	for _, c := range clusters {
		of := map[string]int{}
		for _, it := range c.Plan.Items {
			if it.Action == apply.Create || it.Action == apply.Change || it.Action == apply.Replace {
				of[it.Stage]++
			}
		}
		s.todo[c.Cluster.ID] = of
	}
	return s
}

// tell processes an event and updates the screen.
func (s *applyScreen) tell(e apply.Event) {
	i := slices.IndexFunc(s.active, func(u *clusterProgress) bool { return u.cluster == e.Cluster })
	if i < 0 {
		i = len(s.active)
		s.active = append(s.active, &clusterProgress{cluster: e.Cluster})
	}
	stays := s.active[i].update(e)
	if e.What == "end" {
		s.active = slices.Delete(s.active, i, i+1)
	}
	s.draw(stays)
}

// update processes an event of the cluster, and returns its permanent line, if
// any.
func (u *clusterProgress) update(e apply.Event) string {
	forget := func() {
		u.waits = slices.DeleteFunc(u.waits, func(w apply.Event) bool { return w.ID == e.ID })
	}
	switch e.What {
	case "start":
		*u = clusterProgress{cluster: u.cluster, stage: e.Stage}
		return ""
	case "create", "change", "replace":
		u.done++
		u.note = ""
		return ""
	case "wait":
		if e.ID == "" {
			u.note = "waits " + e.Text
			return ""
		}
		forget()
		u.waits = append(u.waits, e)
		return ""
	case "ready":
		forget()
		return ""
	case "prune":
		u.note = "pruned " + e.ID
	case "hook":
		u.note = "runs hook " + e.ID
	case "run":
		u.note = "runs " + e.ID
	case "undo":
		u.note = "undoes " + e.ID
	}
	return eventText(e)
}

// clear removes the drawing until the next event.
func (s *applyScreen) clear() {
	_, _ = io.WriteString(s.w, s.over()) // ignore errors, as for other progress
}

// over returns the escape sequence that removes the last drawing.
func (s *applyScreen) over() string {
	drawn := s.drawn
	if s.drawn = 0; drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\r\033[%dA\033[J", drawn)
}

// draw prints a permanent line, if any, and redraws the running clusters below
// it.
func (s *applyScreen) draw(stays string) {
	width, height := s.size()
	var b strings.Builder
	b.WriteString(s.over())
	if stays != "" {
		b.WriteString(diag.OneLine(stays) + "\n")
	}
	shown := s.active
	if most := max(1, height-2); len(shown) > most {
		shown = shown[:most]
	}
	for _, u := range shown {
		b.WriteString(cut(diag.OneLine(u.text(s.todo[u.cluster][u.stage])), width-1) + "\n")
	}
	s.drawn = len(shown)
	_, _ = io.WriteString(s.w, b.String()) // ignore errors, as for other progress
}

// text returns the line of the cluster.
func (u *clusterProgress) text(todo int) string {
	text := u.cluster + ": " + u.stage
	if todo > 0 {
		text += fmt.Sprintf(" %d/%d", min(u.done, todo), todo)
	}
	switch n := len(u.waits); {
	case n > 0:
		last := u.waits[n-1]
		text += " waits for " + last.ID
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		if last.Text != "" {
			text += " (" + diag.Line(last.Text, diag.MaxText) + ")"
		}
	case u.note != "":
		text += " " + u.note
	}
	return text
}

// cut shortens a text to a number of columns, assuming one column per
// character.
func cut(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	return string(runes[:max(0, columns-1)]) + "…"
}
