package diag

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A Format is an output format for faults.
type Format string

// The output formats.
const (
	Text   Format = "text"   // for people
	JSON   Format = "json"   // one document, see [Fault]
	SARIF  Format = "sarif"  // one document, a log of SARIF 2.1.0
	GitHub Format = "github" // workflow commands, one line each, which GitHub Actions shows as annotations
)

// IsDocument reports whether the format always writes one complete document, even
// without faults.
func (f Format) IsDocument() bool { return f == JSON || f == SARIF }

// Files resolves the files of faults. Its functions take file names in the form of
// [diag.Pos].
type Files struct {
	Here       func(file string) string                           // path from the working directory
	Repository func(file string) (name string, ok bool)           // path from the top of the repository, slash-separated; not ok outside of it
	Line       func(file string, line int) (text string, ok bool) // one line, from 1, without line end
}

// A Report has the faults of one run of fleetc.
type Report struct {
	Err     error  // contains the faults; nil when there are none
	Version string // of fleetc
	Files   Files

	// Findings are results of the run that are not faults, and Rule is their class.
	// Only SARIF has them.
	Findings []*Diag
	Rule     Rule
}

// A Rule is a class of findings.
type Rule struct{ ID, Summary string }

// Write writes the report in a format, or as text when the format is unknown. It
// combines equal faults of several clusters. It returns only errors of w.
func (r *Report) Write(w io.Writer, f Format) error {
	folded := *r
	if r.Err != nil {
		folded.Err = Fold(r.Err)
	}
	r = &folded
	switch f {
	case JSON:
		return r.writeJSON(w)
	case SARIF:
		return r.writeSARIF(w)
	case GitHub:
		return r.writeGitHub(w)
	}
	return WriteText(w, r.Err, r.Files.Here)
}

// column returns the column of a position in UTF-16 code units, from 1, as SARIF,
// GitHub and most editors count; 0 when unknown.
func (r *Report) column(p Pos) int {
	if p.Line < 1 || p.Col < 1 {
		return 0
	}
	line, ok := r.Files.Line(p.File, p.Line)
	if !ok || p.Col-1 > len(line) {
		return 0
	}
	column := 1
	for _, c := range line[:p.Col-1] {
		column += utf16.RuneLen(c)
	}
	return column
}

// Escapes of workflow commands. They prevent a message from ending its line and
// starting another command. The runner reverses them in the opposite order.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// writeGitHub writes an error command for each fault. The log of a workflow shows
// only the message, and GitHub annotates only the first few, so the message contains
// the whole fault with its positions.
func (r *Report) writeGitHub(w io.Writer) error {
	var b strings.Builder
	for _, d := range All(r.Err) {
		b.WriteString("::error ")
		if len(d.At) > 0 {
			r.githubPlace(&b, d.At[0])
		}
		title := cmp.Or(d.Path, "fleetc")
		if d.Code != "" {
			title = string(d.Code) + ": " + d.Code.Title()
		}
		b.WriteString("title=" + githubProperty.Replace(OneLine(title)) + "::")
		b.WriteString(githubData.Replace(strings.TrimSuffix(d.text(r.Files.Here), "\n")) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// githubPlace writes the properties with the position of a fault inside the
// repository.
func (r *Report) githubPlace(b *strings.Builder, p Pos) {
	name, ok := r.Files.Repository(p.File)
	if !ok {
		return
	}
	b.WriteString("file=" + githubProperty.Replace(OneLine(name)) + ",")
	if p.Line > 0 {
		b.WriteString("line=" + strconv.Itoa(p.Line) + ",")
	}
	if col := r.column(p); col > 0 {
		b.WriteString("col=" + strconv.Itoa(col) + ",")
	}
}
