package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// An importPrinter prints the report of an import.
type importPrinter struct {
	w    io.Writer
	r    *importer.Report
	base string // absolute directory that file names are relative to
}

// place returns a position with a file name relative to the base.
func (p *importPrinter) place(pos diag.Pos) string {
	if filepath.IsAbs(filepath.FromSlash(pos.File)) {
		if rel, err := filepath.Rel(filepath.FromSlash(p.base), filepath.FromSlash(pos.File)); err == nil {
			pos.File = filepath.ToSlash(rel)
		}
	}
	return pos.String()
}

// prefix returns a position in front of a text; empty for an unknown one.
func (p *importPrinter) prefix(pos diag.Pos) string {
	if !pos.IsValid() {
		return ""
	}
	return p.place(pos) + ": "
}

// places returns the first positions of a note, and how many there are.
func (p *importPrinter) places(at []diag.Pos) string {
	const most = 3
	var out []string
	for _, pos := range at[:min(len(at), most)] {
		out = append(out, p.place(pos))
	}
	if len(at) > most {
		out = append(out, fmt.Sprintf("and %d more", len(at)-most))
	}
	return strings.Join(out, ", ")
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
		fmt.Sprintf("%s in %s", plural(len(r.Proofs), "release", "releases"), plural(len(r.Clusters), "cluster", "clusters")),
	}
	for _, s := range []importer.Status{importer.EqualBytes, importer.EqualObjects, importer.Unproven, importer.Different} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// size returns the line with the numbers of documents and lines.
func (p *importPrinter) size() string {
	if p.r.Lines == 0 {
		return plural(p.r.CUELines, "line", "lines") + " of CUE in layers"
	}
	return fmt.Sprintf("%s, %s of YAML -> %s of CUE in layers", plural(p.r.Documents, "document", "documents"), plural(p.r.Lines, "line", "lines"), plural(p.r.CUELines, "line", "lines"))
}

// text writes the report for a terminal.
func (p *importPrinter) text() error {
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0) //nolint:mnd // blanks between columns
	fmt.Fprintln(table, "CLUSTER\tRELEASE\tOBJECTS\tPROOF\tREASON")
	for _, proof := range p.r.Proofs {
		reason := proof.Reason
		if reason == "" {
			reason = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", proof.Cluster, proof.Release, proof.Objects, proof.Status, reason)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, proof := range p.r.Proofs {
		for i, d := range proof.Differences {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s: release %s differs in %s\n", p.place(proof.Pos), proof.Release, proof.Cluster)
			}
			fmt.Fprintf(&b, "    %s\n", d)
		}
	}
	if len(p.r.NotCarried) > 0 {
		b.WriteString("\nnot carried:\n")
		for _, n := range p.r.NotCarried {
			fmt.Fprintf(&b, "  %s: %s\n", field(n.Kind, n.Field), n.Do)
			if len(n.At) > 0 {
				fmt.Fprintf(&b, "      at %s\n", p.places(n.At))
			}
		}
	}
	if len(p.r.Mistakes) > 0 {
		b.WriteString("\nmistakes:\n")
		for _, n := range p.r.Mistakes {
			fmt.Fprintf(&b, "  %s%s: %s\n", p.prefix(n.Pos), field(n.Doc, n.Field), n.Do)
		}
	}
	if len(p.r.Faults) > 0 {
		fmt.Fprintf(&b, "\n%s of fleetc vet --render:\n", plural(len(p.r.Faults), "fault", "faults"))
		for _, fault := range diag.Texts(p.r.Faults) {
			fmt.Fprintf(&b, "  %s\n", fault)
		}
	}
	p.files(&b)
	fmt.Fprintf(&b, "\n%s\n%s\n", p.size(), p.summary())
	_, err := p.w.Write(b.Bytes())
	return err
}

// files lists the files that were edited and counts the others.
func (p *importPrinter) files(b *bytes.Buffer) {
	f := p.r.Files
	if len(f.Edited) > 0 {
		b.WriteString("\nedited since the last import, and left as they are:\n")
		for _, name := range f.Edited {
			fmt.Fprintf(b, "  %s\n", name)
		}
	}
	fmt.Fprintf(b, "\n%s written, %d removed, %d unchanged\n", plural(len(f.Written), "file", "files"), len(f.Removed), len(f.Same))
}

