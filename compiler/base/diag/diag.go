// Package diag says what went wrong, and where.
//
// A fault ([Diag]) is one thing wrong in the user's input: the places that
// contribute to it, a sentence, and a next step. Stages return plain errors;
// a [List] travels inside them and is unpacked at the end by [All]. The
// package formats faults and does not print them, end the program or know
// which stage found them.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Pos is a place in a file of the user's.
type Pos struct {
	File string // slash-separated and relative to the fleet's root, or absolute when outside of it
	Line int    // from 1; 0 when only the file is known
	Col  int    // in bytes, from 1; 0 when only the line is known
}

// IsValid reports whether the position names a file.
func (p Pos) IsValid() bool { return p.File != "" }

// String returns file:line:col, without the parts that are not known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Compare orders positions by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// A Diag is one fault.
type Diag struct {
	At       []Pos    // the places that contribute, the one to look at first in front; may be empty
	Facts    []Pos    // where the cluster sets what these refer to, such as its name; may be empty
	Clusters []string // IDs of the clusters that it concerns, sorted; empty when it concerns the whole fleet
	Example  string   // the cluster whose values are in what it says, when those of the others differ; see [Fold]
	Path     string   // the field or object that is wrong; may be empty
	Msg      string   // what is wrong, as a clause without a full stop
	Hint     string   // what to do, as an order; may be empty
	Cause    error    // the error behind it; may be nil

	form string // of several clusters, equal for one mistake; empty when it is not known
}

// Places returns all places of the fault, the one to look at first in front.
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

// headline is the part of the first line that follows the position.
func (d *Diag) headline() string {
	if d.Path == "" {
		return d.Msg
	}
	return d.Path + ": " + d.Msg
}

// Unwrap returns the error behind the fault.
func (d *Diag) Unwrap() error { return d.Cause }

// compare orders faults by place, path and text, so that every run reports
// them in the same order. Faults without a place come last.
func (d *Diag) compare(e *Diag) int {
	if len(d.At) == 0 || len(e.At) == 0 {
		if c := cmp.Compare(len(e.At), len(d.At)); c != 0 {
			return c
		}
	}
	return cmp.Or(slices.CompareFunc(d.At, e.At, Pos.Compare),
		cmp.Compare(d.Path, e.Path), cmp.Compare(d.Msg, e.Msg), cmp.Compare(d.Hint, e.Hint))
}

// ErrRunaway is the cause of a fault whose evaluation goes on in the background.
// It takes memory and a processor until it ends by itself or the process does:
// whoever gets the fault should compile nothing more, and end the process soon.
var ErrRunaway = errors.New("an evaluation does not stop")

// A List is a set of faults. The zero value is empty and ready for use.
type List []*Diag

// Add appends the faults of err: those of a List or Diag anywhere inside it,
// or a new fault with its text. A nil err adds nothing.
func (l *List) Add(err error) { *l = append(*l, All(err)...) }

// Err returns the list as an error, sorted, with equal faults of several
// clusters joined into one; nil when the list is empty.
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

// join returns equal faults as one that concerns the clusters of all. A fault of
// the whole fleet stays one.
func join(equal List) *Diag {
	d := equal[0]
	if len(equal) == 1 {
		return d
	}
	all := *d
	all.Clusters = nil
	for _, e := range equal {
		if !slices.Equal(d.Facts, e.Facts) {
			all.Facts = nil // each cluster sets its own
		}
		if len(e.Clusters) == 0 {
			all.Clusters = nil
			return &all
		}
		all.Clusters = append(all.Clusters, e.Clusters...)
	}
	slices.Sort(all.Clusters)
	all.Clusters = slices.Compact(all.Clusters)
	return &all
}

// Error returns the first lines of all faults.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults, for [errors.Is] and [errors.As].
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, d := range l {
		errs[i] = d
	}
	return errs
}

// All returns the faults inside err; an error without any becomes a fault
// with its text. It returns nil for a nil err.
func All(err error) List {
	if err == nil {
		return nil
	}
	if l, ok := errors.AsType[List](err); ok {
		return l
	}
	if d, ok := errors.AsType[*Diag](err); ok {
		return List{d}
	}
	return List{{Msg: err.Error(), Cause: err}}
}

// In returns err with every fault marked as one of the cluster with the given
// ID; nil for a nil err.
func In(cluster string, err error) error {
	var out List
	for _, d := range All(err) {
		c := *d
		if len(c.Clusters) == 0 {
			c.Clusters = []string{cluster}
		}
		out = append(out, &c)
	}
	return out.Err()
}
