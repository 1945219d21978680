package par

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestGet(t *testing.T) {
	var m Memo[int, int]
	var calls [10]atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for key := range calls {
				got := m.Get(key, func() int { calls[key].Add(1); return key * key })
				if got != key*key {
					t.Errorf("%d has %d", key, got)
				}
			}
		})
	}
	all.Wait()
	for key := range calls {
		if n := calls[key].Load(); n != 1 {
			t.Errorf("%d was computed %d times", key, n)
		}
	}
}
