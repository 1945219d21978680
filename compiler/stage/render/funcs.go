package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// functions returns the functions that templates can call: Sprig's without
// access to the environment, Helm's, and those of text/template. [engine.bind]
// binds them to a rendering and limits them.
func functions() map[string]any {
	f := sprig.TxtFuncMap()
	delete(f, "env")
	delete(f, "expandenv")
	maps.Copy(f, builtin())
	maps.Copy(f, template.FuncMap{
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,

		"toYaml": toYAML, "toYamlPretty": toYAMLPretty, "fromYaml": fromYAML, "fromYamlArray": fromYAMLArray,
		"toJson": toJSON, "fromJson": fromJSON, "fromJsonArray": fromJSONArray,
		"toToml": toTOML, "fromToml": fromTOML,

		"include":  func(string, any) (string, error) { return "", nil },
		"tpl":      func(string, any) (string, error) { return "", nil },
		"required": demand,
		"fail":     func(msg string) (string, error) { return "", &complaint{msg} },
		// Rendering has no cluster and no name server.
		"lookup":        func(_, _, _, _ string) (map[string]any, error) { return map[string]any{}, nil },
		"getHostByName": func(string) string { return "" },
	})
	return f
}

// demand returns the value. It is an error when the value is missing or an
// empty string.
func demand(msg string, v any) (any, error) {
	if v == nil || v == "" {
		return v, &complaint{msg}
	}
	return v, nil
}

// As in Helm, encoders return an empty string for values that they cannot
// encode, and decoders return the error message as a value.

func toYAML(v any) string { return asYAML(toJSON(v)) }

// asYAML converts JSON to YAML. It returns an empty string when that fails.
func asYAML(text string) string {
	data, err := yaml.JSONToYAML([]byte(text))
	if err != nil || text == "" {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func toYAMLPretty(v any) string {
	var out bytes.Buffer
	enc := goyaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func toJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

func toTOML(v any) string {
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(v); err != nil {
		return err.Error()
	}
	return out.String()
}

func fromYAML(s string) map[string]any {
	v, _ := fleet.DecodeYAML(s)
	if m, ok := v.(map[string]any); ok {
		return asJSON(m).(map[string]any)
	}
	return decodeMap(s, yamlUnmarshal)
}

func fromJSON(s string) map[string]any { return decodeMap(s, json.Unmarshal) }
func fromTOML(s string) map[string]any { return decodeMap(s, toml.Unmarshal) }

func fromYAMLArray(s string) []any { return decodeList(s, yamlUnmarshal) }
func fromJSONArray(s string) []any { return decodeList(s, json.Unmarshal) }

func yamlUnmarshal(data []byte, v any) error { return yaml.Unmarshal(data, v) }

// asJSON converts the numbers of a decoded value to those of encoding/json. It
// modifies v.
func asJSON(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case map[string]any:
		for k, e := range v {
			v[k] = asJSON(e)
		}
	case []any:
		for i, e := range v {
			v[i] = asJSON(e)
		}
	}
	return v
}

func decodeMap(s string, unmarshal func([]byte, any) error) map[string]any {
	m := map[string]any{}
	if err := unmarshal([]byte(s), &m); err != nil {
		m["Error"] = err.Error()
	}
	return m
}

func decodeList(s string, unmarshal func([]byte, any) error) []any {
	l := []any{}
	if err := unmarshal([]byte(s), &l); err != nil {
		return []any{err.Error()}
	}
	return l
}
