package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// A terminal emulates the parts of a terminal that an applyScreen uses.
type terminal struct {
	t     *testing.T
	width int
	lines []string // the cursor is in the last line
}

func (m *terminal) Write(p []byte) (int, error) {
	text := strings.TrimPrefix(string(p), "\r")
	if rest, ok := strings.CutPrefix(text, "\033["); ok {
		up, rest, ok := strings.Cut(rest, "A\033[J")
		n, err := strconv.Atoi(up)
		if !ok || err != nil || n >= len(m.lines) {
			m.t.Fatalf("%q is not understood with %q on the screen", p, m.lines)
		}
		m.lines, text = append(m.lines[:len(m.lines)-1-n], ""), rest
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			m.lines = append(m.lines, "")
		}
		if len([]rune(line)) >= m.width && line != "" {
			// Permanent lines may be long, redrawn ones may not.
			if !strings.Contains(line, "is healthy") {
				m.t.Errorf("a line takes %d columns: %q", len([]rune(line)), line)
			}
		}
		m.lines[len(m.lines)-1] += line
	}
	return len(p), nil
}

func TestApplyScreen(t *testing.T) {
	m := &terminal{t: t, width: 60, lines: []string{"$ fleetc apply", ""}}
	cluster := func(id string, writes int) *applyCluster {
		plan := &apply.Plan{Items: slices.Repeat([]apply.Item{{Stage: "apps", Action: apply.Create}}, writes)}
		return &applyCluster{ClusterPlan: &deliver.ClusterPlan{Cluster: &fleet.Cluster{ID: id}, Plan: plan}}
	}
	s := newApplyScreen(m, func() (int, int) { return m.width, 4 }, []*applyCluster{cluster("a", 3), cluster("b", 1), cluster("c", 1)})
	step := func(want string, events ...apply.Event) {
		t.Helper()
		for _, e := range events {
			s.tell(e)
		}
		if got := strings.Join(m.lines[1:], "\n"); got != want {
			t.Errorf("the screen has\n%s\nwant\n%s", got, want)
		}
	}
	a := func(what, id, text string) apply.Event {
		return apply.Event{Cluster: "a", Stage: "apps", What: what, ID: id, Text: text}
	}
	step("a: apps 0/3\n", a("start", "", ""))
	step("a: apps 2/3\n", a("create", "x", ""), a("create", "y", ""))
	step("a: apps 3/3 waits for y and 1 more (1 of 2 pods are availa…\n",
		a("create", "z", ""), a("wait", "x", "0 of 1"), a("wait", "y", "1 of 2 pods are available, and that takes"))
	step("a: apps 3/3 waits for x (0 of 1)\nb: apps 0/1\n",
		a("ready", "y", ""), apply.Event{Cluster: "b", Stage: "apps", What: "start"})
	// The screen has no space for a third cluster; two lines stay free.
	step("a: apps 3/3 waits for x (0 of 1)\nb: apps 0/1\n", apply.Event{Cluster: "c", Stage: "apps", What: "start"})
	step("a: stage apps is healthy\na: apps 3/3\nb: apps 0/1\n", a("ready", "x", ""), a("done", "", ""))
	step("a: stage apps is healthy\nb: apps 0/1\nc: apps 0/1\n", apply.Event{Cluster: "a", What: "end"})
	s.clear()
	if got := strings.Join(m.lines[1:], "\n"); got != "a: stage apps is healthy\n" {
		t.Errorf("when it is cleared, the screen has\n%s", got)
	}
	step("a: stage apps is healthy\nb: runs action x (really?)\nb: apps 0/1 runs action x\nc: apps 0/1\n", apply.Event{Cluster: "b", Stage: "apps", What: "run", ID: "action x", Text: "really?"})
	step("a: stage apps is healthy\nb: runs action x (really?)\n", apply.Event{Cluster: "b", What: "end"}, apply.Event{Cluster: "c", What: "end"})
}
