package query

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A narrowing is one thing that the schema of a CRD accepts no longer.
type narrowing struct {
	path []string // of the field; [] stands for the elements of a list, * for any key
	kind narrowingKind
	text string // details

	schema map[string]any // the new one of the field
}

// A narrowingKind is a kind of narrowing.
type narrowingKind string

const (
	fieldRemoved  narrowingKind = "is removed"
	fieldRequired narrowingKind = "is required"
	typeChanged   narrowingKind = "has another type"
	enumShrunk    narrowingKind = "no longer accepts"
	newLimit      narrowingKind = "has a new limit"
	closed        narrowingKind = "no longer accepts unknown fields"
	notNullable   narrowingKind = "no longer accepts null"
)

// narrowingKinds are the kinds, most severe first.
var narrowingKinds = []narrowingKind{fieldRemoved, typeChanged, fieldRequired, closed, enumShrunk, notNullable, newLimit}

// String describes the narrowing.
func (n narrowing) String() string {
	var b strings.Builder
	for i, key := range n.path {
		if i > 0 && key != "[]" {
			b.WriteString(".")
		}
		b.WriteString(key)
	}
	text := b.String() + " " + string(n.kind)
	if n.text != "" {
		text += " " + n.text
	}
	return text
}

// maxSchemaDepth limits the depth of compared schemas.
const maxSchemaDepth = 64

// compareSchemas returns what the new schema of a version accepts no longer, in the order
// of paths. It leaves out the status, which controllers write.
func compareSchemas(before, after map[string]any) []narrowing {
	var out []narrowing
	c := schemaComparer{add: func(n narrowing) { out = append(out, n) }}
	c.compare(before, after, nil)
	return out
}

// A schemaComparer compares two schemas.
type schemaComparer struct{ add func(narrowing) }

func (c *schemaComparer) compare(before, after map[string]any, path []string) {
	if len(path) > maxSchemaDepth || reflect.DeepEqual(before, after) {
		return
	}
	if oldType, newType := typeOf(before), typeOf(after); !isWidening(oldType, newType) {
		if oldType == "" {
			oldType = "any"
		}
		c.add(narrowing{path: path, kind: typeChanged, text: fmt.Sprintf("(%s, was %s)", newType, oldType), schema: after})
		if oldType != "any" || newType != "object" {
			return
		}
	}
	if isOpen(before) && !isOpen(after) {
		c.add(narrowing{path: path, kind: closed, schema: after})
	}
	if before["nullable"] == true && after["nullable"] != true {
		c.add(narrowing{path: path, kind: notNullable})
	}
	c.enum(before, after, path)
	c.limits(before, after, path)
	c.properties(before, after, path)
	for _, below := range [][2]string{{"items", "[]"}, {"additionalProperties", "*"}} {
		old, ok := before[below[0]].(map[string]any)
		next, ok2 := after[below[0]].(map[string]any)
		if ok && ok2 {
			c.compare(old, next, append(slices.Clip(path), below[1]))
		}
	}
}

// typeOf returns the type of a schema, empty for any.
func typeOf(s map[string]any) string {
	if s["x-kubernetes-int-or-string"] == true {
		return intOrString
	}
	t, _ := s["type"].(string)
	return t
}

// intOrString is the type of fields that take integers and strings.
const intOrString = "int-or-string"

// isOpen reports whether a schema takes fields that it does not list.
func isOpen(s map[string]any) bool {
	more := s["additionalProperties"]
	return s["x-kubernetes-preserve-unknown-fields"] == true || more != nil && more != false
}

// isWidening reports whether a type takes all values of the type before.
func isWidening(before, after string) bool {
	switch after {
	case "", before:
		return true
	case "number":
		return before == "integer"
	case intOrString:
		return before == "integer" || before == "string"
	}
	return false
}

// properties compares the fields of an object.
func (c *schemaComparer) properties(before, after map[string]any, path []string) {
	old, _ := before["properties"].(map[string]any)
	next, _ := after["properties"].(map[string]any)
	open := isOpen(after)
	oldRequired, newRequired := textsOf(before["required"]), textsOf(after["required"])
	for _, key := range sortedKeys(old) {
		at := append(slices.Clip(path), key)
		if len(path) == 0 && key == "status" {
			continue
		}
		s, ok := next[key].(map[string]any)
		if !ok && !open {
			c.add(narrowing{path: at, kind: fieldRemoved})
		}
		if o, isSchema := old[key].(map[string]any); ok && isSchema {
			c.compare(o, s, at)
		}
	}
	for _, key := range newRequired {
		s, _ := next[key].(map[string]any)
		if _, hasDefault := s["default"]; !hasDefault && !slices.Contains(oldRequired, key) && (len(path) > 0 || key != "status") {
			c.add(narrowing{path: append(slices.Clip(path), key), kind: fieldRequired})
		}
	}
}

