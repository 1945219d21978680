package values

import (
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// limits restrict a scalar.
type limits struct {
	integer bool
	enum    []any // scalars; nil when there is none
	bounds  []bound
	pattern string
}

// A bound is a comparison with a number.
type bound struct {
	op string // >=, >, <= or <
	n  json.Number
}

// oneOf restricts the facet to the given values.
func (f *facet) oneOf(values []any) {
	var kinds Kind
	scalars := true
	for _, v := range values {
		k := kindOf(v)
		kinds |= k
		scalars = scalars && k&(List|Map) == 0
	}
	f.kinds, f.typed = f.kinds&kinds, true
	if scalars && len(values) <= 100 {
		f.limits.enum = values
	}
}

// bounds reads the limits of numbers. In draft 4, an exclusive limit is a flag.
func (f *facet) bounds(m map[string]any) {
	for _, b := range []struct{ key, op, exclusive, strict string }{
		{"minimum", ">=", "exclusiveMinimum", ">"}, {"maximum", "<=", "exclusiveMaximum", "<"},
	} {
		op := b.op
		if strict, _ := m[b.exclusive].(bool); strict {
			op = b.strict
		}
		if n, ok := m[b.key].(json.Number); ok {
			f.limits.bounds = append(f.limits.bounds, bound{op, n})
		}
		if n, ok := m[b.exclusive].(json.Number); ok {
			f.limits.bounds = append(f.limits.bounds, bound{b.strict, n})
		}
	}
}

// and returns limits that hold when both do. It may omit some of them.
func (l limits) and(o limits) limits {
	out := limits{integer: l.integer || o.integer, enum: l.enum, pattern: cmp.Or(l.pattern, o.pattern), bounds: slices.Concat(l.bounds, o.bounds)}
	if out.enum == nil {
		out.enum = o.enum
	}
	return out
}

// or returns limits that hold when at least one side does: the limits of the
// only side that can be a scalar, or the union of both enumerations.
func (f *facet) or(g *facet) limits {
	const scalars = Bool | Number | String
	switch {
	case reflect.DeepEqual(f.limits, g.limits), g.kinds&scalars == 0:
		return f.limits
	case f.kinds&scalars == 0:
		return g.limits
	case f.limits.enum != nil && g.limits.enum != nil:
		return limits{enum: slices.Concat(f.limits.enum, g.limits.enum)}
	}
	var out limits
	// A limit on one kind remains when the other side cannot be of that kind.
	out.integer = (f.limits.integer || f.kinds&Number == 0) && (g.limits.integer || g.kinds&Number == 0)
	if f.limits.enum != nil || g.limits.enum != nil {
		return out
	}
	if g.kinds&Number == 0 {
		out.bounds = f.limits.bounds
	} else if f.kinds&Number == 0 {
		out.bounds = g.limits.bounds
	}
	if g.kinds&String == 0 {
		out.pattern = f.limits.pattern
	} else if f.kinds&String == 0 {
		out.pattern = g.limits.pattern
	}
	return out
}

// none reports whether there are no limits.
func (l limits) none() bool {
	return !l.integer && l.enum == nil && len(l.bounds) == 0 && l.pattern == ""
}

// allows reports whether the enumeration contains the default. The default is
// always possible, so an enumeration without it is dropped.
func (l limits) allows(def any, seen Kind) bool {
	if def == nil {
		return seen&^Null == 0
	}
	return slices.ContainsFunc(l.enum, func(v any) bool { return diag.AsJSON(v) == diag.AsJSON(def) })
}

func (l limits) whole(def any) bool {
	f, ok := def.(float64)
	return !ok || f == float64(int64(f))
}

func (l limits) matches(def any) bool {
	s, ok := def.(string)
	if !ok {
		return true
	}
	re, err := regexp.Compile(l.pattern)
	return err == nil && re.MatchString(s)
}

// holds reports whether the default, if it is a number, is within the bound.
func (b bound) holds(def any) bool {
	f, ok := def.(float64)
	n, err := b.n.Float64()
	if !ok || err != nil {
		return err == nil
	}
	switch b.op {
	case ">=":
		return f >= n
	case ">":
		return f > n
	case "<=":
		return f <= n
	}
	return f < n
}
