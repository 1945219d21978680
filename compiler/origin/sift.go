package origin

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A groupTest finds those among many values that a field depends on. Most
// values have no influence, so it changes several at once, and single ones only
// if the field changed.
//
// Two values are in the same group at most once for each kind of change, so
// that a switch cannot hide another value. For the same reason, values are
// never turned on and off in the same group.
type groupTest struct {
	*Subject
	ctx  context.Context
	left int // remaining renderings
}

// A trackedValue is a value that may influence the field.
type trackedValue struct {
	candidate
	others []any
	alone  bool // whether it was changed alone in this round
	how    Influence
	shown  any // the replacement that had the effect
}

// sift determines the influence of the values on the field.
func (s *groupTest) sift(all []*trackedValue) {
	for round := 0; ; round++ {
		var kinds [3][]*trackedValue
		for _, c := range all {
			if c.alone = false; c.how >= Changes || round >= len(c.others) {
				continue
			}
			if c.how == Exists { // its effect shows in any group
				s.single(c, round)
				continue
			}
			kind := 0
			before, _ := template.IsTrue(c.value)
			if after, _ := template.IsTrue(c.others[round]); after && !before {
				kind = 1
			} else if before && !after {
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
				var column []*trackedValue
				for i := first; i < len(of); i += n {
					column = append(column, of[i])
				}
				s.together(column, round)
			}
		}
		if s.left <= 0 || s.ctx.Err() != nil || !slices.ContainsFunc(all, func(c *trackedValue) bool { return c.how < Changes && len(c.others) > round+1 }) {
			return
		}
	}
}

// together changes several values at once, and halves of them if that has an
// effect.
func (s *groupTest) together(of []*trackedValue, round int) {
	const few = 2
	of = slices.DeleteFunc(slices.Clone(of), func(c *trackedValue) bool { return c.alone || c.how >= Changes })
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
func (s *groupTest) single(c *trackedValue, round int) {
	c.alone = true
	if !s.ready() {
		return
	}
	o, err := s.Render(s.changes([]*trackedValue{c}, round)...)
	if err != nil {
		return
	}
	if how := s.Compare(o, c.value, c.others[round]); how > c.how {
		c.how, c.shown = how, c.others[round]
	}
}

// ready reports whether another rendering is allowed.
func (s *groupTest) ready() bool {
	if s.left <= 0 || s.ctx.Err() != nil {
		return false
	}
	s.left--
	return true
}

// changes returns the changes of values in a round. Values in a list change the
// outermost list.
func (s *groupTest) changes(of []*trackedValue, round int) []Change {
	// Remove elements from the end, so that earlier indexes stay valid.
	of = slices.SortedFunc(slices.Values(of), func(a, b *trackedValue) int { return -comparePaths(a.path, b.path) })
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
		out[i].Value = Replaced(out[i].Value, c.path[n:], c.others[round])
	}
	return out
}

// list returns the length of the path to the outermost list that contains a
// value, or of the whole path.
func (s *groupTest) list(path []string) int {
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
