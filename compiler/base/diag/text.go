package diag

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// maxClusters is the maximum number of cluster IDs that a fault lists.
const maxClusters = 10

// WriteText writes the faults of err as text. name converts the file names,
// for example to paths relative to the working directory; it may be nil.
//
//	file:line:col: path: message [code]
//	    file:line:col: and here
//	    hint: what to do
//	    in cluster, cluster
//
// The last line of a fault with different values in several clusters is:
//
//	in 3 clusters, for example cluster, as shown; also cluster, cluster
func WriteText(w io.Writer, err error, name func(file string) string) error {
	var b strings.Builder
	for _, d := range All(err) {
		b.WriteString(d.text(name))
	}
	_, werr := io.WriteString(w, b.String())
	return werr
}

// text returns the fault as text, see [WriteText].
func (d *Diag) text(name func(string) string) string {
	if name == nil {
		name = func(file string) string { return file }
	}
	var b strings.Builder
	place := func(p Pos) string {
		p.File = OneLine(name(p.File))
		return p.String() + ": "
	}
	if len(d.At) > 0 {
		b.WriteString(place(d.At[0]))
	}
	// Further lines of a message are indented, for example those of a chart's
	// schema.
	headline := *d
	headline.Path, headline.Msg = OneLine(d.Path), Printable(d.Msg)
	first, rest, more := strings.Cut(strings.TrimRight(headline.headline(), "\n"), "\n")
	b.WriteString(first + d.Code.suffix() + "\n")
	if more {
		b.WriteString("    " + strings.ReplaceAll(rest, "\n", "\n    ") + "\n")
	}
	for i, p := range d.Places() {
		if i > 0 {
			b.WriteString("    " + place(p) + "and here\n")
		}
	}
	if d.Hint != "" {
		b.WriteString("    hint: " + OneLine(d.Hint) + "\n")
	}
	if len(d.Clusters) > 0 {
		b.WriteString("    in " + d.where() + "\n")
	}
	return b.String()
}

// where lists the affected clusters.
func (d *Diag) where() string {
	ids, before := d.Clusters, ""
	if d.Example != "" {
		before = fmt.Sprintf("%d clusters, for example %s, as shown; also ", len(ids), OneLine(d.Example))
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == d.Example })
	}
	return before + OneLine(JoinFirst(ids, maxClusters))
}

// NoTempFile returns the fault for an error of creating a temporary file or directory,
// which a read-only file system of a container prevents.
func NoTempFile(err error) error {
	return &Diag{Code: CodeFileSystem, Msg: "cannot create a temporary file: " + err.Error(), Hint: "set TMPDIR to a writable directory", Cause: err}
}

const (
	notUTF8    = "the file is not UTF-8"
	saveAsUTF8 = "save it as UTF-8"
)

// NotUTF8 returns a fault at the first wrong byte of a file that is not UTF-8, nil for
// other files.
func NotUTF8(code Code, file string, data []byte) *Diag {
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return &Diag{Code: code, At: []Pos{PosAt(file, data, at)}, Msg: notUTF8, Hint: saveAsUTF8}
}

// Decoded returns the text of a file as CUE and YAML read it: with a byte order mark, which is
// removed, it may be UTF-16.
func Decoded(data []byte) []byte {
	text, _, err := transform.Bytes(unicode.BOMOverride(unicode.UTF8.NewDecoder()), data)
	if err != nil {
		return data
	}
	return text
}

// PosAt returns the position of a byte of a file with the text.
func PosAt(file string, text []byte, at int) Pos {
	return Pos{File: file, Line: 1 + bytes.Count(text[:at], []byte("\n")), Col: at - bytes.LastIndexByte(text[:at], '\n')}
}
