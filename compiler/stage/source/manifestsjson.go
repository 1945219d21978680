package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxManifestDepth is the maximum nesting of values in JSON and in files of kustomizations.
const maxManifestDepth = 1000

// json adds the objects of a file of JSON values.
func (s *manifestTree) json(t *text) {
	r := reader{text: t, decoder: json.NewDecoder(bytes.NewReader(t.data)), fault: s.fault, inexact: map[int]string{}}
	r.decoder.UseNumber()
	for {
		before := len(s.faults)
		v, p, err := r.value(0)
		switch o, ok := v.(map[string]any); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			s.fault(diag.CodeManifest, r.pos(r.failed()), "JSON that does not parse: "+message(err), "correct the JSON here, for example a missing comma or quote")
			return
		case s.enough():
			return
		case len(s.faults) > before:
		case !ok:
			s.fault(diag.CodeManifest, diag.Pos{File: t.name, Line: p.line, Col: p.col}, "a document without apiVersion and kind", notObject)
		default:
			if !fleet.IsCRD(o) {
				for _, at := range slices.Sorted(maps.Keys(r.inexact)) {
					s.inexact(r.pos(at), r.inexact[at])
				}
			}
			clear(r.inexact)
			s.add(t.name, o, p)
		}
	}
}

// A reader reads JSON values and their positions.
type reader struct {
	text    *text
	decoder *json.Decoder
	fault   func(code diag.Code, pos diag.Pos, msg, hint string)
	inexact map[int]string // integers of the value that Kubernetes cannot store, by offset
}

func (r reader) pos(offset int) diag.Pos {
	p := r.text.at(offset)
	return diag.Pos{File: r.text.name, Line: p.line, Col: p.col}
}

// next returns the offset of the next token.
func (r reader) next() int { return r.after(" \t\r\n,:") }

// failed returns the offset of the decoder's error.
func (r reader) failed() int { return r.after(" \t\r\n") }

// after returns the offset of the next byte that is not in skipped.
func (r reader) after(skipped string) int {
	rest := r.text.data[r.decoder.InputOffset():]
	return len(r.text.data) - len(bytes.TrimLeft(rest, skipped))
}

// message returns a message of the JSON library without its redundant prefix.
func message(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the file ends within a value"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// value reads the next value, with int64 for integers and float64 for other
// numbers. It returns io.EOF at the end of the text.
func (r reader) value(depth int) (any, place, error) {
	start := r.next()
	if depth > maxManifestDepth {
		return nil, place{}, fmt.Errorf("values are nested more than %d levels deep", maxManifestDepth)
	}
	token, err := r.decoder.Token()
	if err != nil {
		if depth > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, place{}, err
	}
	at := r.text.at(start)
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return r.object(at, depth)
		}
		return r.list(at, depth)
	case json.Number:
		if i, err := token.Int64(); err == nil {
			return i, at, nil
		}
		if !fleet.KubernetesNumber(token) {
			r.inexact[start] = token.String()
		}
		f, err := token.Float64()
		if err != nil {
			r.fault(diag.CodeManifest, r.pos(start), "a number that is out of range: "+excerpt(token.String()), "write a smaller number, or a string in quotes")
		}
		return f, at, nil
	}
	return token, at, nil
}

func (r reader) object(at place, depth int) (any, place, error) {
	out, first := map[string]any{}, map[string]int{}
	for r.decoder.More() {
		start := r.next()
		token, err := r.decoder.Token()
		if err != nil {
			return nil, at, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, at, errors.New("a key that is not a string")
		}
		v, p, err := r.value(depth + 1)
		if err != nil {
			return nil, at, err
		}
		if firstPlace, ok := first[key]; ok {
			r.fault(diag.CodeManifest, r.pos(start), fmt.Sprintf("the key %s occurs twice, first in line %d", excerpt(key), r.text.at(firstPlace).line), "keep one of them")
			continue
		}
		if out[key], first[key] = v, start; key == "items" {
			at.items = p.items
		}
	}
	return out, at, r.end()
}

func (r reader) list(at place, depth int) (any, place, error) {
	out := []any{}
	for r.decoder.More() {
		v, p, err := r.value(depth + 1)
		if err != nil {
			return nil, at, err
		}
		out, at.items = append(out, v), append(at.items, p)
	}
	return out, at, r.end()
}

// end reads the end of an object or list.
func (r reader) end() error {
	_, err := r.decoder.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
