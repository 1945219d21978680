// Package diag describes faults in the user's input.
//
// A fault ([Diag]) has positions, a message and a hint. Stages return plain
// errors that may contain a [List] of faults; [All] extracts them. A [Report] writes
// faults for people, programs, code scanners and GitHub's checks. The caller provides
// the names and lines of files and the writer: a report reads no file and does not end the
// program.
//
// [CUEFaults] converts errors and positions of CUE to faults. It does not evaluate CUE.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Pos is a position in a user's file.
type Pos struct {
	File string `json:"file,omitempty"`   // slash-separated, relative to the fleet's root, or absolute outside of it
	Line int    `json:"line,omitempty"`   // starts at 1; 0 when unknown
	Col  int    `json:"column,omitempty"` // in bytes, starts at 1; 0 when unknown
}

// IsValid reports whether the position names a file.
func (p Pos) IsValid() bool { return p.File != "" }

// Depth returns the number of directories above the file in the fleet, -1 for a file of a
// module in CUE's cache.
func (p Pos) Depth() int {
	if filepath.IsAbs(filepath.FromSlash(p.File)) {
		return -1
	}
	return strings.Count(p.File, "/")
}

// String returns file:line:col, without unknown parts.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Positions returns the valid positions, for the places of a fault.
func Positions(all ...Pos) []Pos {
	return Filter(all, Pos.IsValid)
}

// Compare orders positions by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// A Diag is one fault.
type Diag struct {
	Code     Code     // the class of the fault; empty in packages that do not assign codes yet
	At       []Pos    // positions of the fault, the most important first; may be empty
	Facts    []Pos    // positions where the cluster sets values that At refers to, such as its name; may be empty
	Clusters []string // sorted IDs of the affected clusters; empty for the whole fleet
	Example  string   // the cluster whose values the message contains, if they differ between clusters; see [Fold]
	Path     string   // the invalid field or object; may be empty
	Msg      string   // the error, without a full stop
	Hint     string   // the next step; may be empty
	Fixes    []Fix    // changes that do what the hint says; may be empty
	Cause    error    // the underlying error; may be nil
	Rivals   bool     // whether At has values of one field that differ, any of which may be wrong

	form string // message without values of the cluster; equal for one mistake in several clusters, empty when unknown
}

// Places returns all positions of the fault, the most important first.
func (d *Diag) Places() []Pos { return slices.Concat(d.At, d.Facts) }

// Error returns the fault's first line: file:line:col: path: message.
func (d *Diag) Error() string {
	var b strings.Builder
	if len(d.At) > 0 {
		b.WriteString(d.At[0].String() + ": ")
	}
	b.WriteString(d.headline())
	return b.String()
}

// headline returns the first line without the position.
func (d *Diag) headline() string {
	if d.Path == "" {
		return d.Msg
	}
	return d.Path + ": " + d.Msg
}

// Unwrap returns the underlying error.
func (d *Diag) Unwrap() error { return d.Cause }

// compare orders faults by position, path and text, so that the order is
// deterministic. Faults without position come last.
func (d *Diag) compare(e *Diag) int {
	if len(d.At) == 0 || len(e.At) == 0 {
		if c := cmp.Compare(len(e.At), len(d.At)); c != 0 {
			return c
		}
	}
	return cmp.Or(slices.CompareFunc(d.At, e.At, Pos.Compare),
		cmp.Compare(d.Path, e.Path), cmp.Compare(d.Msg, e.Msg), cmp.Compare(d.Hint, e.Hint))
}

// ErrRunaway is the cause of a fault whose evaluation continues in the
// background, where it uses memory and a processor. The caller should compile
// nothing more and end the process soon.
var ErrRunaway = errors.New("an evaluation does not stop")

// A List is a set of faults. The zero value is empty and ready for use.
type List []*Diag

// Add appends the faults of err: those of a List or Diag inside it, or a new
// fault with its text. A nil err adds nothing.
func (l *List) Add(err error) { *l = append(*l, All(err)...) }

