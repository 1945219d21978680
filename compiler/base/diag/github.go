package diag

import (
	"cmp"
	"io"
	"strconv"
	"strings"
)

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
