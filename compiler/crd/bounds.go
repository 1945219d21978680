package crd

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp/syntax"
)

// An API server takes any of this from those that it trusts, and is protected
// by the time that a request may take. What stands here bounds the time and
// memory for objects that nobody has looked at; what people write stays far
// below.
const (
	maxBytes     = 3 << 20       // of an object as JSON: an API server takes no larger request
	maxDepth     = 500           // of nested maps and lists
	maxWork      = 1_000_000_000 // nodes of an object times nodes of its schema
	maxDefaulted = 10_000_000    // nodes that defaults may add to an object
	maxUnfolded  = 1_000_000     // nodes that are counted in the defaults of a schema
	maxPattern   = 20_000        // steps of one regular expression, its repetitions unfolded
	maxPatterns  = 500_000       // the same of all in a CRD
	maxRules     = 5_000         // how often the rules of a CRD would be compiled
)

// A meter measures an object.
type meter struct {
	nodes, bytes int
	nulls        int
	problem      string // what is too much; "" while nothing is
}

// in counts a node with its bytes and reports whether to go on.
func (m *meter) in(depth, bytes int) bool {
	m.nodes++
	m.bytes += bytes + 1
	switch {
	case m.problem != "":
	case depth > maxDepth:
		m.problem = fmt.Sprintf("it is nested deeper than %d levels", maxDepth)
	case m.bytes > maxBytes:
		m.problem = fmt.Sprintf("it is larger than the %d MiB that the API server takes", maxBytes>>20)
	}
	return m.problem == ""
}

// normal returns a deep copy of a decoded value with numbers as the API server
// decodes them: int64 when they are whole, float64 otherwise.
func (m *meter) normal(v any, depth int) any {
	size := 4
	if s, ok := v.(string); ok {
		size = len(s) + 2
	}
	if !m.in(depth, size) {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			m.bytes += len(k) + 3
			c[k] = m.normal(e, depth+1)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = m.normal(e, depth+1)
		}
		return c
	case nil:
		m.nulls++
		return nil
	case bool, string, int64:
		return v
	case int:
		return int64(v)
	case float64:
		// Beyond 2^53, the text had another number than the float.
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			m.problem = "it has a value that JSON cannot write"
		}
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			m.problem = "it has a value that JSON cannot write"
		}
		return f
	}
	m.problem = "it has a value that JSON cannot write"
	return nil
}

// weights are what the schemas of a CRD cost to compile.
type weights struct {
	patterns, rules int
	expressions     []string // of the rules
	problem         string
}

// add adds what is below a part of a schema. Defaults are checked by rules of
// their own, compiled again for each default above: above is how many.
func (w *weights) add(v any, above int) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["default"]; ok {
			above++
		}
		if rules, ok := v["x-kubernetes-validations"].([]any); ok {
			w.rules += len(rules) * (2 + above)
			w.express(rules)
		}
		if text, ok := v["pattern"].(string); ok {
			w.pattern(text)
		}
		if w.rules > maxRules && w.problem == "" {
			w.problem = "it has more rules than are checked"
		}
		if w.problem != "" {
			return
		}
		for _, e := range v {
			w.add(e, above)
		}
	case []any:
		for _, e := range v {
			w.add(e, above)
		}
	}
}

// express adds the expressions of rules.
func (w *weights) express(rules []any) {
	for _, r := range rules {
		r, _ := r.(map[string]any)
		for _, key := range []string{"rule", "messageExpression"} {
			if text, ok := r[key].(string); ok {
				w.expressions = append(w.expressions, text)
			}
		}
	}
}

// pattern adds a regular expression. What does not parse is for others.
func (w *weights) pattern(text string) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return
	}
	n := steps(re)
	w.patterns += n
	switch {
	case w.problem != "":
	case n > maxPattern:
		w.problem = fmt.Sprintf("its pattern %s repeats too much to be checked", quote(text))
	case w.patterns > maxPatterns:
		w.problem = "its patterns are more than are checked"
	}
}

// steps returns how long a regular expression is with its repetitions
// unfolded.
func steps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, math.MaxInt32)
}