// markdown writes the report for a pull request.
func (p *importPrinter) markdown() error {
	var b bytes.Buffer
	text := diff.MarkdownText
	fmt.Fprintf(&b, "## Import from %s\n\n**%s**\n\n%s\n\n", text(p.r.Tool), text(p.summary()), text(p.size()))
	b.WriteString("| cluster | release | objects | proof | reason |\n|---|---|---|---|---|\n")
	for _, proof := range p.r.Proofs {
		reasons := append([]string{}, proof.Differences...)
		if proof.Reason != "" {
			reasons = append([]string{proof.Reason}, reasons...)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", text(proof.Cluster), text(proof.Release), proof.Objects, proof.Status, text(strings.Join(reasons, "; ")))
	}
	if len(p.r.NotCarried) > 0 {
		b.WriteString("\n### Not carried\n\n| field | what to do | at |\n|---|---|---|\n")
		for _, n := range p.r.NotCarried {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", text(field(n.Kind, n.Field)), text(n.Do), text(p.places(n.At)))
		}
	}
	if len(p.r.Mistakes) > 0 {
		b.WriteString("\n### Mistakes\n\n")
		for _, n := range p.r.Mistakes {
			fmt.Fprintf(&b, "- %s%s: %s\n", text(p.prefix(n.Pos)), text(field(n.Doc, n.Field)), text(n.Do))
		}
	}
	if len(p.r.Faults) > 0 {
		b.WriteString("\n### Faults of fleetc vet --render\n\n")
		for _, fault := range diag.Texts(p.r.Faults) {
			fmt.Fprintf(&b, "- %s\n", text(fault))
		}
	}
	_, err := p.w.Write(b.Bytes())
	return err
}

// An importedRelease is a release in the output of import -o json.
type importedRelease struct {
	Cluster     string   `json:"cluster"`
	Release     string   `json:"release"`
	From        string   `json:"from"`
	At          string   `json:"at,omitempty"`
	Proof       string   `json:"proof"`
	Objects     int      `json:"objects"`
	Reason      string   `json:"reason,omitempty"`
	Differences []string `json:"differences,omitempty"`
}

// An importedNote is a field that is not carried, or a mistake.
type importedNote struct {
	Document string   `json:"document"`
	Field    string   `json:"field,omitempty"`
	Do       string   `json:"do"`
	At       []string `json:"at,omitempty"`
}

// An importReport is the output of import -o json.
type importReport struct {
	Proven     bool              `json:"proven"`
	Clusters   []string          `json:"clusters"`
	Releases   []importedRelease `json:"releases"`
	NotCarried []importedNote    `json:"notCarried"`
	Mistakes   []importedNote    `json:"mistakes"`
	Faults     []string          `json:"faults"`
	Written    []string          `json:"written"`
	Removed    []string          `json:"removed"`
	Edited     []string          `json:"edited"`
	Documents  int               `json:"documents"`
	Lines      int               `json:"lines"`
	CUELines   int               `json:"cueLines"`
}

// json writes the report as JSON, with all positions.
func (p *importPrinter) json() error {
	r := p.r
	out := importReport{
		Proven: r.Proven(), Clusters: r.Clusters, Documents: r.Documents, Lines: r.Lines, CUELines: r.CUELines,
		Releases: []importedRelease{}, NotCarried: []importedNote{}, Mistakes: []importedNote{}, Faults: diag.Texts(r.Faults),
		Written: append([]string{}, r.Files.Written...), Removed: append([]string{}, r.Files.Removed...), Edited: append([]string{}, r.Files.Edited...),
	}
	for _, proof := range r.Proofs {
		out.Releases = append(out.Releases, importedRelease{
			proof.Cluster, proof.Release, proof.Origin, p.place(proof.Pos), string(proof.Status), proof.Objects, proof.Reason, proof.Differences,
		})
	}
	for _, n := range r.NotCarried {
		note := importedNote{Document: n.Kind, Field: n.Field, Do: n.Do}
		for _, pos := range n.At {
			note.At = append(note.At, p.place(pos))
		}
		out.NotCarried = append(out.NotCarried, note)
	}
	for _, n := range r.Mistakes {
		out.Mistakes = append(out.Mistakes, importedNote{n.Doc, n.Field, n.Do, []string{p.place(n.Pos)}})
	}
	return writeJSON(p.w, out)
}
