package par

import "sync"

// A Memo computes the value of each key once, also for concurrent calls. It only
// grows. The zero value is ready for use.
type Memo[K comparable, V any] struct{ m sync.Map }

// Get returns the value of a key; the first call for the key computes it with
// f.
func (m *Memo[K, V]) Get(key K, f func() V) V {
	v, ok := m.m.Load(key)
	if !ok {
		v, _ = m.m.LoadOrStore(key, sync.OnceValue(f))
	}
	return v.(func() V)()
}

// Len returns the number of keys.
func (m *Memo[K, V]) Len() (n int) {
	m.m.Range(func(any, any) bool { n++; return true })
	return n
}

// A ResultMemo is a [Memo] of functions that can fail: it also keeps their errors. The zero
// value is ready for use.
type ResultMemo[K comparable, V any] struct{ m Memo[K, func() (V, error)] }

// Get returns the result for a key; the first call for the key computes it with f.
func (r *ResultMemo[K, V]) Get(key K, f func() (V, error)) (V, error) {
	return r.m.Get(key, func() func() (V, error) { return sync.OnceValues(f) })()
}
