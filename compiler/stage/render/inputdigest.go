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

// valueDigests caches digests of the values of a rendering.
type valueDigests struct {
	values map[string]any
	sums   map[string]digest
}

// differs reports whether a read value has changed or has no digest.
func (v valueDigests) differs(r read) bool {
	sum, ok := v.digest(r)
	return !ok || sum != r.digest
}

// digest returns the digest of a read value. It reports false when the value
// contains an unsupported type.
func (v valueDigests) digest(r read) (digest, bool) {
	if d, ok := v.sums[r.key]; ok {
		return d, true
	}
	var w encoder
	if at, ok := v.lookup(r.path); ok && !w.value(at, r.mode) {
		return digest{}, false
	}
	d := digest(sha256.Sum256(w))
	v.sums[r.key] = d
	return d, true
}

func (v valueDigests) lookup(path []string) (at any, ok bool) {
	at = v.values
	for _, key := range path {
		m, isMap := asMap(at)
		if at, ok = m[key]; !isMap || !ok {
			return nil, false
		}
	}
	return at, true
}

// An encoder encodes values as unambiguous bytes for hashing.
type encoder []byte

func (w *encoder) number(kind byte, n uint64) {
	*w = binary.BigEndian.AppendUint64(append(*w, kind), n)
}

func (w *encoder) text(s string) {
	w.number('s', uint64(len(s)))
	*w = append(*w, s...)
}

// value appends the part of a value that was read, with its type, which
// templates can query. It reports false for an unsupported type.
func (w *encoder) value(v any, mode readMode) bool {
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
		return w.fields('m', v, mode)
	case chartutil.Values:
		return w.fields('M', v, mode)
	default:
		return false
	}
	return true
}

func (w *encoder) list(l []any) bool {
	if w.number('l', uint64(len(l))); l == nil {
		w.number('n', 0) // some functions distinguish nil from an empty list
	}
	return !slices.ContainsFunc(l, func(e any) bool { return !w.value(e, readWhole) })
}

func (w *encoder) fields(kind byte, m map[string]any, mode readMode) bool {
	if w.number(kind, 0); m == nil {
		w.number('n', 0)
	}
	if mode == readKind {
		return true
	}
	w.number('k', uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if w.text(k); mode == readWhole && !w.value(m[k], mode) {
			return false
		}
	}
	return true
}

// chart appends the metadata of a chart and its dependencies as templates see
// them.
func (w *encoder) chart(c *chart.Chart) bool {
	meta, err := json.Marshal(c.Metadata)
	if err != nil {
		return false
	}
	w.text(string(meta))
	w.number('d', uint64(len(c.Dependencies())))
	return !slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return !w.chart(d) })
}