// Err returns the list as a sorted error, with equal faults of several
// clusters joined. It returns nil for an empty list.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(l), (*Diag).compare)
	var out List
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].compare(sorted[0]) == 0 {
			n++
		}
		out = append(out, join(sorted[:n]))
		sorted = sorted[n:]
	}
	return out
}

// join joins equal faults of several clusters. If one concerns the whole
// fleet, the result does too.
func join(equal List) *Diag {
	d := equal[0]
	if len(equal) == 1 {
		return d
	}
	all := *d
	all.Clusters = nil
	for _, e := range equal {
		if !slices.Equal(d.Facts, e.Facts) {
			all.Facts = nil // they differ between clusters
		}
		if len(e.Clusters) == 0 {
			all.Clusters = nil
			return &all
		}
		all.Clusters = append(all.Clusters, e.Clusters...)
	}
	all.Clusters = Distinct(all.Clusters)
	return &all
}

// Error returns the first lines of all faults.
func (l List) Error() string {
	return strings.Join(Each(l, (*Diag).Error), "\n")
}

// Unwrap returns the faults, for [errors.Is] and [errors.As].
func (l List) Unwrap() []error {
	return Each(l, func(d *Diag) error { return d })
}

// All returns the faults inside err. An error without faults becomes a fault
// with its text. It returns nil for a nil err.
func All(err error) List {
	if err == nil {
		return nil
	}
	for e := err; e != nil; e = errors.Unwrap(e) { // the cause of a fault may be a list
		switch e := e.(type) {
		case List:
			return e
		case *Diag:
			return List{e}
		}
	}
	if l, ok := errors.AsType[List](err); ok { // of errors that are joined
		return l
	}
	if d, ok := errors.AsType[*Diag](err); ok {
		return List{d}
	}
	code, hint := classify(err)
	return List{{Code: code, Msg: err.Error(), Hint: hint, Cause: err}}
}

// Changed returns err with a copy of each fault, which change may modify; nil for a nil err.
// The copies share their slices with the faults.
func Changed(err error, change func(d *Diag)) error {
	var out List
	for _, d := range All(err) {
		changed := *d
		change(&changed)
		out = append(out, &changed)
	}
	return out.Err()
}

// In returns err with every fault marked with the cluster ID; nil for a nil
// err.
func In(cluster string, err error) error {
	return Changed(err, func(d *Diag) {
		if len(d.Clusters) == 0 {
			d.Clusters = []string{cluster}
		}
	})
}

// Moved returns err with every position of its faults replaced by that of move; nil for a
// nil err.
func Moved(err error, move func(Pos) Pos) error {
	return Changed(err, func(d *Diag) {
		d.At = slices.Clone(d.At)
		for i, p := range d.At {
			d.At[i] = move(p)
		}
	})
}

// Brief returns the text of an error for a message: printable, one line, and not longer
// than MaxText.
func Brief(err error) string {
	return Line(err.Error(), MaxText)
}

// A FixKind is a way to change the files of a fleet.
type FixKind int

// The kinds of fixes. Positions are those of the fault.
const (
	FixName    FixKind = iota + 1 // replace the key or the text Old at the first position by New
	FixValue                      // replace the value at the first position by New, which is CUE
	FixSource                     // replace the source text Old at the first position by the source text New
	FixImport                     // import the package New in the file of the first position
	FixWaiver                     // set the field Path to New, which is CUE with [Reason] in it, in the file of the first position
	FixDefault                    // move the value of the highest layer from values to defaults
	FixChart                      // pin the chart Old in version New again, in the package whose file has a position
)

// Reason is the placeholder that a user replaces with the reason for a waiver.
const Reason = "TODO: say why"

// A Fix is a change of the fleet's files that fixes a fault. An editor applies it only if
// the text to replace is still there.
type Fix struct {
	Kind     FixKind
	Old, New string
	Path     string // a path in CUE's syntax
}

// Respell returns the fix that replaces a misspelled word, as suggested by [DidYouMean]; none
// if no word is similar.
func Respell(word string, among []string) []Fix {
	if near := Nearest(word, among); near != "" {
		return []Fix{{Kind: FixName, Old: word, New: near}}
	}
	return nil
}
