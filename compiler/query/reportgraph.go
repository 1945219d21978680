package query

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Sizes of graphs, in pixels.
const (
	boxWidth   = 168
	boxHeight  = 34
	columnGap  = 64
	rowGap     = 14
	headHeight = 30
	letters    = 21 // of a name in a box
)

// A node is a release in the graph of stages.
type node struct {
	name         string
	stage, depth int // index of the stage, and of the column in it
	column, row  int
	wired        bool
}

func (n *node) x() int { return n.column * (boxWidth + columnGap) }
func (n *node) y() int { return headHeight + n.row*(boxHeight+rowGap) }

// wiringGraph returns the graph of the releases in the order of their stages.
func (r *Report) wiringGraph() template.HTML {
	stages, nodes := r.nodes()
	columns := placeNodes(nodes, r.Wiring)
	rows := 0
	byName := map[string]*node{}
	for _, n := range nodes {
		rows = max(rows, n.row+1)
		byName[n.name] = n
	}
	var b strings.Builder
	width, height := columns*(boxWidth+columnGap)-columnGap+2, headHeight+rows*(boxHeight+rowGap)
	startGraph(&b, "Releases in the order of their stages", max(width, boxWidth), height)
	last := -1
	for _, n := range nodes { // sorted by column
		if n.stage != last {
			last = n.stage
			fmt.Fprintf(&b, `<text class="sub" x="%d" y="14">%s</text>`, n.x()+1, html.EscapeString(shorten(stages[n.stage], letters+6)))
		}
	}
	for i, w := range r.Wiring {
		if i > 0 && r.Wiring[i-1].From == w.From && r.Wiring[i-1].To == w.To && r.Wiring[i-1].Kind == w.Kind {
			continue // another value
		}
		if from, to := byName[w.From], byName[w.To]; from != nil && to != nil && from != to {
			wire(&b, to, from, w.Kind)
		}
	}
	for _, n := range nodes {
		class := ""
		if n.wired {
			class = ` class="wired"`
		}
		fmt.Fprintf(&b, `<a href="#wiring&amp;release=%s"%s><title>%s</title><rect x="%d.5" y="%d.5" width="%d" height="%d" rx="6"/><text x="%d" y="%d">%s</text></a>`,
			html.EscapeString(fragment(n.name)), class, html.EscapeString(n.name), n.x(), n.y(), boxWidth, boxHeight, n.x()+12, n.y()+22, html.EscapeString(shorten(n.name, letters)))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func startGraph(b *strings.Builder, title string, width, height int) {
	fmt.Fprintf(b, `<svg role="group" aria-label="%s" width="%d" height="%d" viewBox="0 0 %d %d">`, title, width, height, width, height)
}

// nodes returns the stages in order, and a node for each release in its most common stage.
func (r *Report) nodes() ([]string, []*node) {
	var stages []string
	counts := map[string]map[string]int{}
	for _, c := range r.Clusters {
		for _, cell := range c.Releases {
			if cell.Missing {
				continue
			}
			if counts[cell.Release] == nil {
				counts[cell.Release] = map[string]int{}
			}
			counts[cell.Release][cell.Stage]++
		}
	}
	for _, c := range r.Clusters {
		stages = mergeOrder(stages, c.Stages)
	}
	var out []*node
	for _, name := range r.ReleaseNames() {
		stage := ""
		for _, s := range stages {
			if counts[name][s] > counts[name][stage] {
				stage = s
			}
		}
		if i := slices.Index(stages, stage); i >= 0 {
			out = append(out, &node{name: name, stage: i})
		}
	}
	return stages, out
}

// mergeOrder adds the missing names of one list to another, each after its predecessor.
func mergeOrder(all, list []string) []string {
	at := 0
	for _, name := range list {
		if i := slices.Index(all, name); i >= 0 {
			at = i + 1
			continue
		}
		all = slices.Insert(all, at, name)
		at++
	}
	return all
}

// placeNodes sets the columns and rows of nodes, sorts them, and returns the number of
// columns. A release is right of those that it depends on.
func placeNodes(nodes []*node, wires []ReportWire) (columns int) {
	byName := map[string]*node{}
	for _, n := range nodes {
		byName[n.name] = n
	}
	for range nodes { // as often as the longest chain; a circle ends here
		for _, w := range wires {
			from, to := byName[w.From], byName[w.To]
			if from == nil || to == nil || from == to {
				continue
			}
			from.wired, to.wired = true, true
			if from.stage == to.stage && from.depth <= to.depth && to.depth < len(nodes)-1 {
				from.depth = to.depth + 1
			}
		}
	}
	slices.SortFunc(nodes, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.depth, b.depth), cmp.Compare(btoi(b.wired), btoi(a.wired)), cmp.Compare(a.name, b.name))
	})
	const most = 12 // rows
	column, row := -1, 0
	for i, n := range nodes {
		if i == 0 || n.stage != nodes[i-1].stage || n.depth != nodes[i-1].depth || row >= most {
			column, row = column+1, 0
		}
		n.column, n.row = column, row
		row++
	}
	return column + 1
}

// wire draws a dependency from the right side of a node to the left side of another.
func wire(b *strings.Builder, from, to *node, kind WireKind) {
	class := map[WireKind]string{ReferenceWire: "ref", OrderWire: "dep"}[kind]
	x1, y1, x2, y2 := from.x()+boxWidth+1, from.y()+boxHeight/2, to.x(), to.y()+boxHeight/2
	bend := max(columnGap/2, (x2-x1)/2)
	if x2 < x1 { // back to an earlier column
		bend = columnGap
	}
	fmt.Fprintf(b, `<path class="%s" d="M%d %dC%d %d %d %d %d %d"/><path class="tip" d="M%d %dl-7 -4v8z"/>`, class, x1, y1, x1+bend, y1, x2-bend, y2, x2-2, y2, x2, y2)
}

// waveGraph returns the graph of the waves.
func (r *Report) waveGraph() template.HTML {
	if len(r.Waves) == 0 {
		return ""
	}
	const height = 54
	var b strings.Builder
	startGraph(&b, "Waves of the rollout", len(r.Waves)*(boxWidth+columnGap)-columnGap+2, height+2)
	for i, w := range r.Waves {
		x := i * (boxWidth + columnGap)
		if i > 0 {
			fmt.Fprintf(&b, `<path d="M%d %dH%d"/><path class="tip" d="M%d %dl-7 -4v8z"/>`, x-columnGap+1, height/2, x-4, x, height/2)
		}
		fmt.Fprintf(&b, `<g><title>%s</title><rect x="%d.5" y="0.5" width="%d" height="%d" rx="6"/><text x="%d" y="22">%s</text><text class="sub" x="%d" y="41">%s</text></g>`,
			html.EscapeString(w.Name+": "+conditionsText(w)), x, boxWidth, height, x+12, html.EscapeString(shorten(w.Name, letters)), x+12, html.EscapeString(shorten(waveText(w), letters+3)))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func waveText(w ReportWave) string {
	out := diag.Count(len(w.Clusters), "cluster", "clusters")
	if w.Approve != "" {
		out += ", approval"
	}
	if w.Soak != "" {
		out += ", soak " + w.Soak
	}
	return out
}

// shorten cuts a text at a number of characters.
func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
