// Package memo remembers, for one run, what was found out already.
package memo

import "sync"

// A Map computes the value of each key once, also when several ask for it at
// once. It forgets nothing. The zero value is ready for use.
type Map[K comparable, V any] struct{ m sync.Map }

// Get returns the value of a key, from f when nobody has asked before.
func (m *Map[K, V]) Get(key K, f func() V) V {
	v, ok := m.m.Load(key)
	if !ok {
		v, _ = m.m.LoadOrStore(key, sync.OnceValue(f))
	}
	return v.(func() V)()
}

// Len returns how many keys have a value.
func (m *Map[K, V]) Len() (n int) {
	m.m.Range(func(any, any) bool { n++; return true })
	return n
}
