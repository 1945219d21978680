package validate

import (
	"crypto/sha256"
	"sync"
)

// A digest is the digest of a text or an object.
type digest [sha256.Size]byte

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// A cacheKey is the cache key of a result: a rule, and an object or a set of
// objects; the digest of the objects is zero for the rule alone.
type cacheKey struct{ source, objects digest }

// A result is the result of an evaluation.
type result struct {
	form       form
	found      []finding
	violations []violation
	fault      string // error in the rule itself
}

// maxResults is the size of one generation of the cache. Most results are
// empty: about 200 bytes each.
const maxResults = 1 << 18

// resultCache caches results. When the young generation is full it becomes the
// old one, and unused results of the old generation are evicted.
type resultCache struct {
	mu         sync.Mutex
	young, old map[cacheKey]func() result
}

// get returns the cached result of a key, or that of f. Concurrent calls for a
// key call f once.
func (g *resultCache) get(key cacheKey, f func() result) result {
	g.mu.Lock()
	v, ok := g.young[key]
	if !ok {
		if v, ok = g.old[key]; !ok {
			v = sync.OnceValue(f)
		}
		if g.young == nil || len(g.young) >= maxResults {
			g.young, g.old = map[cacheKey]func() result{}, g.young
		}
		g.young[key] = v
	}
	g.mu.Unlock()
	return v()
}
