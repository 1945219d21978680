package diff

import (
	"maps"
	"slices"
)

// maxWork bounds what is done to align the lists of one object, in steps of a
// few nanoseconds. An object that takes more has its other lists compared by
// index.
const maxWork = 1 << 22

// maxDepth bounds how deep values are compared: what is below is one value.
// Real objects are not half as deep.
const maxDepth = 200

// A differ compares two values.
type differ struct {
	changes []FieldChange
	budget  int // of steps, see maxWork
}

// value adds the changes from was to is, which are at the path.
func (d *differ) value(at *step, was, is any) {
	if at == nil || at.depth < maxDepth {
		switch was := was.(type) {
		case map[string]any:
			if is, ok := is.(map[string]any); ok && was != nil && is != nil {
				d.fields(at, was, is)
				return
			}
		case []any:
			if is, ok := is.([]any); ok && was != nil && is != nil {
				d.list(at, was, is)
				return
			}
		}
	}
	if equal(was, is) {
		return
	}
	c := FieldChange{Path: at.String(), HasWas: true, HasIs: true}
	var a, b bool
	c.Was, a = reveal(was)
	c.Is, b = reveal(is)
	c.Secret = a || b
	d.changes = append(d.changes, c)
}

func (d *differ) fields(at *step, was, is map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(was)) {
		if v, ok := is[k]; ok {
			d.value(at.key(k), was[k], v)
		} else {
			d.removed(at.key(k), was[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[k]; !ok {
			d.added(at.key(k), is[k], 0)
		}
	}
}

func (d *differ) added(at *step, v any, index int) {
	c := FieldChange{Path: at.String(), HasIs: true, Index: index}
	c.Is, c.Secret = reveal(v)
	d.changes = append(d.changes, c)
}

func (d *differ) removed(at *step, v any) {
	c := FieldChange{Path: at.String(), HasWas: true}
	c.Was, c.Secret = reveal(v)
	d.changes = append(d.changes, c)
}

func (d *differ) list(at *step, was, is []any) {
	if slices.EqualFunc(was, is, equal) {
		return
	}
	if olds, news, ok := selectors(at.field(), was, is); ok {
		d.keyed(at, was, is, olds, news)
		return
	}
	for _, p := range align(was, is, &d.budget) {
		switch {
		case p.is < 0:
			d.removed(at.index(p.was), was[p.was])
		case p.was < 0:
			d.added(at.index(p.is), is[p.is], p.is)
		default:
			d.value(at.index(p.is), was[p.was], is[p.is])
		}
	}
}

// keyed compares two lists whose elements have the selectors olds and news.
func (d *differ) keyed(at *step, was, is []any, olds, news []string) {
	place := make(map[string]int, len(news))
	for i, sel := range news {
		place[sel] = i
	}
	var wasOrder, isOrder []string // of those that are in both
	stays := make(map[string]bool, len(olds))
	for i, sel := range olds {
		j, ok := place[sel]
		if !ok {
			d.removed(at.element(sel), was[i])
			continue
		}
		stays[sel] = true
		wasOrder = append(wasOrder, sel)
		d.value(at.element(sel), was[i], is[j])
	}
	for j, sel := range news {
		if stays[sel] {
			isOrder = append(isOrder, sel)
		} else {
			d.added(at.element(sel), is[j], j)
		}
	}
	if !slices.Equal(wasOrder, isOrder) {
		d.changes = append(d.changes, FieldChange{
			Path: at.String(), Was: list(wasOrder), Is: list(isOrder), HasWas: true, HasIs: true, Reordered: true,
		})
	}
}

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}
