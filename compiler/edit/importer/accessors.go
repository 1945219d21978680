package importer

import (
	"fmt"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Functions for decoded documents: each returns the value at a path of keys, or a zero
// value where there is none of this type.

// valueAt returns the value at a path of keys of a document; nil when there is none.
func valueAt(doc any, keys ...string) any { v, _ := fleet.Lookup(doc, keys); return v }

// textAt returns the string at a path of keys of a document.
func textAt(doc any, keys ...string) string { s, _ := valueAt(doc, keys...).(string); return s }

// listAt returns the list at a path of keys of a document.
func listAt(doc any, keys ...string) []any { l, _ := valueAt(doc, keys...).([]any); return l }

// isTrueAt reports whether true is at a path of keys of a document.
func isTrueAt(doc any, keys ...string) bool { b, _ := valueAt(doc, keys...).(bool); return b }

// mapAt returns the map at a path of keys of a document.
func mapAt(doc any, keys ...string) map[string]any {
	m, _ := valueAt(doc, keys...).(map[string]any)
	return m
}

// mapLeaves returns a copy of decoded JSON with each value that is neither a map nor a list
// replaced by the result of f, in the order of paths. path is that of v.
func mapLeaves(v any, path []string, f func(path []string, leaf any) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range sortedKeys(v) {
			out[key] = mapLeaves(v[key], append(slices.Clone(path), key), f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = mapLeaves(e, append(slices.Clone(path), fmt.Sprint(i)), f)
		}
		return out
	}
	return f(path, v)
}

// copyMap returns a copy of a decoded map that shares nothing with it.
func copyMap(m map[string]any) map[string]any {
	out, _ := fleet.Clone(m).(map[string]any)
	return out
}
