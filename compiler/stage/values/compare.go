package values

import (
	"reflect"
	"strings"
)

// A Change is a difference in one value between two versions of a chart.
type Change struct {
	Path string     // a.b, or a."b.c" for a key with a dot in it
	Kind ChangeKind // the kind of the difference
	Was  string     // the kinds or the default in the old version, as text; empty for none
	Is   string     // the kinds or the default in the new version, as text; empty for none
	Keys int        // the number of values in it, for a map that was added or removed as a whole
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

// Compare returns the differences between the values of two versions of a chart.
// In each map, the keys of the old version come first, in its order, then the
// new keys.
func Compare(was, is *Type) []Change {
	var out []Change
	compare(&out, was, is, nil, 0)
	return out
}

func compare(out *[]Change, was, is *Type, path []string, depth int) {
	if was == is || depth > maxLevels {
		return
	}
	for _, k := range was.Keys {
		at := append(path[:len(path):len(path)], k)
		before, after := was.Fields[k], is.Fields[k]
		switch {
		case after != nil:
			changed(out, before, after, at)
			compare(out, before, after, at, depth+1)
		case !is.Open:
			*out = append(*out, Change{Path: pathText(at), Kind: Removed, Was: before.summary(), Keys: before.size(0)})
		}
	}
	for _, k := range is.Keys {
		if was.Fields[k] == nil {
			after := is.Fields[k]
			*out = append(*out, Change{
				Path: pathText(append(path[:len(path):len(path)], k)), Kind: Added, Is: after.summary(), Keys: after.size(0),
			})
		}
	}
}

// changed reports the differences of a value that both versions have.
func changed(out *[]Change, was, is *Type, path []string) {
	at := pathText(path)
	if before, after := was.kinds(), is.kinds(); before != after {
		*out = append(*out, Change{Path: at, Kind: Retyped, Was: before, Is: after})
	}
	if !was.Unread && is.Unread {
		*out = append(*out, Change{Path: at, Kind: Ignored})
	}
	if len(was.Keys) > 0 || len(is.Keys) > 0 {
		return // the defaults of the keys below are compared instead
	}
	if !reflect.DeepEqual(was.Default, is.Default) {
		*out = append(*out, Change{Path: at, Kind: Defaulted, Was: literalText(was.Default), Is: literalText(is.Default)})
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
		text += ", default " + literalText(t.Default)
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
