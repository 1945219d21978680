package values

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A value is the set of all possible results of an expression, over all runs of
// the templates. It is immutable. nil is the empty set.
type value struct {
	places  []*place     // parts of the values
	roots   []*chartRoot // dots of the charts' templates
	objects []*object    // maps, lists and texts that templates make
	texts   []string     // sorted; wild stands for any characters
	unknown bool         // any other result that contains none of the values

	id string // identifies the value; built on first use
}

// wild stands in a text for any characters.
const wild = "\x00"

// number is the prefix of a text that is written as a number: the index of an
// element, not a key.
const number = "\x01"

const (
	maxTexts   = 48  // texts of one value
	maxText    = 200 // bytes of a text
	maxWild    = 3   // unknown parts of a text
	maxMembers = 512 // places or objects of one value
)

// A setMember is an element of sets that are sorted by ordinal.
type setMember interface {
	comparable
	ordinal() int
	stamped() *int // the last union that contained it
}

func (p *place) ordinal() int     { return p.id }
func (r *chartRoot) ordinal() int { return r.id }
func (o *object) ordinal() int    { return o.id }

func (p *place) stamped() *int     { return &p.stamp }
func (r *chartRoot) stamped() *int { return &r.stamp }
func (o *object) stamped() *int    { return &o.stamp }

// joinSets returns the union of the sets, and a itself when b adds nothing.
func joinSets[T setMember](a, b []T) []T {
	switch {
	case len(a) == 0:
		return b
	case isSubset(b, a, byNumber):
		return a
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, byNumber)
	return slices.Compact(all)
}

// isSubset reports whether the sorted list contains all members.
func isSubset[T any](members, list []T, compare func(x, y T) int) bool {
	return !slices.ContainsFunc(members, func(m T) bool {
		_, ok := slices.BinarySearchFunc(list, m, compare)
		return !ok
	})
}

func byNumber[T setMember](x, y T) int { return cmp.Compare(x.ordinal(), y.ordinal()) }

// textOf returns the value that is one of the texts.
func textOf(texts ...string) *value {
	v := &value{texts: make([]string, 0, len(texts))}
	for _, t := range texts {
		if len(t) > maxText || strings.Count(t, wild) > maxWild {
			t = wild
		}
		v.texts = append(v.texts, t)
	}
	slices.Sort(v.texts)
	v.texts = slices.Compact(v.texts)
	if len(v.texts) > maxTexts {
		v.texts = []string{wild}
	}
	return v
}

// anything returns an unknown value that contains none of the chart's values.
func anything() *value { return &value{unknown: true} }

// union returns the union of the values, and a itself when b adds nothing. A set
// that is too large counts as printed.
func (r *interpreter) union(a, b *value) *value {
	switch {
	case b == nil || a == b:
		return a
	case a == nil:
		return b
	}
	v := &value{
		places:  joinSets(a.places, b.places),
		roots:   joinSets(a.roots, b.roots),
		objects: joinSets(a.objects, b.objects),
		texts:   joinTexts(a.texts, b.texts),
		unknown: a.unknown || b.unknown,
	}
	r.steps += (len(v.places) + len(v.objects) + len(v.texts)) / 8
	if len(v.places) == len(a.places) && len(v.roots) == len(a.roots) && len(v.objects) == len(a.objects) &&
		slices.Equal(v.texts, a.texts) && v.unknown == a.unknown {
		return a
	}
	if len(v.places) > maxMembers || len(v.objects) > maxMembers {
		r.use(v, Printed)
		return &value{roots: v.roots, texts: v.texts, unknown: true}
	}
	return v
}

// unionAll returns the union of the values.
func (r *interpreter) unionAll(vs ...*value) *value {
	var c collector
	for _, v := range vs {
		c.add(v)
	}
	return c.union(r)
}

// A collector computes the union of many values at once, which is faster than
// pairwise unions.
type collector struct{ values []*value }

