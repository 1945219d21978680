package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// maxWork limits the work to align the lists of one object, in steps of a few
// nanoseconds. Lists beyond the limit are compared by index.
const maxWork = 1 << 22

// maxDepth limits the depth of the comparison; a value below it is compared as
// a whole. Real objects are less than half as deep.
const maxDepth = 200

// A differ compares two values.
type differ struct {
	changes []FieldChange
	budget  int // remaining steps, see maxWork
}

// value adds the changes between two values at a path.
func (d *differ) value(at *step, before, after any) {
	if at == nil || at.depth < maxDepth {
		switch before := before.(type) {
		case map[string]any:
			if after, ok := after.(map[string]any); ok && before != nil && after != nil {
				d.fields(at, before, after)
				return
			}
		case []any:
			if after, ok := after.([]any); ok && before != nil && after != nil {
				d.list(at, before, after)
				return
			}
		}
	}
	if equal(before, after) {
		return
	}
	c := FieldChange{Path: at.String(), HasBefore: true, HasAfter: true}
	var a, b bool
	c.Before, a = reveal(before)
	c.After, b = reveal(after)
	c.Secret = a || b
	d.changes = append(d.changes, c)
}

func (d *differ) fields(at *step, before, after map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if v, ok := after[k]; ok {
			d.value(at.key(k), before[k], v)
		} else {
			d.removed(at.key(k), before[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[k]; !ok {
			d.added(at.key(k), after[k], 0)
		}
	}
}

func (d *differ) added(at *step, v any, index int) {
	c := FieldChange{Path: at.String(), HasAfter: true, Index: index}
	c.After, c.Secret = reveal(v)
	d.changes = append(d.changes, c)
}

func (d *differ) removed(at *step, v any) {
	c := FieldChange{Path: at.String(), HasBefore: true}
	c.Before, c.Secret = reveal(v)
	d.changes = append(d.changes, c)
}

func (d *differ) list(at *step, before, after []any) {
	if slices.EqualFunc(before, after, equal) {
		return
	}
	if olds, news, ok := kube.ListSelectors(at.field(), before, after, scalar); ok {
		d.keyed(at, before, after, olds, news)
		return
	}
	for _, p := range align(before, after, &d.budget) {
		switch {
		case p.after < 0:
			d.removed(at.index(p.before), before[p.before])
		case p.before < 0:
			d.added(at.index(p.after), after[p.after], p.after)
		default:
			d.value(at.index(p.after), before[p.before], after[p.after])
		}
	}
}

// keyed compares two lists whose elements have the selectors olds and news.
func (d *differ) keyed(at *step, before, after []any, olds, news []string) {
	place := make(map[string]int, len(news))
	for i, sel := range news {
		place[sel] = i
	}
	var beforeOrder, afterOrder []string // selectors that exist on both sides
	stays := make(map[string]bool, len(olds))
	for i, sel := range olds {
		j, ok := place[sel]
		if !ok {
			d.removed(at.element(sel), before[i])
			continue
		}
		stays[sel] = true
		beforeOrder = append(beforeOrder, sel)
		d.value(at.element(sel), before[i], after[j])
	}
	for j, sel := range news {
		if stays[sel] {
			afterOrder = append(afterOrder, sel)
		} else {
			d.added(at.element(sel), after[j], j)
		}
	}
	if !slices.Equal(beforeOrder, afterOrder) {
		d.changes = append(d.changes, FieldChange{
			Path: at.String(), Before: List(beforeOrder), After: List(afterOrder), HasBefore: true, HasAfter: true, Reordered: true,
		})
	}
}

// List returns texts as a list in decoded JSON.
func List(texts []string) []any {
	return diag.Each(texts, func(s string) any { return s })
}

// Live describes a change in a running cluster. The zero value means that no
// cluster was compared.
type Live struct {
	Reason    string // missing, changed, orphaned, conflict or unknown
	Why       string // details; may be empty
	Predicted bool   // whether the compared object comes from a simulated apply instead of a dry run
}

func (l Live) compare(m Live) int {
	return cmp.Or(strings.Compare(l.Reason, m.Reason), strings.Compare(l.Why, m.Why), compareBools(l.Predicted, m.Predicted))
}

// comparison returns how the object was compared, or an empty string.
func (l Live) comparison() string {
	switch {
	case l.Predicted:
		return "predicted"
	case l.Reason == "changed" || l.Reason == "conflict":
		return "dry-run"
	}
	return ""
}

// A Prediction says why objects were compared with a simulated apply.
type Prediction struct {
	Why      string   `json:"why"`
	Clusters []string `json:"clusters"` // IDs, sorted
	Objects  int      `json:"objects"`
}

// predictions returns the lines about simulated applies.
func (r Result) predictions() []string {
	var out []string
	for _, p := range r.Predicted {
		where := fmt.Sprintf("%d clusters", len(p.Clusters))
		if len(p.Clusters) == 1 {
			where = clusterName(p.Clusters[0])
		}
		out = append(out, fmt.Sprintf("compared without a dry run: %s in %s: %s", diag.Count(p.Objects, "object", "objects"), where, clippedLine(p.Why, 0)))
	}
	return out
}
