package crd

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// text returns the JSON of what counts of the CRD: its name, its approval and
// its spec, without the descriptions of fields. Equal CRDs have equal texts.
// When the CRD is too large or deep, it says so.
func (d *definition) text() (text []byte, problem string) {
	meta := map[string]any{"name": d.object.GetName()}
	if v, ok := d.object.GetAnnotations()[approval]; ok {
		meta["annotations"] = map[string]any{approval: v}
	}
	w := writer{inSchema: true, text: make([]byte, 0, 64<<10)}
	w.value(map[string]any{
		"apiVersion": crdVersion, "kind": crdKind, "metadata": meta, "spec": d.object.Object["spec"],
	}, 0)
	return w.text, w.problem
}

// A writer writes a value as JSON with sorted keys.
type writer struct {
	meter
	text     []byte
	inSchema bool // leaves out descriptions
	names    bool // the next map has names of fields as keys
}

func (w *writer) value(v any, depth int) {
	size := 4
	if s, ok := v.(string); ok {
		size = len(s) + 2
	}
	if !w.in(depth, size) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		w.object(v, depth)
	case []any:
		w.text = append(w.text, '[')
		for i, e := range v {
			if i > 0 {
				w.text = append(w.text, ',')
			}
			w.value(e, depth+1)
		}
		w.text = append(w.text, ']')
	case string:
		w.string(v)
	case int64:
		w.text = strconv.AppendInt(w.text, v, 10)
	default:
		text, err := json.Marshal(v)
		if err != nil {
			w.problem = "it has a value that JSON cannot write"
		}
		w.text = append(w.text, text...)
	}
}

func (w *writer) object(v map[string]any, depth int) {
	names := w.names // a field may be called description
	w.names = false
	keys := slices.AppendSeq(make([]string, 0, len(v)), maps.Keys(v))
	slices.Sort(keys)
	w.text = append(w.text, '{')
	first := true
	for _, key := range keys {
		if _, ok := v[key].(string); ok && key == "description" && w.inSchema && !names {
			continue
		}
		if !first {
			w.text = append(w.text, ',')
		}
		first = false
		w.bytes += len(key) + 3
		w.string(key)
		w.text = append(w.text, ':')
		// What is a value there, and no schema, is written as it is.
		outer := w.inSchema
		w.inSchema = outer && key != "default" && key != "enum" && key != "example"
		w.names = key == "properties" && !names
		w.value(v[key], depth+1)
		w.names, w.inSchema = false, outer
	}
	w.text = append(w.text, '}')
}

// string writes a string, without encoding/json when it is plain.
func (w *writer) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, _ := json.Marshal(s) // a string always can be
			w.text = append(w.text, text...)
			return
		}
	}
	w.text = append(w.text, '"')
	w.text = append(w.text, s...)
	w.text = append(w.text, '"')
}
