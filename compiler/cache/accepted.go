package cache

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxAccepted limits the stored values of a chart. If there are more, only those of the last
// run are stored.
const maxAccepted = 1 << 16

// AcceptedValues remembers the values that the schemas of a chart accept, in this run and
// earlier ones. Without it, checking values against large schemas takes most of the time
// of vet.
type AcceptedValues struct {
	cache *Cache
	key   string

	mu    sync.Mutex
	used  map[[sha256.Size]byte]bool // by the digest of the values, whether this run used them; nil before the first use
	grown bool                       // whether there are values that are not stored
}

// Accepted returns the values that the schemas of a chart accepted before.
func (r *Store) Accepted(ch *fleet.Chart) *AcceptedValues {
	return &AcceptedValues{cache: &r.Cache, key: r.KeyOf("accepted values", typesOf(ch))}
}

// Remember implements [values.AcceptanceCache].
func (a *AcceptedValues) Remember(values []byte, accepts func() bool) {
	sum := sha256.Sum256(values)
	if a.has(sum) || !accepts() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[sum], a.grown = true, true
}

func (a *AcceptedValues) has(sum [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used == nil {
		a.used = map[[sha256.Size]byte]bool{}
		data, _ := a.cache.Get(a.key)
		for s := range slices.Chunk(data, sha256.Size) {
			if len(s) == sha256.Size {
				a.used[[sha256.Size]byte(s)] = false
			}
		}
	}
	if _, ok := a.used[sum]; !ok {
		return false
	}
	a.used[sum] = true
	return true
}

// Save stores the values for later runs.
func (a *AcceptedValues) Save() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.grown {
		return
	}
	a.grown = false
	all := len(a.used) <= maxAccepted
	var sums [][]byte
	for sum, used := range a.used {
		if all || used {
			sums = append(sums, sum[:])
		}
	}
	slices.SortFunc(sums, bytes.Compare)
	a.cache.Put(a.key, bytes.Join(sums, nil))
}
