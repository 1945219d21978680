package faults

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A Fault is a fault as JSON has it. The names of its fields are a contract.
type Fault struct {
	At       []Place  `json:"at"`             // the places that contribute, the one to look at first in front; may be empty
	Path     string   `json:"path,omitempty"` // the field or object that is wrong
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what to do
	Clusters []string `json:"clusters"`       // IDs of all clusters that it concerns; empty when it concerns the whole fleet

	// Example is the cluster whose values are in the path, the message and the
	// hint, when the other clusters have other values.
	Example string `json:"example,omitempty"`
}

// A Place is a position as JSON has it.
type Place struct {
	File   string `json:"file"`             // slash-separated and relative to the fleet's root, or absolute when outside of it
	Line   int    `json:"line,omitempty"`   // from 1
	Column int    `json:"column,omitempty"` // in bytes, from 1
}

// Of returns the faults of err for JSON, in their order; an empty list for a
// nil err.
func Of(err error) []Fault {
	out := []Fault{}
	for _, d := range diag.All(err) {
		f := Fault{At: []Place{}, Path: d.Path, Message: d.Msg, Hint: d.Hint, Clusters: append([]string{}, d.Clusters...), Example: d.Example}
		for _, p := range d.Places() {
			f.At = append(f.At, Place{p.File, p.Line, p.Col})
		}
		out = append(out, f)
	}
	return out
}

func (r *Report) writeJSON(w io.Writer) error {
	return encode(w, struct {
		Faults []Fault `json:"faults"`
	}{Of(r.Err)})
}

// encode writes a document. Messages are full of < and >, which stay as they
// are: nobody reads the document as HTML.
func encode(w io.Writer, document any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, diag.PrintableJSON(b.String()))
	return err
}
