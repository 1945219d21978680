package trial

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// A sifting finds those among many values that a field depends on. Most have
// nothing to do with it: several are changed at once, and one after the other
// only where the field changed with them.
//
// Two values are together at most once for each kind of change, so that a
// switch cannot hide what another value does behind it: one that does not show
// itself, and is turned off with a value that is there only because of it.
// Values are also never turned on and off at once.
type sifting struct {
	*Subject
	ctx  context.Context
	left int // how many times to render
}

// A suspect is a value that may have to do with the field.
type suspect struct {
	candidate
	others []any
	alone  bool // whether it was changed by itself in this round
	how    How
	shown  any // what was in its place when that was found
}

// sift finds out what the field has to do with the values.
func (s *sifting) sift(all []*suspect) {
	for round := 0; ; round++ {
		var kinds [3][]*suspect
		for _, c := range all {
			if c.alone = false; c.how >= Changes || round >= len(c.others) {
				continue
			}
			if c.how == Exists { // it shows in all company
				s.single(c, round)
				continue
			}
			kind := 0
			if was, is := truth(c.value), truth(c.others[round]); is && !was {
				kind = 1
			} else if was && !is {
				kind = 2
			}
			kinds[kind] = append(kinds[kind], c)
		}
		for _, of := range kinds {
			n := int(math.Ceil(math.Sqrt(float64(len(of)))))
			for row := range slices.Chunk(of, max(n, 1)) {
				s.together(row, round)
			}
			for first := range n {
				var column []*suspect
				for i := first; i < len(of); i += n {
					column = append(column, of[i])
				}
				s.together(column, round)
			}
		}
		if s.left <= 0 || s.ctx.Err() != nil || !slices.ContainsFunc(all, func(c *suspect) bool { return c.how < Changes && len(c.others) > round+1 }) {
			return
		}
	}
}

// together changes several values at once, and parts of them where that shows.
func (s *sifting) together(of []*suspect, round int) {
	const few = 2
	of = slices.DeleteFunc(slices.Clone(of), func(c *suspect) bool { return c.alone || c.how >= Changes })
	if len(of) <= few {
		for _, c := range of {
			s.single(c, round)
		}
		return
	}
	if s.ready() {
		if o, err := s.Render(s.changes(of, round)...); err == nil && s.Compare(o, nil, nil) == No {
			return
		}
	}
	s.together(of[:len(of)/2], round)
	s.together(of[len(of)/2:], round)
}

// single changes one value.
func (s *sifting) single(c *suspect, round int) {
	c.alone = true
	if !s.ready() {
		return
	}
	o, err := s.Render(s.changes([]*suspect{c}, round)...)
	if err != nil {
		return
	}
	if how := s.Compare(o, c.value, c.others[round]); how > c.how {
		c.how, c.shown = how, c.others[round]
	}
}

// ready reports whether the object may be rendered once more.
func (s *sifting) ready() bool {
	if s.left <= 0 || s.ctx.Err() != nil {
		return false
	}
	s.left--
	return true
}

// changes returns what changes the values in a round. What is in a list changes
// the list, one that is in no other.
func (s *sifting) changes(of []*suspect, round int) []Change {
	// Elements that are removed are so from the end on: those before stay.
	of = slices.SortedFunc(slices.Values(of), func(a, b *suspect) int { return -comparePaths(a.path, b.path) })
	var out []Change
	lists := map[string]int{}
	for _, c := range of {
		n := s.list(c.path)
		if n == len(c.path) {
			out = append(out, Change{c.path, c.others[round]})
			continue
		}
		key := strings.Join(c.path[:n], "\x00")
		i, known := lists[key]
		if !known {
			i = len(out)
			lists[key] = i
			v, _ := fleet.Lookup(s.Values, c.path[:n])
			out = append(out, Change{c.path[:n], v})
		}
		out[i].Value = replaced(out[i].Value, c.path[n:], c.others[round])
	}
	return out
}

// list returns how long the path is to the outermost list that a value is in:
// all of it when it is in none.
func (s *sifting) list(path []string) int {
	at := any(s.Values)
	for i, key := range path {
		if _, ok := at.([]any); ok {
			return i
		}
		at = at.(map[string]any)[key]
	}
	return len(path)
}

// comparePaths compares paths, with indexes as numbers.
func comparePaths(a, b []string) int {
	return slices.CompareFunc(a, b, func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX == nil && errY == nil {
			return cmp.Compare(x, y)
		}
		return strings.Compare(a, b)
	})
}

// truth reports whether a value is true to a template.
func truth(v any) bool {
	if v == nil {
		return false
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Map, reflect.Slice:
		return r.Len() > 0
	default:
		return !r.IsZero()
	}
}
