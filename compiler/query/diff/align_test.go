package diff

import (
	"fmt"
	"slices"
	"testing"
)

func TestAlign(t *testing.T) {
	for _, test := range []struct{ name, before, after, want string }{
		{"equal", `[1, 2]`, `[1, 2]`, "[{0 0} {1 1}]"},
		{"inserted", `[1, 2]`, `[3, 1, 2]`, "[{-1 0} {0 1} {1 2}]"},
		{"replaced", `[1]`, `[2]`, "[{0 0}]"},
		{"replaced by another kind", `[1]`, `[{}]`, "[{0 -1} {-1 0}]"},
		{"maps that have nothing in common", `[{"a": 1}]`, `[{"b": 1}]`, "[{0 -1} {-1 0}]"},
		{"the likest", `[{"a": 1, "b": 2}]`, `[{"a": 2, "b": 3}, {"a": 1, "b": 3}]`, "[{-1 0} {0 1}]"},
		{"the likest of before", `[{"a": 2, "b": 3}, {"a": 1, "b": 3}]`, `[{"a": 1, "b": 2}]`, "[{0 -1} {1 0}]"},
		{"flags", `["-x=1", "-y=1"]`, `["-y=2"]`, "[{0 -1} {1 0}]"},
		{"maps that have a field in common", `[{"a": 1}]`, `[{"a": 2}]`, "[{0 0}]"},
		{"a map and null", `[1, null, 2]`, `[1, {}, 2]`, "[{0 0} {1 -1} {-1 1} {2 2}]"},
		{"a list and text", `[["a"]]`, `["a"]`, "[{0 -1} {-1 0}]"},
		{"equal at the ends", `[1, 1, 2]`, `[1, 2]`, "[{0 0} {1 -1} {2 1}]"},
		{"lists", `[[1]]`, `[[2], 3]`, "[{0 0} {-1 1}]"},
	} {
		budget := maxWork
		got := align(decoded(t, test.before).([]any), decoded(t, test.after).([]any), &budget)
		if s := fmt.Sprint(got); s != test.want {
			t.Errorf("%s: %s, want %s", test.name, s, test.want)
		}
	}
}

// TestLongListsByIndex checks that lists which exceed the budget are compared
// completely.
func TestLongListsByIndex(t *testing.T) {
	oldList, newList := make([]any, 3000), make([]any, 3001)
	for i := range oldList {
		oldList[i] = fmt.Sprint("a", i)
	}
	for i := range newList {
		newList[i] = fmt.Sprint("b", i)
	}
	before, after := object(oldList), object(newList)
	changes := Objects(before, after, nil)
	if n := len(changes[0].Fields); n != 3001 {
		t.Fatalf("%d changes", n)
	}
	if f := changes[0].Fields[2999]; f.Path != "spec[2999]" || f.Before != "a2999" || f.After != "b2999" {
		t.Errorf("the change is %+v", f)
	}
	if got := applied(t, before[0].Object, changes[0].Fields); !equal(got, any(after[0].Object)) {
		t.Error("the changes do not make what is after")
	}
	// A long gap inside of a list.
	same := []any{"x", "y"}
	oldList, newList = slices.Concat(same, oldList[:50], same), slices.Concat(same, newList[:60], same)
	if n := len(Objects(object(oldList), object(newList), nil)[0].Fields); n != 60 {
		t.Errorf("%d changes", n)
	}
}
