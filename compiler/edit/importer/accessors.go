package importer

import "k8s.io/apimachinery/pkg/runtime"

// Functions for decoded documents: each returns the value at a path of keys, or a zero
// value where there is none of this type.

// ValueAt returns the value at a path of keys of a document; nil when there is none.
func ValueAt(doc any, keys ...string) any {
	for _, key := range keys {
		m, _ := doc.(map[string]any)
		doc = m[key]
	}
	return doc
}

// TextAt returns the string at a path of keys of a document.
func TextAt(doc any, keys ...string) string { s, _ := ValueAt(doc, keys...).(string); return s }

// ListAt returns the list at a path of keys of a document.
func ListAt(doc any, keys ...string) []any { l, _ := ValueAt(doc, keys...).([]any); return l }

// IsTrueAt reports whether true is at a path of keys of a document.
func IsTrueAt(doc any, keys ...string) bool { b, _ := ValueAt(doc, keys...).(bool); return b }

// MapAt returns the map at a path of keys of a document.
func MapAt(doc any, keys ...string) map[string]any {
	m, _ := ValueAt(doc, keys...).(map[string]any)
	return m
}

// CopyMap returns a copy of a decoded map that shares nothing with it.
func CopyMap(m map[string]any) map[string]any {
	out, _ := runtime.DeepCopyJSONValue(m).(map[string]any)
	return out
}
