package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// An importPrinter prints the report of an import.
type importPrinter struct {
	w io.Writer
	r *importer.Report
}

// places returns the first positions of a note, and how many there are.
func places(at []string) string {
	const most = 3
	text := strings.Join(at[:min(len(at), most)], ", ")
	if len(at) > most {
		text += fmt.Sprintf(", and %d more", len(at)-most)
	}
	return text
}

// prefix returns the position of a mistake in front of a text; empty for an unknown one.
func prefix(n importer.ReportNote) string {
	if n.At[0] == "" {
		return ""
	}
	return n.At[0] + ": "
}

// field names the field of a note, or its document.
func field(doc, name string) string {
	if name == "" {
		return doc
	}
	return doc + " " + name
}

// summary returns the line with the numbers of releases.
func (p *importPrinter) summary() string {
	r := p.r
	parts := []string{
		fmt.Sprintf("%s in %s", diag.Count(len(r.Proofs), "release", "releases"), diag.Count(len(r.Clusters), "cluster", "clusters")),
	}
	for _, s := range []importer.Status{importer.EqualBytes, importer.EqualObjects, importer.Unproven, importer.Different, importer.LeftOut} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// size returns the line with the numbers of documents and lines.
func (p *importPrinter) size() string {
	if p.r.Lines == 0 {
		return diag.Count(p.r.CUELines, "line", "lines") + " of CUE in layers"
	}
	return fmt.Sprintf("%s, %s of YAML -> %s of CUE in layers", diag.Count(p.r.Documents, "document", "documents"), diag.Count(p.r.Lines, "line", "lines"), diag.Count(p.r.CUELines, "line", "lines"))
}

// text writes the report for a terminal.
func (p *importPrinter) text() {
	table := newTable(p.w, "CLUSTER\tRELEASE\tOBJECTS\tPROOF\tREASON")
	for _, proof := range p.r.Proofs {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", cmp.Or(proof.Cluster, "-"), proof.Release, proof.Objects, proof.Status, cmp.Or(strings.Join(strings.FieldsFunc(proof.Reason, func(r rune) bool { return r == '\n' }), " "), "-"))
	}
	_ = table.Flush()
	for _, proof := range p.r.Proofs {
		for i, d := range proof.Differences {
			if i == 0 {
				fmt.Fprintf(p.w, "\n%s: release %s differs in %s\n", cmp.Or(proof.At, proof.Origin), proof.Release, proof.Cluster)
			}
			fmt.Fprintf(p.w, "    %s\n", d)
		}
	}
	if len(p.r.NotCarried) > 0 {
		fmt.Fprint(p.w, "\nnot carried:\n")
		for _, n := range p.r.NotCarried {
			fmt.Fprintf(p.w, "  %s: %s\n", field(n.Document, n.Field), n.Do)
			if len(n.At) > 0 {
				fmt.Fprintf(p.w, "      at %s\n", places(n.At))
			}
		}
	}
	if len(p.r.Mistakes) > 0 {
		fmt.Fprint(p.w, "\nmistakes:\n")
		for _, n := range p.r.Mistakes {
			fmt.Fprintf(p.w, "  %s%s: %s\n", prefix(n), field(n.Document, n.Field), n.Do)
		}
	}
	if len(p.r.Faults) > 0 {
		fmt.Fprintf(p.w, "\n%s of fleetc vet --render:\n", diag.Count(len(p.r.Faults), "fault", "faults"))
		for _, fault := range p.r.Faults {
			fmt.Fprintf(p.w, "  %s\n", strings.ReplaceAll(fault, "\n", "\n      "))
		}
	}
	p.files()
	fmt.Fprintf(p.w, "\n%s\n%s\n", p.size(), p.summary())
}

// files lists the files that were edited and counts the others.
func (p *importPrinter) files() {
	f := p.r.FilePlan
	if len(f.Edited) > 0 {
		fmt.Fprint(p.w, "\nedited since the last import, and left as they are:\n")
		for _, name := range f.Edited {
			fmt.Fprintf(p.w, "  %s\n", name)
		}
	}
	fmt.Fprintf(p.w, "\n%s written, %d removed, %d unchanged\n", diag.Count(len(f.Written), "file", "files"), len(f.Removed), len(f.Same))
}

// markdown writes the report for a pull request.
func (p *importPrinter) markdown() {
	text := diff.MarkdownText
	fmt.Fprintf(p.w, "## Import from %s\n\n**%s**\n\n%s\n\n", text(p.r.Tool), text(p.summary()), text(p.size()))
	fmt.Fprint(p.w, "| cluster | release | objects | proof | reason |\n|---|---|---|---|---|\n")
	for _, proof := range p.r.Proofs {
		reasons := append([]string{}, proof.Differences...)
		if proof.Reason != "" {
			reasons = append([]string{proof.Reason}, reasons...)
		}
		fmt.Fprintf(p.w, "| %s | %s | %d | %s | %s |\n", text(cmp.Or(proof.Cluster, "-")), text(proof.Release), proof.Objects, proof.Status, text(strings.Join(reasons, "; ")))
	}
	if len(p.r.NotCarried) > 0 {
		fmt.Fprint(p.w, "\n### Not carried\n\n| field | what to do | at |\n|---|---|---|\n")
		for _, n := range p.r.NotCarried {
			fmt.Fprintf(p.w, "| %s | %s | %s |\n", text(field(n.Document, n.Field)), text(n.Do), text(places(n.At)))
		}
	}
	if len(p.r.Mistakes) > 0 {
		fmt.Fprint(p.w, "\n### Mistakes\n\n")
		for _, n := range p.r.Mistakes {
			fmt.Fprintf(p.w, "- %s%s: %s\n", text(prefix(n)), text(field(n.Document, n.Field)), text(n.Do))
		}
	}
	if len(p.r.Faults) > 0 {
		fmt.Fprint(p.w, "\n### Faults of fleetc vet --render\n\n")
		for _, fault := range p.r.Faults {
			fmt.Fprintf(p.w, "- %s\n", text(fault))
		}
	}
}
