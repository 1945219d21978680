package values

import (
	"reflect"
	"strings"
)

// A Change is what is different about one of the values of a chart in another
// version of it.
type Change struct {
	Path string     // a.b, or a."b.c" for a key with a dot in it
	Kind ChangeKind // what happened to it
	Was  string     // the kinds or the default before, as text; empty where there is none
	Is   string     // and after
	Keys int        // how many values are below it, of a map that came or went as a whole
}

// A ChangeKind says what happened to a value.
type ChangeKind string

// The kinds of changes.
const (
	Added     ChangeKind = "added"   // the chart knows it now
	Removed   ChangeKind = "removed" // the chart knows it no more
	Retyped   ChangeKind = "retyped" // it is of other kinds
	Defaulted ChangeKind = "default" // it has another default
	Ignored   ChangeKind = "ignored" // nothing reads it any more
)

// Compare returns what is different between the values of two versions of a
// chart: first what was there before, in its order, then in each map what is new.
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

// changed compares a value that both versions have.
func changed(out *[]Change, was, is *Type, path []string) {
	at := pathText(path)
	if before, after := was.kinds(), is.kinds(); before != after {
		*out = append(*out, Change{Path: at, Kind: Retyped, Was: before, Is: after})
	}
	if !was.Unread && is.Unread {
		*out = append(*out, Change{Path: at, Kind: Ignored})
	}
	if len(was.Keys) > 0 || len(is.Keys) > 0 {
		return // the defaults of what is in them say more
	}
	if !reflect.DeepEqual(was.Default, is.Default) {
		*out = append(*out, Change{Path: at, Kind: Defaulted, Was: literalText(was.Default), Is: literalText(is.Default)})
	}
}

// kinds names what a value may be, without null, which it always may.
func (t *Type) kinds() string {
	if t.Kinds == Any {
		return "anything"
	}
	text := strings.Join((t.Kinds &^ Null).Names(), " or ")
	if t.Kinds&^Null == Map && t.Open {
		text = "open map"
	}
	return text
}

// summary says what a value is in one line.
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
