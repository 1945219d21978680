package policy

import (
	"crypto/sha256"
	"sync"
)

// A digest stands for a text or an object.
type digest [sha256.Size]byte

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// A verdictKey says what a verdict is about: a rule, and an object or a set of
// them; the rule alone where that is zero.
type verdictKey struct{ source, objects digest }

// A verdict is what an evaluation found out.
type verdict struct {
	form       form
	found      []finding
	violations []violation
	fault      string // what is wrong with the rule
}

// maxVerdicts is how many verdicts one generation holds. Most of them are
// empty: some 200 bytes each.
const maxVerdicts = 1 << 18

// generations remembers verdicts. When the young are too many, they become the
// old ones, and what was old and has not been asked for since is forgotten.
type generations struct {
	mu         sync.Mutex
	young, old map[verdictKey]func() verdict
}

// get returns the verdict of a key, from f when it is not remembered. f is
// called once, also when several ask at once.
func (g *generations) get(key verdictKey, f func() verdict) verdict {
	g.mu.Lock()
	v, ok := g.young[key]
	if !ok {
		if v, ok = g.old[key]; !ok {
			v = sync.OnceValue(f)
		}
		if g.young == nil || len(g.young) >= maxVerdicts {
			g.young, g.old = map[verdictKey]func() verdict{}, g.young
		}
		g.young[key] = v
	}
	g.mu.Unlock()
	return v()
}
