package diff

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxClusters is the maximum number of clusters that a group lists.
const maxClusters = 10

// WriteText writes the result for a terminal, and an error of w's.
//
//   - cluster dev/new: 14 objects
//
//     the same change in 38 of 40 clusters: dev/a, dev/b and 36 more
//     ~ Deployment.apps web/app (release web)
//     ~ spec.replicas: 2 -> 3
//
//   - spec.paused: true
//
//   - ConfigMap web/new (release web)
//
//     1 object created, 1 updated in 38 of 40 clusters; 1 cluster created
//
// Texts of several lines are compared by line. Long values are cut, with their
// length. Values cannot control the terminal.
func WriteText(w io.Writer, r Result, s Style) error {
	out := bufio.NewWriter(w)
	paint := s.painter()
	wholes := s.painted(r.clusterLines())
	for _, l := range wholes {
		fmt.Fprintln(out, l)
	}
	if len(wholes) > 0 {
		fmt.Fprintln(out)
	}
	groups, rest := s.visibleGroups(r)
	for _, g := range groups {
		fmt.Fprintln(out, paint('@', g.title(r.Summary.Of, clusterName)))
		s.changes(out, g.Changes, g.folded)
		fmt.Fprintln(out)
	}
	for _, l := range s.painted(rest.lines()) {
		fmt.Fprintln(out, l+"\n")
	}
	for _, l := range r.predictions() {
		fmt.Fprintln(out, l)
	}
	fmt.Fprintln(out, r.String())
	if err := out.Flush(); err != nil || !r.Rehearsed {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return WriteFindings(w, r.Findings, s)
}

// WriteChanges writes changes in the format of a group of WriteText.
func WriteChanges(w io.Writer, changes []Change, s Style) error {
	out := bufio.NewWriter(w)
	shown, folded := s.fold(changes)
	s.changes(out, shown, folded)
	return out.Flush()
}

func (s Style) changes(out *bufio.Writer, changes []Change, folded foldedFields) {
	for _, c := range changes {
		for _, l := range s.text(c, s.painter()) {
			fmt.Fprintln(out, "  "+l)
		}
	}
	for _, l := range s.painted(folded.lines()) {
		fmt.Fprintln(out, "  "+l)
	}
}

// text returns the lines of one change for a terminal.
func (s Style) text(c Change, paint func(byte, string) string) []string {
	m := marks[c.Action]
	out := []string{paint(m, string(m)) + " " + paint('!', title(c))}
	for _, l := range s.body(c, false) {
		out = append(out, "  "+paint(l.mark, strings.TrimRight(l.gutter(), " ")))
	}
	return out
}

// clusterLines returns a line for each new, removed and uncompared cluster.
func (r Result) clusterLines() []line {
	var out []line
	for _, w := range r.Created {
		out = append(out, line{'+', "cluster " + clusterName(w.Cluster) + ": " + diag.Count(w.Objects, "object", "objects")})
	}
	for _, w := range r.Deleted {
		out = append(out, line{'-', "cluster " + clusterName(w.Cluster) + ": " + diag.Count(w.Objects, "object", "objects")})
	}
	for _, id := range r.NotCompared {
		out = append(out, line{'!', "cluster " + clusterName(id) + ": not compared"})
	}
	return out
}

// gutter returns the line with its mark in front.
func (l line) gutter() string {
	if l.mark == '@' {
		return l.text
	}
	return string(l.mark) + " " + l.text
}

const noColour = "\x1b[0m"

// colours are the escape sequences of the marks.
var colours = map[byte]string{
	'+': "\x1b[32m", // green
	'-': "\x1b[31m", // red
	'~': "\x1b[33m", // yellow
	'@': "\x1b[36m", // cyan
	'!': "\x1b[1m",  // bold
}

// Colours returns the escape sequences in coloured results.
func Colours() []string { return append(slices.Sorted(maps.Values(colours)), noColour) }

// painted returns lines with their marks in front, in their colours.
func (s Style) painted(lines []line) []string {
	paint := s.painter()
	return diag.Each(lines, func(l line) string { return paint(l.mark, l.gutter()) })
}

// painter returns a function that colours a text by its mark.
func (s Style) painter() func(mark byte, text string) string {
	return func(mark byte, text string) string {
		colour := colours[mark]
		if colour == "" || !s.Colour {
			return text
		}
		return colour + text + noColour
	}
}

func clusterName(id string) string { return clippedLine(id, 0) }

// String returns the summary of the result as a clause.
func (r Result) String() string {
	var parts []string
	if r.Summary.Of > 0 || len(r.Created)+len(r.Deleted)+len(r.NotCompared) == 0 {
		parts = append(parts, r.Summary.String())
	}
	if changed := quantities("cluster", []quantity{{len(r.Created), "created"}, {len(r.Deleted), "deleted"}, {len(r.NotCompared), "not compared"}}); changed != "" {
		parts = append(parts, changed)
	}
	if ignored := r.Summary.Ignored.String(); ignored != "" {
		parts = append(parts, ignored)
	}
	return strings.Join(parts, "; ")
}

// String returns the summary as a clause.
func (s Summary) String() string {
	of := diag.Count(s.Of, "cluster", "clusters")
	if s.Empty() {
		return "no differences in " + of
	}
	if s.Of != 1 {
		of = fmt.Sprintf("%d of %s", s.Clusters, of)
	}
	return quantities("object", []quantity{{s.Created, "created"}, {s.Updated, "updated"}, {s.Deleted, "deleted"}, {s.Unknown, "unknown"}}) + " in " + of
}

// A quantity is a number of things with an attribute.
type quantity struct {
	n    int
	what string
}

// quantities joins the nonzero quantities: 1 object created, 2 updated.
func quantities(noun string, all []quantity) string {
	var parts []string
	for _, p := range all {
		switch {
		case p.n == 0:
		case len(parts) > 0:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		default:
			parts = append(parts, diag.Count(p.n, noun, noun+"s")+" "+p.what)
		}
	}
	return strings.Join(parts, ", ")
}

// WriteStat writes a table of the clusters with changes and their numbers of
// changed objects. New and removed clusters are marked, and clusters that were
// not compared are listed.
//
//	CLUSTER     CREATED   UPDATED   DELETED
//	dev/a       0         2         0
//	+ dev/new   14        0         0
//
//	2 objects updated in 1 of 3 clusters; 1 cluster created
func WriteStat(w io.Writer, r Result) error {
	type object struct {
		id     string
		action Action
	}
	rows := map[string]map[object]bool{}
	for _, g := range r.Groups {
		for _, id := range g.Clusters {
			if rows[id] == nil {
				rows[id] = map[object]bool{}
			}
			for _, c := range g.Changes {
				rows[id][object{c.ID, c.Action}] = true // it may be in several groups
			}
		}
	}
	out := bufio.NewWriter(w)
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if !r.Empty() || len(r.NotCompared) > 0 {
		fmt.Fprintln(t, "CLUSTER\tCREATED\tUPDATED\tDELETED")
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		n := map[Action]int{}
		for o := range rows[id] {
			n[o.action]++
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\n", clusterName(id), n[Create], n[Update], n[Delete])
	}
	for _, c := range r.Created {
		fmt.Fprintf(t, "+ %s\t%d\t0\t0\n", clusterName(c.Cluster), c.Objects)
	}
	for _, c := range r.Deleted {
		fmt.Fprintf(t, "- %s\t0\t0\t%d\n", clusterName(c.Cluster), c.Objects)
	}
	for _, id := range r.NotCompared {
		fmt.Fprintf(t, "! %s\tnot compared\n", clusterName(id))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !r.Empty() || len(r.NotCompared) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, r)
	return out.Flush()
}
