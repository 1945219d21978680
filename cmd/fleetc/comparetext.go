package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

const (
	maxNamed    = 4 // maximum number of clusters or positions listed in a line
	maxVariants = 8 // maximum number of shown values
)

// A compareTable is a part of a comparison: rows of text. The first is the head.
type compareTable [][]string

// compareTables returns the tables of a comparison.
func compareTables(c *query.Comparison, name func(string) string) []compareTable {
	var out []compareTable
	add := func(title string, differences []diff.Difference) {
		if len(differences) == 0 {
			return
		}
		if len(c.Clusters) == 2 {
			out = append(out, sideBySide(title, c.Clusters, differences))
		} else {
			out = append(out, valueTable(title, differences, nil))
		}
	}
	add("FACT", c.Facts)
	add("RELEASE", c.Releases)
	add("CHART", c.Charts)
	add("IMAGE", c.Images)
	if len(c.Values) > 0 {
		out = append(out, valueTable("VALUE", c.Values, name))
	}
	return out
}

// sideBySide returns a table with a column for each cluster.
func sideBySide(title string, clusters []string, differences []diff.Difference) compareTable {
	t := compareTable{append([]string{title}, clusters...)}
	for _, d := range differences {
		row, texts := []string{rowName(title, d)}, cellTexts(title, d)
		for _, c := range clusters {
			for i, v := range d.Variants {
				if slices.Contains(v.Clusters, c) {
					row = append(row, texts[i])
				}
			}
		}
		t = append(t, row)
	}
	return t
}

// valueTable returns a table with a row for each value, its clusters and, if
// name is not nil, its origins.
func valueTable(title string, differences []diff.Difference, name func(string) string) compareTable {
	t := compareTable{{title, "IS", "IN"}}
	if name != nil {
		t[0] = append(t[0], "SET BY")
	}
	for _, d := range differences {
		first, texts := rowName(title, d), cellTexts(title, d)
		for i, v := range d.Variants {
			if left := d.Variants[i:]; i == maxVariants-1 && len(left) > 1 {
				row := []string{"", fmt.Sprintf("%d more", len(left)), fmt.Sprintf("%d clusters", countClusters(left)), ""}
				t = append(t, row[:len(t[0])])
				break
			}
			row := []string{first, texts[i], nameList(v.Clusters)}
			if name != nil {
				row = append(row, originsText(v.Origins, name))
			}
			t = append(t, row)
			first = ""
		}
	}
	return t
}

func countClusters(variants []diff.Variant) int {
	n := 0
	for _, v := range variants {
		n += len(v.Clusters)
	}
	return n
}

// rowName returns the name of a difference.
func rowName(title string, d diff.Difference) string {
	path := d.Name()
	if title == "IMAGE" {
		path = diff.Inline(d.Path[0])
	}
	return strings.Trim(d.Release+" "+path, " ")
}

// cellTexts returns the texts of the variants. Image versions are not quoted;
// other strings are distinguishable from numbers.
func cellTexts(title string, d diff.Difference) []string {
	texts := d.Texts()
	for i, v := range d.Variants {
		if version, ok := v.Value.(string); ok && title == "IMAGE" {
			texts[i] = diff.Inline(version)
		}
	}
	return texts
}

// nameList lists the first names and counts the rest.
func nameList(names []string) string {
	return diag.JoinFew(names, maxNamed)
}

// originsText lists the origins of a value.
func originsText(origins []diff.Origin, name func(string) string) string {
	var texts []string
	for _, o := range origins {
		if text := originText(o, name); text != "" {
			texts = append(texts, text)
		}
	}
	return nameList(texts)
}

func originText(o diff.Origin, name func(string) string) string {
	at := o.Pos
	switch {
	case o.Chart != "":
		return "the chart's default"
	case !at.IsValid():
		return ""
	}
	at.File = name(at.File)
	if o.Layer == "" {
		return at.String()
	}
	return at.String() + " (" + o.Layer + ")"
}

