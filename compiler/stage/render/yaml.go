package render

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// decode decodes a YAML document as Kubernetes' libraries do: map keys are
// strings, integers are int64 and other numbers float64. A duplicate key is an
// error, since readers disagree on which value is used.
func decode(text string) (any, error) {
	if v, ok := fleet.DecodeYAML(text); ok {
		return v, nil
	}
	v, err := fleet.UnmarshalYAML([]byte(text))
	if err != nil {
		return nil, err
	}
	return kubernetesValue(v, text, fleet.YAMLToJSON)
}

// decodeLast is [decode] for a document whose maps may have keys twice: the last value counts.
func decodeLast(text string) (any, error) {
	v, err := fleet.UnmarshalLastYAML([]byte(text))
	if err != nil {
		return nil, err
	}
	return kubernetesValue(v, text, sigsyaml.YAMLToJSON)
}

// kubernetesValue converts the value of a YAML document to the types of a decoded JSON value.
func kubernetesValue(v any, text string, toJSON func([]byte) ([]byte, error)) (any, error) {
	if out, ok := plain(v); ok {
		return out, nil
	}
	// The slow path by JSON handles what charts hardly ever contain.
	if err := clash(v); err != nil {
		return nil, err
	}
	data, err := toJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	return v, checkIntegers(v, text)
}

// An inexactError is an integer that Kubernetes cannot store.
type inexactError struct{ number string }

func (e *inexactError) Error() string {
	return "a number that changes: " + fleet.InexactNumber(e.number)
}

// checkIntegers returns an error for an integer of a document that Kubernetes cannot
// store with the same digits.
func checkIntegers(v any, text string) error {
	var doc yamlv3.Node
	if fleet.IsCRD(v) || yamlv3.Unmarshal([]byte(text), &doc) != nil {
		return nil
	}
	if found := fleet.InexactIntegers(&doc); len(found) > 0 {
		return &inexactError{found[0].Value}
	}
	return nil
}

// plain converts a decoded YAML value to the types of a decoded JSON value. It
// reports false when the value cannot be represented in JSON.
func plain(v any) (any, bool) {
	switch v := v.(type) {
	case nil, bool:
		return v, true
	case string:
		return v, utf8.ValidString(v)
	case int:
		return int64(v), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		if math.Abs(v) >= 1<<63 {
			return nil, false // it may be an integer that is rounded
		}
		if v == math.Trunc(v) { // JSON writes it without a decimal point
			if i, err := strconv.ParseInt(strconv.FormatFloat(v, 'f', -1, 64), 10, 64); err == nil {
				return i, true
			}
		}
		return v, true
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var ok bool
			if out[i], ok = plain(e); !ok {
				return nil, false
			}
		}
		return out, true
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			key, ok := k.(string)
			if !ok || !utf8.ValidString(key) {
				return nil, false
			}
			if out[key], ok = plain(e); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return nil, false
}

// clash returns an error when two keys of a map have the same text, such as 1
// and "1".
func clash(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := clash(e); err != nil {
				return err
			}
		}
	case map[any]any:
		seen := make(map[string]bool, len(v))
		for k, e := range v {
			key := fmt.Sprint(k)
			if seen[key] {
				return fmt.Errorf("key %q already set in map", key)
			}
			seen[key] = true
			if err := clash(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// objectsOf returns the objects of a decoded document: none when it is empty,
// the items when it is a list of objects.
func objectsOf(v any, text string) ([]map[string]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return flatten(v)
	}
	return nil, fmt.Errorf("a document that is not an object: %s", excerpt(text))
}

// contents wraps decoded objects.
func contents(objs []map[string]any) []*unstructured.Unstructured {
	return diag.Each(objs, func(o map[string]any) *unstructured.Unstructured { return &unstructured.Unstructured{Object: o} })
}

// decodeObjects returns the objects of a YAML document.
func decodeObjects(text string) ([]map[string]any, error) {
	v, err := decode(text)
	if err != nil {
		return nil, invalidYAML(err)
	}
	return objectsOf(v, text)
}

// invalidYAML returns the error of [decode] as a clause.
func invalidYAML(err error) error {
	if inexact, ok := errors.AsType[*inexactError](err); ok {
		return inexact
	}
	return errors.New("YAML that does not parse: " + fleet.YAMLMessage(err))
}

// flatten returns the items of a list of objects (kind: List, ConfigMapList),
// or the object itself. A loop of a template that prints nothing leaves null for the items.
func flatten(o map[string]any) ([]map[string]any, error) {
	kind, _ := o["kind"].(string)
	list, ok := o["items"]
	items, isList := list.([]any)
	if !strings.HasSuffix(kind, "List") || !ok || list != nil && !isList {
		return []map[string]any{o}, nil
	}
	var out []map[string]any
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a %s whose item %d is not an object", kind, i)
		}
		inner, err := flatten(m)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// excerpt returns the beginning of a text, in one line.
func excerpt(text string) string {
	const limit = 60
	return diag.Start(strings.Join(strings.Fields(text[:min(len(text), 10*limit)]), " "), limit)
}
