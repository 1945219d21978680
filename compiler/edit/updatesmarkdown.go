package edit

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// MaxUpdateMarkdown is the maximum length of the text of a pull request, in bytes. Forges take
// 65,536 characters.
const MaxUpdateMarkdown = 60_000

// Limits of the sections of a text, in bytes.
const (
	maxTable    = 10_000
	maxValues   = 8_000
	maxFaults   = 6_000
	maxNotes    = 10_000
	maxNoteText = 300
	minDiff     = 2_000
)

const maxReleases = 5 // names in a line of the table

// WriteMarkdown writes the text of a pull request for a group, of at most limit bytes. Texts
// of charts and registries cannot leave their place in it. The base is a branch or commit to
// compare with, for the commands to try the group; branch may be empty.
func (g *UpdateGroup) WriteMarkdown(w io.Writer, base, branch string, limit int) error {
	head := g.table() + g.valuesSection() + g.faultsSection()
	foot := g.notesSection() + g.commands(base, branch)
	var rendered strings.Builder
	style := diff.Style{Limit: max(limit-len(head)-len(foot)-len("\n## Differences\n\n\n"), minDiff)}
	if err := diff.WriteMarkdown(&rendered, g.Rendered, style); err != nil {
		return err
	}
	_, err := io.WriteString(w, head+"\n## Differences\n\n"+rendered.String()+foot)
	return err
}

// A section is a part of a text with a maximum length.
type section struct {
	strings.Builder
	limit   int
	omitted int // lines
}

// line adds a line, unless it does not fit.
func (s *section) line(text string) {
	if s.omitted > 0 || s.Len()+len(text) > s.limit {
		s.omitted++
		return
	}
	s.WriteString(text + "\n")
}

// end returns the section with the number of omitted lines.
func (s *section) end() string {
	if s.omitted > 0 {
		fmt.Fprintf(s, "\nToo long: %d more are left out.\n", s.omitted)
	}
	return s.String()
}

// table returns the versions.
func (g *UpdateGroup) table() string {
	s := &section{limit: maxTable}
	s.line("| | name | from | to | releases | clusters |\n|---|---|---|---|---|---|")
	for _, u := range g.Updates {
		name := diff.MarkdownText(diff.Inline(u.Short))
		if u.Layer != "" {
			name += " in " + diff.MarkdownText(diff.Inline(u.Layer))
		}
		from, to := withDigest(u.From, u.FromDigest), withDigest(u.To, u.Digest)
		s.line(fmt.Sprintf("| %s | %s | %s | %s | %s | %d |", u.Kind, name, diff.MarkdownText(from), diff.MarkdownText(to), diff.MarkdownText(diag.JoinFirst(u.Releases, maxReleases)), len(u.Clusters)))
	}
	return s.end()
}

// valuesSection returns the changed values of charts that matter for the fleet.
func (g *UpdateGroup) valuesSection() string {
	s := &section{limit: maxValues}
	for _, v := range g.Values {
		if v.Unknown != "" {
			s.line("- " + diff.MarkdownText(diag.Visible(v.Name+": what changes in its values is not known: "+v.Unknown, maxNoteText)))
			continue
		}
		if v.Added+v.Removed+v.Changed == 0 {
			continue
		}
		title := fmt.Sprintf("%s %s -> %s", path.Base(v.Name), brief(v.From), brief(v.To))
		s.line("- " + diff.MarkdownText(diff.Inline(title)) + ": " + v.counts())
		for _, c := range v.Concern {
			s.line("  - " + diff.MarkdownText(diff.Inline(c.Path)) + " " + diff.MarkdownText(diag.Visible(ConcernText(c), maxNoteText)))
		}
	}
	if s.Len() == 0 {
		return ""
	}
	return "\n## Values of the charts\n\n" + s.end()
}

