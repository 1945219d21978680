package values

import (
	"reflect"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Change is a difference in one value between two versions of a chart.
type Change struct {
	Path string     `json:"path"`          // a.b, or a."b.c" for a key with a dot in it
	Kind ChangeKind `json:"change"`        // the kind of the difference
	Was  string     `json:"was,omitempty"` // the kinds or the default in the old version, as text; empty for none
	Is   string     `json:"is,omitempty"`  // the kinds or the default in the new version, as text; empty for none
	Keys int        `json:"-"`             // the number of values in it, for a map that was added or removed as a whole
}

// A ChangeKind is the kind of a difference between two versions of a chart.
type ChangeKind string

// The kinds of changes.
const (
	Added     ChangeKind = "added"   // only the new version has the value
	Removed   ChangeKind = "removed" // only the old version has the value
	Retyped   ChangeKind = "retyped" // the value has other kinds
	Defaulted ChangeKind = "default" // the value has another default
	Ignored   ChangeKind = "ignored" // nothing in the new version reads the value
)

// BothEmpty reports whether a default changes from one empty value to another, such as from null
// to "", which most templates treat alike.
func (c Change) BothEmpty() bool {
	empty := []string{"null", `""`, "false", "0", "[]", "{}"}
	return c.Kind == Defaulted && slices.Contains(empty, c.Was) && slices.Contains(empty, c.Is)
}

// Compare returns the differences between the values of two versions of a chart.
// In each map, the keys of the old version come first, in its order, then the
// new keys.
func Compare(before, after *Type) []Change {
	var out []Change
	compare(&out, before, after, nil, 0)
	return out
}

func compare(out *[]Change, before, after *Type, path []string, depth int) {
	if before == after || depth > maxLevels {
		return
	}
	for _, k := range before.Keys {
		at := append(path[:len(path):len(path)], k)
		field, newField := before.Fields[k], after.Fields[k]
		switch {
		case newField != nil:
			changed(out, field, newField, at)
			compare(out, field, newField, at, depth+1)
		case !after.Open:
			*out = append(*out, Change{Path: pathText(at), Kind: Removed, Was: field.summary(), Keys: field.size(0)})
		}
	}
	for _, k := range after.Keys {
		if before.Fields[k] == nil {
			field := after.Fields[k]
			*out = append(*out, Change{
				Path: pathText(append(path[:len(path):len(path)], k)), Kind: Added, Is: field.summary(), Keys: field.size(0),
			})
		}
	}
}

// changed reports the differences of a value that both versions have.
func changed(out *[]Change, before, after *Type, path []string) {
	at := pathText(path)
	if oldKinds, newKinds := before.kinds(), after.kinds(); oldKinds != newKinds {
		*out = append(*out, Change{Path: at, Kind: Retyped, Was: oldKinds, Is: newKinds})
	}
	if !before.Unread && after.Unread {
		*out = append(*out, Change{Path: at, Kind: Ignored})
	}
	if len(before.Keys) > 0 || len(after.Keys) > 0 {
		return // the defaults of the keys below are compared instead
	}
	if !reflect.DeepEqual(before.Default, after.Default) {
		*out = append(*out, Change{Path: at, Kind: Defaulted, Was: diag.AsJSON(before.Default), Is: diag.AsJSON(after.Default)})
	}
}

// kinds returns the kinds of a value as text, without null, which every value
// accepts.
func (t *Type) kinds() string {
	k := t.accepted()
	if k == Any {
		return "anything"
	}
	text := strings.Join((k &^ Null).Names(), " or ")
	if k&^Null == Map && t.Open {
		text = "open map"
	}
	return text
}

// summary describes a value in one line.
func (t *Type) summary() string {
	text := t.kinds()
	if len(t.Keys) == 0 && t.Default != nil {
		text += ", default " + diag.AsJSON(t.Default)
	}
	return text
}

// size returns how many values without keys are below a map.
func (t *Type) size(depth int) int {
	n := 0
	for _, f := range t.Fields {
		if len(f.Keys) == 0 || depth > maxLevels {
			n++
		} else {
			n += f.size(depth + 1)
		}
	}
	return n
}
