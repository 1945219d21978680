package results

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/cache"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxAccepted is for how many values it is kept that a chart accepts them. When
// there are more, only those of the last run are kept.
const maxAccepted = 1 << 16

// AcceptedValues remembers values in which the schemas of one chart find no fault, of this
// run and of earlier ones. To compile a large schema and to check values against it costs
// more than everything else in vet.
type AcceptedValues struct {
	cache *cache.Cache
	key   string

	mu    sync.Mutex
	known map[[sha256.Size]byte]bool // by the sum of the values, and whether this run has asked; nil until something does
	more  bool                       // than what is kept
}

// Accepted returns the values that the schemas of a chart accepted before.
func (r *Store) Accepted(ch *fleet.Chart) *AcceptedValues {
	return &AcceptedValues{cache: &r.Cache, key: r.KeyOf("accepted values", typesOf(ch))}
}

// Remember implements [values.Accepted].
func (a *AcceptedValues) Remember(values []byte, accepts func() bool) {
	sum := sha256.Sum256(values)
	if a.has(sum) || !accepts() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[sum], a.more = true, true
}

func (a *AcceptedValues) has(sum [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = map[[sha256.Size]byte]bool{}
		data, _ := a.cache.Get(a.key)
		for s := range slices.Chunk(data, sha256.Size) {
			if len(s) == sha256.Size {
				a.known[[sha256.Size]byte(s)] = false
			}
		}
	}
	if _, ok := a.known[sum]; !ok {
		return false
	}
	a.known[sum] = true
	return true
}

// Keep stores the values for other runs.
func (a *AcceptedValues) Keep() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.more {
		return
	}
	a.more = false
	all := len(a.known) <= maxAccepted
	var sums [][]byte
	for sum, asked := range a.known {
		if all || asked {
			sums = append(sums, sum[:])
		}
	}
	slices.SortFunc(sums, bytes.Compare)
	a.cache.Put(a.key, bytes.Join(sums, nil))
}
