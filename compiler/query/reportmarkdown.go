package query

import (
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/query/diff"
)

// A markdownWriter writes Markdown with escaped texts.
type markdownWriter struct{ strings.Builder }

// WriteReportMarkdown writes the facts of the page.
func WriteReportMarkdown(w io.Writer, r *Report) error {
	m := &markdownWriter{}
	fmt.Fprintf(m, "# %s\n\n%s.\n", diff.MarkdownText(r.Fleet), r.Summary())
	m.matrix(r)
	m.differences(r)
	m.changes(r)
	m.layers(r)
	m.values(r)
	m.tables(r)
	_, err := io.WriteString(w, m.String())
	return err
}

// table writes a table, or nothing without rows. Cells are Markdown.
func (m *markdownWriter) table(title string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(m, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(m, "| %s |\n", strings.Join(row, " | "))
	}
}

// md returns a text as Markdown; a dash for an empty text.
func md(s string) string {
	if s == "" {
		return "-"
	}
	return diff.MarkdownText(s)
}

// mdPlace returns a place as a link, or as text.
func mdPlace(p *ReportPlace) string {
	if p == nil {
		return "-"
	}
	if p.Link == "" {
		return md(p.String())
	}
	return "[" + md(p.String()) + "](" + strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", "|", "%7C").Replace(p.Link) + ")"
}

func mdList(list []string) string { return md(strings.Join(list, ", ")) }

func (m *markdownWriter) matrix(r *Report) {
	var rows [][]string
	for _, c := range r.Clusters {
		running := ""
		if c.Live != nil {
			running = c.Live.Text()
		}
		for _, cell := range c.Releases {
			row := []string{md(c.ID), md(c.Environment), md(c.Kubernetes), md(cell.Release), md(cell.Version), mdPlace(cell.PinnedAt), mdList(r.notes(cell))}
			if r.Live {
				row = append(row, md(running))
			}
			rows = append(rows, row)
		}
	}
	head := []string{"Cluster", "Environment", "Kubernetes", "Release", "Version", "Pinned by", "Notes"}
	if r.Live {
		head = append(head, "Running")
	}
	m.table("Releases and clusters", head, rows)
}

func (m *markdownWriter) differences(r *Report) {
	var rows [][]string
	for _, d := range r.Differences {
		for _, v := range d.Variants {
			if !v.Differs {
				continue
			}
			usual := ""
			if !d.Variants[0].Differs {
				usual = d.Variants[0].Value
			}
			place := "-"
			if len(v.Places) > 0 {
				place = mdPlace(&v.Places[0])
			}
			rows = append(rows, []string{md(d.Environment), md(d.Release), md(d.Part), md(d.Path), md(idsText(v.Clusters)), md(v.Value), md(usual), place})
		}
	}
	m.table("Differences from the environment", []string{"Environment", "Release", "Part", "Field", "Clusters", "Value", "Usual value", "Set by"}, rows)
}

// changes writes the changes since an earlier state, and the drift of running clusters.
func (m *markdownWriter) changes(r *Report) {
	var changes, findings [][]string
	addChanges := func(cluster string, all []ReportChange) {
		for _, x := range all {
			changes = append(changes, []string{md(cluster), md(x.Release), md(x.Action), md(x.Object), mdList(x.Fields)})
		}
	}
	addFindings := func(cluster, release string, all []ReportLiveFinding) {
		for _, f := range all {
			findings = append(findings, []string{md(cluster), md(release), md(f.Reason), md(f.Object), mdList(f.Fields), mdList(f.By)})
		}
	}
	whole := func(cluster, change string) {
		changes = append(changes, []string{md(cluster), md(""), change, md(""), md("")})
	}
	for _, c := range r.Clusters {
		if c.Created {
			whole(c.ID, "new cluster")
		}
		addChanges(c.ID, c.Changes)
		if c.Live != nil {
			addFindings(c.ID, "", c.Live.Findings)
		}
		for _, cell := range c.Releases {
			addChanges(c.ID, cell.Changes)
			addFindings(c.ID, cell.Release, cell.Findings)
		}
	}
	for _, id := range r.Deleted {
		whole(id, "removed cluster")
	}
	m.table("Changes since "+md(r.Against), []string{"Cluster", "Release", "Change", "Object", "Fields"}, changes)
	m.table("Running clusters", []string{"Cluster", "Release", "Reason", "Object", "Fields", "Set by"}, findings)
}

func (m *markdownWriter) layers(r *Report) {
	var rows [][]string
	for _, l := range r.Layers {
		rows = append(rows, []string{md(l.Dir), fmt.Sprint(l.Clusters), fmt.Sprint(l.Sets), fmt.Sprint(l.Overrides), fmt.Sprint(l.Overridden), mdPlace(l.Place)})
	}
	m.table("Layers", []string{"Layer", "Clusters", "Values set", "Override a layer above", "Overridden below", "File"}, rows)
}

// values writes the values that more than one layer sets.
func (m *markdownWriter) values(r *Report) {
	var rows [][]string
	for _, v := range r.Values {
		if len(v.Lines) < 2 {
			continue
		}
		for _, l := range v.Lines {
			rows = append(rows, []string{md(v.Release), md(v.Path), md(layerTitle(l.Layer)), md(l.Value), fmt.Sprint(len(l.Effective)), fmt.Sprint(len(l.Overridden)), mdPlace(l.Place)})
		}
	}
	m.table("Values set in several lines", []string{"Release", "Path", "Layer", "Value", "Effective in", "Overridden in", "Set by"}, rows)
}

// tables writes the other sections.
func (m *markdownWriter) tables(r *Report) {
	var wires, waves, waivers, images, crds [][]string
	for _, w := range r.Wiring {
		wires = append(wires, []string{md(w.From), md(w.To), md(string(w.Kind)), md(w.Path), mdPlace(w.Place)})
	}
	for _, w := range r.Waves {
		waves = append(waves, []string{md(w.Name), md(idsText(w.Clusters)), md(conditionsText(w)), mdPlace(w.Place)})
	}
	for _, w := range r.Waivers {
		waivers = append(waivers, []string{md(w.Release), md(string(w.Kind)), md(w.Name), md(w.Reason), md(w.Until), md(idsText(w.Clusters)), mdPlace(w.Place)})
	}
	for _, i := range r.Images {
		images = append(images, []string{md(i.Repository), md(i.Version), mdList(i.Releases), md(idsText(i.Clusters)), mdPlace(i.Place)})
	}
	for _, c := range r.CRDs {
		crds = append(crds, []string{md(c.Name), mdList(c.Versions), md(c.Storage), md(c.Release), md(idsText(c.Clusters)), mdPlace(c.Place)})
	}
	m.table("Wiring", []string{"Release", "Depends on", "Kind", "Value", "Set by"}, wires)
	m.table("Waves", []string{"Wave", "Clusters", "Before the next wave", "Set by"}, waves)
	m.table("Waivers", []string{"Release", "Kind", "Subject", "Reason", "Expires", "Clusters", "Set by"}, waivers)
	m.table("Images", []string{"Image", "Version", "Releases", "Clusters", "Release pinned by"}, images)
	m.table("CRDs", []string{"CRD", "Versions", "Storage version", "Release", "Clusters", "Release pinned by"}, crds)
}
