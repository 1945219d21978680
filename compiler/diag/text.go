package diag

import (
	"fmt"
	"io"
	"strings"
)

// maxClusters is how many cluster IDs a fault lists before it counts the rest.
const maxClusters = 10

// WriteText writes the faults of err as text. The file of each position goes
// through name, which makes it relative to where the user stands; a nil name
// leaves it as it is.
//
//	file:line:col: path: message
//	    file:line:col: and here
//	    hint: what to do
//	    in cluster, cluster
func WriteText(w io.Writer, err error, name func(file string) string) error {
	if name == nil {
		name = func(file string) string { return file }
	}
	var b strings.Builder
	for _, d := range All(err) {
		d.text(&b, name)
	}
	_, werr := io.WriteString(w, b.String())
	return werr
}

func (d *Diag) text(b *strings.Builder, name func(string) string) {
	place := func(p Pos) string {
		p.File = OneLine(name(p.File))
		return p.String() + ": "
	}
	if len(d.At) > 0 {
		b.WriteString(place(d.At[0]))
	}
	// Further lines of a message (a chart's schema lists several) belong to it.
	headline := *d
	headline.Path, headline.Msg = OneLine(d.Path), Printable(d.Msg)
	b.WriteString(strings.ReplaceAll(strings.TrimRight(headline.headline(), "\n"), "\n", "\n    ") + "\n")
	if len(d.At) > 1 {
		for _, p := range d.At[1:] {
			b.WriteString("    " + place(p) + "and here\n")
		}
	}
	if d.Hint != "" {
		b.WriteString("    hint: " + OneLine(d.Hint) + "\n")
	}
	if n := len(d.Clusters); n > maxClusters {
		fmt.Fprintf(b, "    in %s and %d more\n", OneLine(strings.Join(d.Clusters[:maxClusters], ", ")), n-maxClusters)
	} else if n > 0 {
		fmt.Fprintf(b, "    in %s\n", OneLine(strings.Join(d.Clusters, ", ")))
	}
}
