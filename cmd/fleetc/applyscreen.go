package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// An applyScreen shows on a terminal how clusters are applied to: what is worth
// keeping as lines that stay, and below them a line for each cluster that is
// under way. It is not safe for several goroutines.
type applyScreen struct {
	w     io.Writer
	size  func() (width, height int)
	todo  map[string]map[string]int // how many objects are written, by cluster and stage
	under []*underWay               // in the order in which they began
	drawn int                       // lines of the last drawing
}

// An underWay is a cluster that is applied to.
type underWay struct {
	cluster, stage string
	done           int               // objects of the stage that are written
	waits          []string          // IDs of objects that are waited for, the last to be told of at the end
	reasons        map[string]string // by their IDs
	note           string            // what is done instead
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

// tell notes an event and shows how things are.
func (s *applyScreen) tell(e apply.Event) {
	i := slices.IndexFunc(s.under, func(u *underWay) bool { return u.cluster == e.Cluster })
	if i < 0 {
		i = len(s.under)
		s.under = append(s.under, &underWay{cluster: e.Cluster})
	}
	stays := s.under[i].noted(e)
	if e.What == "end" {
		s.under = slices.Delete(s.under, i, i+1)
	}
	s.draw(stays)
}

// noted notes an event of the cluster, and returns the line of it that stays;
// empty when none does.
func (u *underWay) noted(e apply.Event) string {
	forget := func() {
		delete(u.reasons, e.ID)
		u.waits = slices.DeleteFunc(u.waits, func(id string) bool { return id == e.ID })
	}
	switch e.What {
	case "start":
		*u = underWay{cluster: u.cluster, stage: e.Stage, reasons: map[string]string{}}
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
		u.waits, u.reasons[e.ID] = append(u.waits, e.ID), e.Text
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

// clear takes away what is drawn; the next event draws it again.
func (s *applyScreen) clear() {
	_, _ = io.WriteString(s.w, s.over()) // as other progress
}

// over returns what removes the last drawing.
func (s *applyScreen) over() string {
	drawn := s.drawn
	if s.drawn = 0; drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\r\033[%dA\033[J", drawn)
}

// draw prints a line that stays, if any, and below it how things are, in place
// of what it printed last.
func (s *applyScreen) draw(stays string) {
	width, height := s.size()
	var b strings.Builder
	b.WriteString(s.over())
	if stays != "" {
		b.WriteString(diag.OneLine(stays) + "\n")
	}
	shown := s.under
	if most := max(1, height-2); len(shown) > most {
		shown = shown[:most]
	}
	for _, u := range shown {
		b.WriteString(cut(diag.OneLine(u.text(s.todo[u.cluster][u.stage])), width-1) + "\n")
	}
	s.drawn = len(shown)
	_, _ = io.WriteString(s.w, b.String()) // as other progress
}

// text says how the cluster is.
func (u *underWay) text(todo int) string {
	text := u.cluster + ": " + u.stage
	if todo > 0 {
		text += fmt.Sprintf(" %d/%d", min(u.done, todo), todo)
	}
	switch n := len(u.waits); {
	case n > 0:
		id := u.waits[n-1]
		text += " waits for " + id
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		if r := u.reasons[id]; r != "" {
			text += " (" + diag.Visible(r, diag.MaxText) + ")"
		}
	case u.note != "":
		text += " " + u.note
	}
	return text
}

// cut returns the beginning of a text that fits into a number of columns, as
// far as each character takes one.
func cut(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	return string(runes[:max(0, columns-1)]) + "…"
}
