// Package faults writes faults for those who read them: people, programs, code
// scanners and GitHub's checks.
//
// It knows what a fault says and nothing of what was compiled. How files are
// named from elsewhere, and what their lines are, it is told: it reads no file
// and prints nothing.
package faults

import (
	"io"
	"unicode/utf16"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A Format is a way to write faults.
type Format string

// The formats.
const (
	Text   Format = "text"   // for people
	JSON   Format = "json"   // one document, see [Fault]
	SARIF  Format = "sarif"  // one document, a log of SARIF 2.1.0
	GitHub Format = "github" // workflow commands, one line each, which GitHub Actions makes annotations of
)

// Formats returns the names of all formats, the default in front.
func Formats() []string {
	return []string{string(Text), string(JSON), string(SARIF), string(GitHub)}
}

// IsDocument reports whether faults in the format are a whole document, which
// is there also when there are none.
func (f Format) IsDocument() bool { return f == JSON || f == SARIF }

// Files says how the files that faults name are seen from elsewhere. Its
// functions take files as [diag.Pos] has them.
type Files struct {
	Here       func(file string) string                           // from the working directory
	Repository func(file string) (name string, ok bool)           // from the top of the repository, slash-separated; not ok outside of it
	Line       func(file string, line int) (text string, ok bool) // one line, from 1, without its end
}

// A Report is the faults of one run of fleetc.
type Report struct {
	Err     error  // holds the faults; nil when there are none
	Version string // of fleetc
	Files   Files
}

// Write writes the report in a format; any other than those above is taken for
// text. Faults of several clusters that are one mistake are folded. The error is
// that of w.
func (r *Report) Write(w io.Writer, f Format) error {
	folded := *r
	if r.Err != nil {
		folded.Err = diag.Fold(r.Err)
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
	return diag.WriteText(w, r.Err, r.Files.Here)
}

// column returns the column of a position in UTF-16 code units, from 1, which
// is how SARIF, GitHub and most editors count; 0 when it is not known.
func (r *Report) column(p diag.Pos) int {
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
