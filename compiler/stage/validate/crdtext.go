package validate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// text returns the fields of the CRD that matter for validation as JSON: its
// name, its approval and its spec, without descriptions. Equal CRDs have equal
// texts. problem is an exceeded limit.
func (d *definition) text() (text []byte, problem string) {
	meta := map[string]any{"name": d.object.GetName()}
	if v, ok := d.object.GetAnnotations()[approval]; ok {
		meta["annotations"] = map[string]any{approval: v}
	}
	w := writer{inSchema: true, text: make([]byte, 0, 64<<10)}
	w.value(map[string]any{
		"apiVersion": definitionVersion, "kind": definitionKind, "metadata": meta, "spec": d.object.Object["spec"],
	}, 0)
	return w.text, w.problem
}

// A writer writes a value as JSON with sorted keys.
type writer struct {
	meter
	text     []byte
	inSchema bool // inside of a schema: leave out descriptions
	names    bool // the keys of the next map are names of fields
}

func (w *writer) value(v any, depth int) {
	size := 4
	if s, ok := v.(string); ok {
		size = len(s) + 2
	}
	if !w.enter(depth, size) {
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
			w.problem = "it has a value that JSON does not support"
		}
		w.text = append(w.text, text...)
	}
}

func (w *writer) object(v map[string]any, depth int) {
	names := w.names // the name of a field may be description
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
		// Values such as defaults are not schemas: they are written unchanged.
		outer := w.inSchema
		w.inSchema = outer && key != "default" && key != "enum" && key != "example"
		w.names = key == "properties" && !names
		w.value(v[key], depth+1)
		w.names, w.inSchema = false, outer
	}
	w.text = append(w.text, '}')
}

// string writes a string; for a plain one, it does not need encoding/json.
func (w *writer) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, _ := json.Marshal(s) // cannot fail for a string
			w.text = append(w.text, text...)
			return
		}
	}
	w.text = append(w.text, '"')
	w.text = append(w.text, s...)
	w.text = append(w.text, '"')
}