// add adds a value, which may be nil.
func (c *collector) add(v *value) {
	if v != nil && (len(c.values) == 0 || c.values[len(c.values)-1] != v) {
		c.values = append(c.values, v)
	}
}

// union returns the union of the added values; nil for none.
func (c *collector) union(r *interpreter) *value {
	switch len(c.values) {
	case 0:
		return nil
	case 1:
		return c.values[0]
	case 2:
		return r.union(c.values[0], c.values[1])
	}
	all := &value{}
	r.stamp++
	for _, v := range c.values {
		all.places = appendNew(all.places, v.places, r.stamp)
		all.roots = appendNew(all.roots, v.roots, r.stamp)
		all.objects = appendNew(all.objects, v.objects, r.stamp)
		all.texts = append(all.texts, v.texts...)
		all.unknown = all.unknown || v.unknown
	}
	r.steps += len(c.values) / 8
	slices.SortFunc(all.places, byNumber)
	slices.SortFunc(all.roots, byNumber)
	slices.SortFunc(all.objects, byNumber)
	if len(all.texts) > 0 {
		all.texts = textOf(all.texts...).texts
	}
	return r.union(c.values[0], all)
}

// appendNew appends the members that do not have the stamp yet.
func appendNew[T setMember](all, more []T, stamp int) []T {
	for _, x := range more {
		if s := x.stamped(); *s != stamp {
			*s = stamp
			all = append(all, x)
		}
	}
	return all
}

func joinTexts(a, b []string) []string {
	switch {
	case len(a) == 0:
		return b
	case isSubset(b, a, strings.Compare):
		return a
	}
	return textOf(slices.Concat(a, b)...).texts
}

// key returns a text that identifies the value.
func (v *value) key() string {
	if v == nil {
		return ""
	}
	if v.id != "" {
		return v.id
	}
	b := []byte{'v'}
	for _, p := range v.places {
		b = strconv.AppendInt(append(b, 'p'), int64(p.id), 10)
	}
	for _, r := range v.roots {
		b = strconv.AppendInt(append(b, 'r'), int64(r.id), 10)
	}
	for _, o := range v.objects {
		b = strconv.AppendInt(append(b, 'o'), int64(o.id), 10)
	}
	for _, t := range v.texts {
		b = strconv.AppendQuote(b, t)
	}
	if v.unknown {
		b = append(b, '?')
	}
	v.id = string(b)
	return v.id
}

// written returns the possible texts of printing the value.
func (v *value) written() []string {
	if v == nil {
		return []string{wild}
	}
	if v.unknown || len(v.places)+len(v.roots)+len(v.objects) > 0 || len(v.texts) == 0 {
		return joinTexts(unnumbered(v.texts), []string{wild})
	}
	return unnumbered(v.texts)
}

// unnumbered returns the texts without the prefix number, as they are printed.
func unnumbered(texts []string) []string {
	for _, t := range texts {
		if strings.HasPrefix(t, number) {
			out := slices.Clone(texts)
			for i := range out {
				out[i] = strings.TrimPrefix(out[i], number)
			}
			return textOf(out...).texts
		}
	}
	return texts
}

// literal returns the possible texts of the value, and whether the value can be
// nothing but these texts.
func (v *value) literal() ([]string, bool) {
	if v == nil || v.unknown || len(v.texts) == 0 || len(v.places)+len(v.roots)+len(v.objects) > 0 {
		return nil, false
	}
	for _, t := range v.texts {
		if strings.Contains(t, wild) {
			return nil, false
		}
	}
	return unnumbered(v.texts), true
}

// concat returns every text of a followed by every text of b.
func concat(a, b []string) []string {
	if len(a)*len(b) > maxTexts {
		return []string{wild}
	}
	all := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if strings.HasSuffix(x, wild) && strings.HasPrefix(y, wild) {
				y = y[len(wild):]
			}
			all = append(all, x+y)
		}
	}
	return textOf(all...).texts
}

// matches reports whether the name matches the pattern.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, wild)
	if len(parts) == 1 {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, parts[last])
}