// compareText writes a comparison for a terminal.
func compareText(w io.Writer, c *query.Comparison, name func(string) string, style diff.Style) {
	for _, t := range compareTables(c, name) {
		var table bytes.Buffer
		tw := tabwriter.NewWriter(&table, 0, 0, 3, ' ', 0)
		for _, row := range t {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
		_ = tw.Flush() // a buffer accepts all writes
		for line := range strings.Lines(table.String()) {
			fmt.Fprintln(w, strings.TrimRight(line, " \n"))
		}
		fmt.Fprintln(w)
	}
	for _, s := range compareObjects(c, style) {
		fmt.Fprintf(w, "OBJECTS of %s\n%s\n", s.title, s.text)
	}
	fmt.Fprintln(w, compareSummary(c))
}

// An objectsSection describes differences of a release's objects.
type objectsSection struct{ title, text string }

func compareObjects(c *query.Comparison, style diff.Style) []objectsSection {
	var out []objectsSection
	if len(c.Clusters) == 2 {
		out = changesByRelease(c, c.Changes, style)
	} else {
		out = objectsByForms(c)
	}
	if style.All {
		out = append(out, ignoredSections(c, style)...)
	}
	return out
}

// ignoredSections returns the ignored fields: their changes for two clusters,
// otherwise those that differ.
func ignoredSections(c *query.Comparison, style diff.Style) []objectsSection {
	var out []objectsSection
	if len(c.Clusters) == 2 {
		out = changesByRelease(c, c.IgnoredChanges, style)
	}
	for _, d := range c.Ignored {
		if len(c.Clusters) == 2 {
			break
		}
		if len(out) == 0 || out[len(out)-1].title != d.Release {
			out = append(out, objectsSection{title: d.Release})
		}
		out[len(out)-1].text += fmt.Sprintf("  %s %s (%s)\n", diff.Inline(d.Path[0]), diff.Inline(d.Path[1]), diff.Inline(d.Path[2]))
	}
	for i := range out {
		out[i].title += ", ignored by diff.ignore"
	}
	return out
}

// changesByRelease returns the changes of objects between two clusters.
func changesByRelease(c *query.Comparison, all []diff.Change, style diff.Style) []objectsSection {
	var out []objectsSection
	for changes := slices.Clone(all); len(changes) > 0; {
		release, n := changes[0].Release, 0
		for ; n < len(changes) && changes[n].Release == release; n++ {
			changes[n].Release = "" // the title contains it
		}
		var b bytes.Buffer
		_ = diff.WriteChanges(&b, changes[:n], style) // a buffer accepts all writes
		out = append(out, objectsSection{release + ": - in " + c.Clusters[0] + ", + in " + c.Clusters[1], b.String()})
		changes = changes[n:]
	}
	return out
}

// objectsByForms returns differing objects, grouped by the clusters that share
// a form.
func objectsByForms(c *query.Comparison) []objectsSection {
	var out []objectsSection
	place := map[string]int{}
	for _, d := range c.Objects {
		title := d.Release + ": " + presenceText(d)
		i, ok := place[title]
		if !ok {
			i = len(out)
			place[title] = i
			out = append(out, objectsSection{title: title})
		}
		out[i].text += "  " + diff.Inline(d.Path[0]) + "\n"
	}
	return out
}

// presenceText lists the clusters that share a form of an object.
func presenceText(d diff.Difference) string {
	var groups []string
	without, single := "", true
	for _, v := range d.Variants {
		switch {
		case !v.Exists:
			without = "not in " + nameList(v.Clusters)
			continue
		case len(v.Clusters) > 1:
			single = false
		}
		groups = append(groups, nameList(v.Clusters))
	}
	text := "alike in " + strings.Join(groups, " | ")
	switch {
	case len(groups) == 1:
		text = "only in " + groups[0]
	case single:
		text = "different in each of " + nameList(groups)
	case len(groups) > maxVariants:
		text = fmt.Sprintf("alike in %s | %d more", strings.Join(groups[:maxVariants-1], " | "), len(groups)-maxVariants+1)
	}
	if len(groups) > 1 && without != "" {
		text += " | " + without
	}
	return text
}

// compareMarkdown writes a comparison as a comment on a change request.
func compareMarkdown(w io.Writer, c *query.Comparison, name func(string) string, style diff.Style) {
	style.Colour = false
	fmt.Fprintf(w, "**%s**\n", diff.MarkdownText(compareSummary(c)))
	for _, t := range compareTables(c, name) {
		fmt.Fprintln(w)
		writeMarkdownTable(w, t)
	}
	for _, s := range compareObjects(c, style) {
		fence := "```"
		for strings.Contains(s.text, fence) {
			fence += "`"
		}
		fmt.Fprintf(w, "\n<details><summary>Objects of %s</summary>\n\n%s\n%s%s\n\n</details>\n", diff.MarkdownText(s.title), fence, s.text, fence)
	}
}
