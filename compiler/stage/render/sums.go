package render

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// A view takes digests of the values of a rendering, each once.
type view struct {
	values map[string]any
	sums   map[string]digest
}

// differs reports whether a template would read something else, or whether that
// cannot be told.
func (v view) differs(r read) bool {
	sum, ok := v.sum(r)
	return !ok || sum != r.sum
}

// sum returns the digest of what is read. It reports false when that holds a value of
// a type that values do not have.
func (v view) sum(r read) (digest, bool) {
	if d, ok := v.sums[r.key]; ok {
		return d, true
	}
	var w sum
	if at, ok := v.lookup(r.path); ok && !w.value(at, r.as) {
		return digest{}, false
	}
	d := digest(sha256.Sum256(w))
	v.sums[r.key] = d
	return d, true
}

func (v view) lookup(path []string) (at any, ok bool) {
	at = v.values
	for _, key := range path {
		m, isMap := asMap(at)
		if at, ok = m[key]; !isMap || !ok {
			return nil, false
		}
	}
	return at, true
}

// A sum is values as bytes: others are other bytes.
type sum []byte

func (w *sum) number(kind byte, n uint64) { *w = binary.BigEndian.AppendUint64(append(*w, kind), n) }

func (w *sum) text(s string) {
	w.number('s', uint64(len(s)))
	*w = append(*w, s...)
}

// value adds a value as far as it is read, with its type, since templates can ask for
// that. It reports false for a type that values do not have.
func (w *sum) value(v any, as how) bool {
	switch v := v.(type) {
	case nil:
		w.number('n', 0)
	case string:
		w.text(v)
	case bool:
		if w.number('b', 0); v {
			w.number('b', 1)
		}
	case int:
		w.number('i', uint64(v))
	case int64:
		w.number('I', uint64(v))
	case float64:
		w.number('f', math.Float64bits(v))
	case []any:
		return w.list(v)
	case map[string]any:
		return w.fields('m', v, as)
	case chartutil.Values:
		return w.fields('M', v, as)
	default:
		return false
	}
	return true
}

func (w *sum) list(l []any) bool {
	if w.number('l', uint64(len(l))); l == nil {
		w.number('n', 0) // which some functions tell from an empty one
	}
	for _, e := range l {
		if !w.value(e, asWhole) {
			return false
		}
	}
	return true
}

func (w *sum) fields(kind byte, m map[string]any, as how) bool {
	if w.number(kind, 0); m == nil {
		w.number('n', 0)
	}
	if as == asOne {
		return true
	}
	w.number('k', uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if w.text(k); as == asWhole && !w.value(m[k], as) {
			return false
		}
	}
	return true
}

// chart adds what the templates of a chart see of it and of its dependencies.
func (w *sum) chart(c *chart.Chart) bool {
	meta, err := json.Marshal(c.Metadata)
	if err != nil {
		return false
	}
	w.text(string(meta))
	w.number('d', uint64(len(c.Dependencies())))
	for _, d := range c.Dependencies() {
		if !w.chart(d) {
			return false
		}
	}
	return true
}
