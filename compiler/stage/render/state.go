package render

import (
	"maps"
	"reflect"
)

// A state is what the templates of a rendering share and can modify, such as
// values. As long as none has modified it, what a template renders does not
// depend on which others were executed before.
type state struct {
	all      []renderable
	random   map[string]bool // which of them called something that is random or reads the clock
	modified bool
	maps     map[uintptr]bool    // the addresses of all maps, from when one may be modified; nil until then
	lists    map[uintptr]uintptr // from where to where lists of text are
}

// modifies notes that a map is about to be modified.
func (s *state) modifies(m map[string]any) {
	if !s.modified {
		s.find()
		s.modified = s.maps[reflect.ValueOf(m).Pointer()]
	}
}

// merges notes that maps are about to be merged into one. What is in several of
// them may be modified: what one has is a part of the result when the next comes.
func (s *state) merges(to map[string]any, from []map[string]any) {
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
			s.modified = true // or so it is taken
			return
		}
		s.modifies(t)
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

// again returns what another rendering prints as well, and whether anything may
// be another.
func (s *state) again(printed map[string]page) (known map[string]page, chance bool) {
	if len(s.random) > 0 && !s.modified {
		known = maps.Clone(printed)
		maps.DeleteFunc(known, func(name string, _ page) bool { return s.random[name] })
	}
	return known, len(s.random) > 0
}

// sorts notes that a list of text is about to be sorted in place, as sortAlpha
// does. It may be a part of another one.
func (s *state) sorts(list any) {
	texts, ok := list.([]string)
	if !ok || s.modified {
		return
	}
	s.find()
	at := reflect.ValueOf(texts).Pointer()
	for start, end := range s.lists {
		s.modified = s.modified || start <= at && at < end
	}
}

// find finds all that is in the state, unless that was done. What is added to
// it later is added by modifying it.
func (s *state) find() {
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

func (s *state) texts(l []string) {
	v := reflect.ValueOf(l)
	s.lists[v.Pointer()] = v.Pointer() + uintptr(len(l))*reflect.TypeFor[string]().Size()
}

func (s *state) add(v any) {
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