// faultsSection returns the new faults of the fleet.
func (g *UpdateGroup) faultsSection() string {
	faults := append(diag.All(g.Failed), diag.All(g.Faults)...)
	if len(faults) == 0 {
		return ""
	}
	s := &section{limit: maxFaults}
	for _, d := range faults {
		place := ""
		if len(d.At) > 0 {
			place = d.At[0].String() + ": "
		}
		if d.Path != "" {
			place += d.Path + ": "
		}
		text := "- " + diff.MarkdownText(diag.Line(place+d.Msg, 2*maxNoteText))
		if d.Hint != "" {
			text += "<br>do: " + diff.MarkdownText(diag.Line(d.Hint, maxNoteText))
		}
		s.line(text)
	}
	return "\n## New faults\n\nThe fleet does not compile with this change. Fix these faults on the branch:\n\n" + s.end()
}

// notesSection returns the release notes.
func (g *UpdateGroup) notesSection() string {
	if len(g.Notes) == 0 {
		return ""
	}
	s := &section{limit: maxNotes}
	for _, n := range g.Notes {
		s.line("- " + diff.MarkdownText(diff.Inline(path.Base(n.Name)+" "+brief(n.Version))))
		for _, at := range n.Links {
			s.line("  - <" + at + ">") // has no special characters
		}
		if n.TooLong {
			s.line("  - its list of changes is too long to show")
		}
		for _, c := range n.Changes {
			s.line("  - " + withoutLinks(diff.MarkdownText(diag.Line(c, maxNoteText))))
		}
	}
	return "\n## Release notes\n\nThese texts come from the charts and images.\n\n" + s.end()
}

// withoutLinks escapes addresses in Markdown, which forges would turn into links.
func withoutLinks(text string) string {
	return strings.NewReplacer("://", "&#58;//", "www.", "www&#46;").Replace(text)
}

// commands returns the commands to try the group.
func (g *UpdateGroup) commands(base, branch string) string {
	lines := []string{"fleetc update --group " + g.Name}
	if branch != "" {
		lines = []string{"git fetch origin " + branch, "git switch --detach FETCH_HEAD"}
	}
	lines = append(lines, "fleetc vet --render", "fleetc diff --against git:"+base+" --rehearse")
	return "\n## Try it\n\n```sh\n" + strings.Join(lines, "\n") + "\n```\n"
}

// ChartValueChanges is the changed values of a chart between two versions.
type ChartValueChanges struct {
	Name     string          `json:"name"` // location of the chart
	From     string          `json:"from"`
	To       string          `json:"to"`
	Clusters []string        `json:"clusters"`
	Added    int             `json:"added"`
	Removed  int             `json:"removed"`
	Changed  int             `json:"changed"` // types and defaults
	Concern  []values.Change `json:"concern"` // changes that matter for the fleet, at most 100
	Unknown  string          `json:"unknown,omitempty"`
}

// ConcernText describes a change of a value that matters for the fleet.
func ConcernText(c values.Change) string {
	switch c.Kind {
	case values.Removed:
		return "is removed, and the fleet sets it"
	case values.Ignored:
		return "is no longer read, and the fleet sets it"
	case values.Retyped:
		return "has another type, and the fleet sets it: " + c.Was + " -> " + c.Is
	}
	return "has another default, and the fleet does not set it: " + c.Was + " -> " + c.Is
}

// counts returns the numbers of changes.
func (v ChartValueChanges) counts() string {
	return fmt.Sprintf("%d added, %d removed, %d changed; %d of them matter for the fleet", v.Added, v.Removed, v.Changed, len(v.Concern))
}

// changesOf returns the changed values of a move.
func changesOf(m Move) ChartValueChanges {
	const most = 100
	out := ChartValueChanges{Name: m.To.Location(), From: m.OldVersion, To: m.NewVersion, Clusters: m.Clusters, Unknown: m.Unknown}
	for _, c := range m.Values {
		switch c.Kind {
		case values.Added:
			out.Added++
		case values.Removed:
			out.Removed++
		default:
			out.Changed++
		}
	}
	out.Concern = append([]values.Change{}, m.Concern[:min(len(m.Concern), most)]...)
	return out
}
