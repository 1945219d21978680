package render

import (
	"maps"
	"reflect"
)

// sharedState holds the values that the templates of a rendering share and can
// modify. While no template has modified it, the output of a template does not
// depend on the templates before it.
type sharedState struct {
	all                       []renderable
	nondeterministicTemplates map[string]bool // templates that called a nondeterministic function
	modified                  bool
	maps                      map[uintptr]bool    // addresses of all shared maps; nil until a map may be modified
	lists                     map[uintptr]uintptr // start and end addresses of shared string lists
}

// willModify records that a map is about to be modified.
func (s *sharedState) willModify(m map[string]any) {
	if !s.modified {
		s.collectAll()
		s.modified = s.maps[reflect.ValueOf(m).Pointer()]
	}
}

// willMerge records that maps are about to be merged into one. A nested map of
// one source may be modified by a later source, because it has become a part
// of the result.
func (s *sharedState) willMerge(to map[string]any, from []map[string]any) {
	const most = 10_000
	left := most
	var meet func(to, from any)
	meet = func(to, from any) {
		t, ok := asMap(to)
		f, too := asMap(from)
		if !ok || !too || s.modified {
			return
		}
		if left--; left < 0 {
			s.modified = true // give up and assume so
			return
		}
		s.willModify(t)
		for k, v := range f {
			meet(t[k], v)
		}
	}
	for i, f := range from {
		meet(to, f)
		for _, next := range from[i+1:] {
			for k, v := range next {
				meet(f[k], v)
			}
		}
	}
}

// repeatable returns the output that every rendering prints, and whether any
// output may differ.
func (s *sharedState) repeatable(printed map[string]page) (known map[string]page, nondeterministic bool) {
	if len(s.nondeterministicTemplates) > 0 && !s.modified {
		known = maps.Clone(printed)
		maps.DeleteFunc(known, func(name string, _ page) bool { return s.nondeterministicTemplates[name] })
	}
	return known, len(s.nondeterministicTemplates) > 0
}

// willSort records that sortAlpha is about to sort a list of strings in place.
// The list may be a part of a shared one.
func (s *sharedState) willSort(list any) {
	texts, ok := list.([]string)
	if !ok || s.modified {
		return
	}
	s.collectAll()
	at := reflect.ValueOf(texts).Pointer()
	for start, end := range s.lists {
		s.modified = s.modified || start <= at && at < end
	}
}

// collectAll collects the addresses of all shared maps and lists, once. Later
// additions would be modifications.
func (s *sharedState) collectAll() {
	if s.maps != nil {
		return
	}
	s.maps, s.lists = map[uintptr]bool{}, map[uintptr]uintptr{}
	for _, r := range s.all {
		s.add(r.scope)
		s.texts(r.meta.Keywords)
		s.texts(r.meta.Sources)
		for _, d := range r.meta.Dependencies {
			s.texts(d.Tags)
		}
	}
}

func (s *sharedState) texts(l []string) {
	v := reflect.ValueOf(l)
	s.lists[v.Pointer()] = v.Pointer() + uintptr(len(l))*reflect.TypeFor[string]().Size()
}

func (s *sharedState) add(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.add(e)
		}
	default:
		m, ok := asMap(v)
		if at := reflect.ValueOf(m).Pointer(); ok && !s.maps[at] {
			s.maps[at] = true
			for _, e := range m {
				s.add(e)
			}
		}
	}
}
