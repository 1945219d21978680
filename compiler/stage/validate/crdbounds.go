package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp/syntax"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// The limits protect against objects and CRDs from untrusted sources. Real ones
// stay far below. An API server has no such limits for its clients; it has
// timeouts for requests.
const (
	maxCRDBytes        = 3 << 20       // of an object as JSON; an API server accepts no larger request
	maxCRDDepth        = 500           // of nested maps and lists
	maxWork            = 1_000_000_000 // nodes of an object times nodes of its schema
	maxDefaulted       = 10_000_000    // nodes that defaults may add to an object
	maxCountedDefaults = 1_000_000     // nodes to count in the defaults of a schema
	maxPattern         = 20_000        // size of a regular expression with unrolled repetitions
	maxPatterns        = 500_000       // total size of the regular expressions of a CRD
	maxRules           = 5_000         // compilations of the rules of a CRD
)

const notJSON = "it has a value that JSON does not support"

// A meter measures the size of an object.
type meter struct {
	nodes, bytes int
	nulls        int
	problem      string // exceeded limit; empty for none
	inSchema     bool   // inside of a schema: leave out descriptions
	names        bool   // the keys of the next map are names of fields
}

// enter counts a node and its bytes, and reports whether to continue. Of several
// problems, it keeps the same one in every order of nodes: a size, a depth, a value.
func (m *meter) enter(depth, bytes int) bool {
	m.nodes++
	m.bytes += bytes + 1
	switch {
	case m.bytes > maxCRDBytes:
		m.problem = fmt.Sprintf("it is larger than the %d MiB that the API server accepts", maxCRDBytes>>20)
	case depth > maxCRDDepth:
		m.problem = fmt.Sprintf("it is nested deeper than %d levels", maxCRDDepth)
	default:
		return true
	}
	return false
}

// foundNotJSON keeps the problem of a value that JSON does not support.
func (m *meter) foundNotJSON() { m.problem = cmp.Or(m.problem, notJSON) }

// normalize returns a deep copy of a decoded value, with numbers as the API
// server decodes them: int64 for integers, float64 otherwise.
func (m *meter) normalize(v any, depth int) any {
	size := 4
	if s, ok := v.(string); ok {
		size = len(s) + 2
	}
	if !m.enter(depth, size) {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		return m.normalizeMap(v, depth)
	case []any:
		return diag.Each(v, func(e any) any { return m.normalize(e, depth+1) })
	case nil:
		m.nulls++
		return nil
	case bool, string, int64:
		return v
	case int:
		return int64(v)
	case float64:
		// A float beyond 2^53 may differ from the number in the text.
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			m.foundNotJSON()
		}
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			m.foundNotJSON()
		}
		return f
	}
	m.foundNotJSON()
	return nil
}

// normalizeMap returns a copy of a map. In a schema, it leaves out descriptions.
func (m *meter) normalizeMap(v map[string]any, depth int) map[string]any {
	names, inSchema := m.names, m.inSchema // the name of a field may be description
	out := make(map[string]any, len(v))
	for k, e := range v {
		if _, ok := e.(string); ok && k == "description" && inSchema && !names {
			continue
		}
		m.bytes += len(k) + 3
		// Values such as defaults are not schemas: they are not changed.
		m.inSchema = inSchema && k != "default" && k != "enum" && k != "example"
		m.names = k == "properties" && !names
		out[k] = m.normalize(e, depth+1)
	}
	m.names, m.inSchema = false, inSchema
	return out
}

// A schemaCost measures how expensive the schemas of a CRD are to compile.
type schemaCost struct {
	patterns, rules int
	problem         string
}

// add adds a part of a schema. The API server compiles rules again for each
// default that contains them; above is the number of these defaults.
func (w *schemaCost) add(v any, above int) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["default"]; ok {
			above++
		}
		if rules, ok := v["x-kubernetes-validations"].([]any); ok {
			w.rules += len(rules) * (2 + above)
		}
		if text, ok := v["pattern"].(string); ok {
			w.addPattern(text)
		}
		if w.rules > maxRules && w.problem == "" {
			w.problem = "it has more rules than fleetc checks"
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

// addPattern adds a regular expression. Invalid ones are reported by the
// validation.
func (w *schemaCost) addPattern(text string) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return
	}
	n := patternSize(re)
	w.patterns += n
	switch {
	case w.problem != "":
	case n > maxPattern:
		w.problem = fmt.Sprintf("its pattern %s repeats too often to be checked", quote(text))
	case w.patterns > maxPatterns:
		w.problem = "its patterns are larger than fleetc checks"
	}
}

// patternSize returns the size of a regular expression with unrolled
// repetitions.
func patternSize(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, math.MaxInt32)
}
