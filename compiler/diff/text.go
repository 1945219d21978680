package diff

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// maxClusters is how many clusters of a group are named.
const maxClusters = 10

// WriteText writes the result for a terminal, and an error of w's.
//
//	the same change in 38 of 40 clusters: dev/a, dev/b and 36 more
//	  ~ Deployment.apps web/app (release web)
//	    ~ spec.replicas: 2 -> 3
//	    + spec.paused: true
//	  + ConfigMap web/new (release web)
//
//	1 object created, 1 updated in 38 of 40 clusters
//
// Texts of several lines are compared line by line. Long values are cut, and
// their length is said. Nothing in a value acts on the terminal.
func WriteText(w io.Writer, r Result, s Style) error {
	out := bufio.NewWriter(w)
	paint := s.painter()
	for _, g := range s.shown(r.Groups) {
		fmt.Fprintln(out, paint('@', groupTitle(g, r.Summary.Of, clusterName)))
		s.changes(out, g.Changes)
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, r.Summary.String())
	return out.Flush()
}

// WriteChanges writes changes as WriteText does those of a group, and an error
// of w's.
func WriteChanges(w io.Writer, changes []Change, s Style) error {
	out := bufio.NewWriter(w)
	s.changes(out, changes)
	return out.Flush()
}

func (s Style) changes(out *bufio.Writer, changes []Change) {
	paint := s.painter()
	for _, c := range changes {
		m := mark(c.Action)
		fmt.Fprintf(out, "  %s %s\n", paint(m, string(m)), paint('!', title(c)))
		for _, l := range s.body(c, false) {
			fmt.Fprintln(out, "    "+paint(l.mark, strings.TrimRight(l.gutter(), " ")))
		}
	}
}

// gutter returns the line with its mark in front.
func (l line) gutter() string {
	if l.mark == '@' {
		return l.text
	}
	return string(l.mark) + " " + l.text
}

// painter returns what gives a text the colour of a mark.
func (s Style) painter() func(mark byte, text string) string {
	return func(mark byte, text string) string {
		code := ""
		switch mark {
		case '+':
			code = "32" // green
		case '-':
			code = "31" // red
		case '~':
			code = "33" // yellow
		case '@':
			code = "36" // cyan
		case '!':
			code = "1" // bold
		}
		if code == "" || !s.Colour {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
}

// groupTitle says in which clusters a group is; name writes the ID of one.
func groupTitle(g Group, of int, name func(string) string) string {
	var names []string
	for _, c := range g.Clusters[:min(len(g.Clusters), maxClusters)] {
		names = append(names, name(c))
	}
	list := strings.Join(names, ", ")
	if n := len(g.Clusters) - len(names); n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	what := "the same changes"
	if len(g.Changes) == 1 && len(g.Changes[0].Fields) < 2 {
		what = "the same change"
	}
	switch n := len(g.Clusters); {
	case n == 1:
		return "in " + list
	case n == of:
		return fmt.Sprintf("%s in all %d clusters", what, n)
	default:
		return fmt.Sprintf("%s in %d of %d clusters: %s", what, n, of, list)
	}
}

func clusterName(id string) string { return clippedLine(id, 0) }

// String returns the summary as a clause.
func (s Summary) String() string {
	of := "1 cluster"
	if s.Of != 1 {
		of = fmt.Sprintf("%d clusters", s.Of)
	}
	if s.Empty() {
		return "no differences in " + of
	}
	if s.Of != 1 {
		of = fmt.Sprintf("%d of %s", s.Clusters, of)
	}
	return count(s) + " in " + of
}

// count says how many objects are created, updated and deleted.
func count(s Summary) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{s.Created, "created"}, {s.Updated, "updated"}, {s.Deleted, "deleted"}} {
		switch {
		case p.n == 0:
		case len(parts) > 0:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		case p.n == 1:
			parts = append(parts, "1 object "+p.what)
		default:
			parts = append(parts, fmt.Sprintf("%d objects %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}
