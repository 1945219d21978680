package diag

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// A Fault is the JSON form of a fault. The field names are stable.
type Fault struct {
	Code     Code     `json:"code,omitempty"` // the class of the fault, such as FL1001
	At       []Pos    `json:"at"`             // source positions, the most relevant first; may be empty
	Path     string   `json:"path,omitempty"` // the invalid field or object
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what to do
	Clusters []string `json:"clusters"`       // IDs of all affected clusters; empty for the whole fleet

	// Example is the cluster whose values appear in the path, message and hint, when
	// those of the other clusters differ.
	Example string `json:"example,omitempty"`
}

// FaultsOf returns the JSON form of the faults of err, in order. For a nil err the list is
// empty.
func FaultsOf(err error) []Fault {
	out := []Fault{}
	for _, d := range All(err) {
		out = append(out, Fault{
			Code: d.Code, At: append([]Pos{}, d.Places()...), Path: d.Path, Message: d.Msg, Hint: d.Hint,
			Clusters: append([]string{}, d.Clusters...), Example: d.Example,
		})
	}
	return out
}

func (r *Report) writeJSON(w io.Writer) error {
	return encode(w, struct {
		Faults []Fault `json:"faults"`
	}{FaultsOf(r.Err)})
}

// Texts returns the first lines of the faults of err, in order, with their codes.
func Texts(err error) []string {
	return Each(All(err), func(d *Diag) string { return d.Error() + d.Code.suffix() })
}

// MarshalJSON is json.Marshal without HTML escaping.
func MarshalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// AsJSON returns a value as JSON in one line, without HTML escaping; empty for a value that
// JSON cannot represent.
func AsJSON(v any) string {
	text, err := MarshalJSON(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// encode writes a document. It does not escape < and >, which are common in
// messages.
func encode(w io.Writer, document any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, PrintableJSON(b.String()))
	return err
}
