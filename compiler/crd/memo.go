package crd

import "sync"

// A memo computes each value once, also when several ask for it at once.
type memo[K comparable, V any] struct{ m sync.Map }

// get returns the value of a key, from f when nobody has asked before.
func (m *memo[K, V]) get(key K, f func() V) V {
	v, ok := m.m.Load(key)
	if !ok {
		v, _ = m.m.LoadOrStore(key, sync.OnceValue(f))
	}
	return v.(func() V)()
}
