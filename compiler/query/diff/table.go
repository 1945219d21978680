package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An Origin is the source of a value.
type Origin struct {
	diag.Pos        // position of the value
	Layer    string `json:"layer,omitempty"` // layer of Pos; empty outside of layers
	Chart    string `json:"chart,omitempty"` // the chart whose default it is, instead of Pos
}

func (o Origin) compare(p Origin) int {
	return cmp.Or(o.Pos.Compare(p.Pos), cmp.Compare(o.Layer, p.Layer), cmp.Compare(o.Chart, p.Chart))
}

// A Cell is the value of one cluster in a row of a [Table].
type Cell struct {
	Value  any  // decoded JSON, see [SecretTexts.Mask]
	Exists bool // whether there is a value; absence differs from null
	Origin Origin
}

// A Variant is one of the values of a [Difference], with its clusters.
type Variant struct {
	Value    any      // decoded JSON, with <secret> in place of secrets
	Exists   bool     // whether there is a value
	Clusters []string // in table order
	Origins  []Origin // known origins, sorted

	indexes []int // of the clusters in the table
}

// A Difference is a row of a [Table] whose values differ between clusters.
type Difference struct {
	Release  string    // empty for a value of the cluster itself
	Path     []string  // keys of the row
	Variants []Variant // at least two; those of most clusters first, then in cluster order
}

// Name returns the path of the difference as text.
func (d Difference) Name() string {
	texts := diag.Each(d.Path, quoteKey)
	return clippedPath(strings.Join(texts, "."))
}

// A Table collects values of clusters by row, and stores equal values once.
// Create it with NewTable.
type Table struct {
	clusters []string
	rows     map[string]*row
}

// A row holds the values of the clusters at one path.
type row struct {
	Difference
	seen     map[int]bool // indices of clusters
	variants map[sum]int  // indices in Variants
}

// NewTable returns a table of the clusters with the given IDs.
func NewTable(clusters []string) *Table {
	return &Table{clusters: clusters, rows: map[string]*row{}}
}

// Add adds the value of the cluster with the given index in the row of a
// release and path. The value must not be modified afterwards. Later values
// for the same cell are ignored.
func (t *Table) Add(release string, path []string, cluster int, c Cell) {
	key := rowKey(release, path)
	r := t.rows[key]
	if r == nil {
		r = &row{Difference: Difference{Release: release, Path: slices.Clone(path)}, seen: map[int]bool{}, variants: map[sum]int{}}
		t.rows[key] = r
	}
	r.add(cluster, c)
}

// Has reports whether the cluster has a value in a row.
func (t *Table) Has(release string, path []string, cluster int) bool {
	r := t.rows[rowKey(release, path)]
	return r != nil && slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.Exists && slices.Contains(v.indexes, cluster) })
}

func rowKey(release string, path []string) string { return fmt.Sprintf("%q %q", release, path) }

func (r *row) add(cluster int, c Cell) {
	if r.seen[cluster] {
		return
	}
	r.seen[cluster] = true
	s := sumOf([]any{c.Exists, c.Value})
	i, ok := r.variants[s]
	if !ok {
		i = len(r.Variants)
		r.variants[s], r.Variants = i, append(r.Variants, Variant{Value: c.Value, Exists: c.Exists})
	}
	v := &r.Variants[i]
	v.indexes = append(v.indexes, cluster)
	if c.Origin != (Origin{}) && !slices.Contains(v.Origins, c.Origin) {
		v.Origins = append(v.Origins, c.Origin)
	}
}

// Differences returns the rows whose values differ, sorted by release and
// path. absent returns the value of a cluster in a row without a value for it,
// or false if the row does not apply to the cluster.
func (t *Table) Differences(absent func(release string, path []string, cluster int) (Cell, bool)) []Difference {
	var out []Difference
	for _, r := range t.rows {
		for i := range t.clusters {
			if r.seen[i] {
				continue
			}
			if c, ok := absent(r.Release, r.Path, i); ok {
				r.add(i, c)
			}
		}
		if len(r.Variants) > 1 {
			out = append(out, t.difference(r))
		}
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(strings.Compare(a.Release, b.Release), comparePaths(a.Name(), b.Name()), slices.Compare(a.Path, b.Path))
	})
	return out
}

// difference returns the row as a difference.
func (t *Table) difference(r *row) Difference {
	d := r.Difference
	d.Variants = slices.Clone(d.Variants)
	for i := range d.Variants {
		v := &d.Variants[i]
		slices.Sort(v.indexes)
		slices.SortFunc(v.Origins, Origin.compare)
		v.Value, _ = reveal(v.Value)
		for _, index := range v.indexes {
			v.Clusters = append(v.Clusters, t.clusters[index])
		}
	}
	slices.SortFunc(d.Variants, func(a, b Variant) int {
		return cmp.Or(cmp.Compare(len(b.indexes), len(a.indexes)), cmp.Compare(a.indexes[0], b.indexes[0]))
	})
	return d
}

// Sum returns a digest of a decoded JSON value; equal values have equal
// digests. Do not show digests of possible secrets.
func Sum(v any) string {
	s := sumOf(v)
	return string(s[:])
}

// maxCell is the maximum length of a value in a table, in bytes.
const maxCell = 64

// Texts returns the values of the variants in one line each, and - for an
// absent value. They contain only printable characters. A long one is cut
// around the difference from the first variant, or from the second for the
// first, and its length is added.
func (d Difference) Texts() []string {
	texts := diag.Each(d.Variants, oneLine)
	out := make([]string, len(texts))
	for i, text := range texts {
		other := texts[min(1, len(texts)-1)]
		if i > 0 {
			other = texts[0]
		}
		from := 0
		for text != other && from < min(len(text), len(other)) && text[from] == other[from] {
			from++ // the texts of two secrets may be equal
		}
		part, before, after := cut(text, max(0, from-maxCell/3), maxCell)
		out[i] = dots(part, before, after, len(text))
	}
	return out
}

// oneLine returns the complete value in one line.
func oneLine(v Variant) string {
	if !v.Exists {
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
	text := diag.AsJSON(v.Value)
	if text == "" {
		return strconv.Quote(fmt.Sprint(v.Value))
	}
	return diag.PrintableJSON(text)
}

// Inline returns a text in one line of printable characters, cut if it is
// long.
func Inline(s string) string { return clippedLine(s, 0) }

// ValueText returns a decoded JSON value in one line of printable characters, cut if it is
// long.
func ValueText(v any) string {
	text := oneLine(Variant{Value: v, Exists: true})
	part, before, after := cut(text, 0, maxCell)
	return dots(part, before, after, len(text))
}
