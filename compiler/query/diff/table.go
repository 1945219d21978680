package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An Origin says who set a value.
type Origin struct {
	Pos   diag.Pos // where it is written
	Layer string   // of Pos; empty outside of the layers
	Chart string   // whose default it is, in place of Pos
}

func (o Origin) compare(p Origin) int {
	return cmp.Or(o.Pos.Compare(p.Pos), cmp.Compare(o.Layer, p.Layer), cmp.Compare(o.Chart, p.Chart))
}

// A Cell is what one cluster has in a row of a [Table].
type Cell struct {
	Value  any  // as decoded from JSON, see [SecretTexts.Mask]
	Has    bool // whether there is a value: none is not null
	Origin Origin
}

// A Variant is one of the values of a [Difference], and who has it.
type Variant struct {
	Value    any      // as decoded from JSON, with <secret> in place of secrets
	Has      bool     // whether there is a value
	Clusters []string // in the order of the table's
	Origins  []Origin // that are known, sorted
}

// A Difference is a row of a [Table] that is not the same in all clusters.
type Difference struct {
	Release  string    // empty for what is the cluster's own
	Path     []string  // of the row, as keys
	Variants []Variant // that of the most clusters first, then in their order; at least two
}

// Name returns the path of the difference as text.
func (d Difference) Name() string { return pathText(d.Path) }

func pathText(path []string) string {
	texts := make([]string, len(path))
	for i, key := range path {
		texts[i] = quoteKey(key)
	}
	return clippedPath(strings.Join(texts, "."))
}

// A Table collects what a number of clusters have, row by row, and keeps one
// copy of equal values. NewTable makes one.
type Table struct {
	clusters []string
	rows     map[string]*row
}

// A row is what the clusters have at one path.
type row struct {
	release  string
	path     []string
	seen     map[int]bool // clusters, by their places
	variants map[sum]*variant
}

type variant struct {
	value   any
	has     bool
	in      []int // clusters, by their places
	origins []Origin
}

// NewTable returns a table of the clusters with the given IDs.
func NewTable(clusters []string) *Table {
	return &Table{clusters: clusters, rows: map[string]*row{}}
}

// Add notes what the cluster of the given place has in the row of a release and
// a path. The value must not be modified afterwards. What a cluster has in a
// row is noted once.
func (t *Table) Add(release string, path []string, cluster int, c Cell) {
	key := rowKey(release, path)
	r := t.rows[key]
	if r == nil {
		r = &row{release: release, path: slices.Clone(path), seen: map[int]bool{}, variants: map[sum]*variant{}}
		t.rows[key] = r
	}
	r.add(cluster, c)
}

// Has reports whether the cluster has a value in a row.
func (t *Table) Has(release string, path []string, cluster int) bool {
	r := t.rows[rowKey(release, path)]
	if r == nil {
		return false
	}
	for _, v := range r.variants {
		if v.has && slices.Contains(v.in, cluster) {
			return true
		}
	}
	return false
}

func rowKey(release string, path []string) string { return fmt.Sprintf("%q %q", release, path) }

func (r *row) add(cluster int, c Cell) {
	if r.seen[cluster] {
		return
	}
	r.seen[cluster] = true
	s := sumOf([]any{c.Has, c.Value})
	v := r.variants[s]
	if v == nil {
		v = &variant{value: c.Value, has: c.Has}
		r.variants[s] = v
	}
	v.in = append(v.in, cluster)
	if c.Origin != (Origin{}) && !slices.Contains(v.origins, c.Origin) {
		v.origins = append(v.origins, c.Origin)
	}
}

// Differences returns the rows that are not the same in all clusters, sorted by
// release and path. absent says what a cluster has in a row to which nothing of
// it was added; a cluster for which it reports false has no part in the row.
func (t *Table) Differences(absent func(release string, path []string, cluster int) (Cell, bool)) []Difference {
	var out []Difference
	for _, r := range t.rows {
		for i := range t.clusters {
			if r.seen[i] {
				continue
			}
			if c, ok := absent(r.release, r.path, i); ok {
				r.add(i, c)
			}
		}
		if len(r.variants) > 1 {
			out = append(out, t.difference(r))
		}
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(strings.Compare(a.Release, b.Release), comparePaths(a.Name(), b.Name()), slices.Compare(a.Path, b.Path))
	})
	return out
}

func (t *Table) difference(r *row) Difference {
	d := Difference{Release: r.release, Path: r.path}
	var all []*variant
	for _, v := range r.variants {
		slices.Sort(v.in)
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *variant) int {
		return cmp.Or(cmp.Compare(len(b.in), len(a.in)), cmp.Compare(a.in[0], b.in[0]))
	})
	for _, v := range all {
		is := Variant{Has: v.has, Origins: slices.SortedFunc(slices.Values(v.origins), Origin.compare)}
		is.Value, _ = reveal(v.value)
		for _, i := range v.in {
			is.Clusters = append(is.Clusters, t.clusters[i])
		}
		d.Variants = append(d.Variants, is)
	}
	return d
}

// Sum returns a digest of a value that was decoded from JSON: equal values have
// the same. It must not be shown of what may be a secret.
func Sum(v any) string {
	s := sumOf(v)
	return string(s[:])
}

// maxCell is how many bytes of a value are shown in a table.
const maxCell = 64

// Texts returns the values of the variants in one line each, and - where there
// is none. They are fit for a terminal. A long one is cut, to where it differs
// from the first or, of that, to where the second differs, and its length is
// said.
func (d Difference) Texts() []string {
	texts := make([]string, len(d.Variants))
	for i, v := range d.Variants {
		texts[i] = oneLine(v)
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		other := texts[min(1, len(texts)-1)]
		if i > 0 {
			other = texts[0]
		}
		from := 0
		for text != other && from < min(len(text), len(other)) && text[from] == other[from] {
			from++ // two secrets look the same
		}
		part, before, after := cut(text, max(0, from-maxCell/3), maxCell)
		out[i] = dots(part, before, after, len(text))
	}
	return out
}

// oneLine returns the whole of a value in one line.
func oneLine(v Variant) string {
	if !v.Has {
		return "-"
	}
	switch value := v.Value.(type) {
	case string:
		if value == unkeyed || bare(strings.ReplaceAll(value, "=", "-")) {
			return value
		}
	case []any:
		if text, ok := inline(value, 0); ok {
			return text
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Value); err != nil {
		return strconv.Quote(fmt.Sprint(v.Value))
	}
	return diag.PrintableJSON(strings.TrimSpace(b.String()))
}

// Inline returns a text in one line that is fit for a terminal, a long one cut.
func Inline(s string) string { return clippedLine(s, 0) }