// enum compares the allowed values.
func (c *schemaComparer) enum(before, after map[string]any, path []string) {
	next, limits := after["enum"].([]any)
	if !limits {
		return
	}
	old, _ := before["enum"].([]any)
	if old == nil {
		c.add(narrowing{path: path, kind: newLimit, text: "(enum)", schema: after})
		return
	}
	var texts []string
	for _, v := range old {
		if !slices.ContainsFunc(next, func(n any) bool { return reflect.DeepEqual(n, v) }) {
			text, _ := json.Marshal(v) // decoded JSON
			texts = append(texts, string(text))
		}
	}
	if len(texts) > 0 {
		c.add(narrowing{path: path, kind: enumShrunk, text: listed(texts), schema: after})
	}
}

// limits compares the rules for values.
func (c *schemaComparer) limits(before, after map[string]any, path []string) {
	var texts []string
	for _, l := range []struct {
		field string
		sign  float64 // of a change that accepts less
	}{
		{"maximum", -1},
		{"maxLength", -1},
		{"maxItems", -1},
		{"maxProperties", -1},
		{"minimum", 1},
		{"minLength", 1},
		{"minItems", 1},
		{"minProperties", 1},
	} {
		oldLimit, hadLimit := kube.NumberAt(before, l.field)
		newLimit, hasLimit := kube.NumberAt(after, l.field)
		if hasLimit && (!hadLimit || (newLimit-oldLimit)*l.sign > 0) {
			texts = append(texts, l.field)
		}
	}
	for _, field := range []string{"pattern", "format"} {
		if value, ok := after[field].(string); ok && before[field] != value && value != "int64" && value != "double" {
			texts = append(texts, field)
		}
	}
	for _, field := range []string{"oneOf", "anyOf", "allOf", "not"} {
		if value := after[field]; value != nil && typeOf(after) != intOrString && !reflect.DeepEqual(before[field], value) {
			texts = append(texts, field)
		}
	}
	if len(texts) > 0 {
		c.add(narrowing{path: path, kind: newLimit, text: "(" + strings.Join(texts, ", ") + ")", schema: after})
	}
}

func textsOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if text, ok := e.(string); ok {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// valueKeywords are the keywords of a schema that limit a value itself.
var valueKeywords = []string{
	"type", "enum", "format", "maxItems", "maxLength", "maxProperties", "maximum", "exclusiveMaximum", "minItems", "minLength", "minProperties", "minimum", "exclusiveMinimum", "pattern",
	"oneOf", "anyOf", "allOf", "not",
}

// concerns reports whether an object is affected: it sets a field that is removed, has a
// value that the new schema refuses, or lacks the required field.
func (n narrowing) concerns(object map[string]any) bool {
	if n.kind == fieldRequired {
		last := len(n.path) - 1
		return slices.ContainsFunc(valuesAt(object, n.path[:last]), func(v any) bool {
			parent, ok := v.(map[string]any)
			_, set := parent[n.path[last]]
			return ok && !set
		})
	}
	return slices.ContainsFunc(valuesAt(object, n.path), func(v any) bool {
		switch n.kind {
		case typeChanged:
			return !accepts(n.schema, v, "type")
		case enumShrunk, newLimit:
			return v != nil && !accepts(n.schema, v, valueKeywords...)
		case closed:
			fields, isMap := v.(map[string]any)
			listed, _ := n.schema["properties"].(map[string]any)
			return isMap && slices.ContainsFunc(sortedKeys(fields), func(key string) bool { return listed[key] == nil })
		case notNullable:
			return v == nil
		}
		return true
	})
}

// valuesAt returns the values at a path of a [narrowing].
func valuesAt(value any, path []string) []any {
	if len(path) == 0 {
		return []any{value}
	}
	var out []any
	switch v := value.(type) {
	case map[string]any:
		if path[0] == "*" {
			for _, key := range sortedKeys(v) {
				out = append(out, valuesAt(v[key], path[1:])...)
			}
			return out
		}
		if field, ok := v[path[0]]; ok {
			return valuesAt(field, path[1:])
		}
	case []any:
		if path[0] == "[]" {
			for _, e := range v {
				out = append(out, valuesAt(e, path[1:])...)
			}
		}
	}
	return out
}
