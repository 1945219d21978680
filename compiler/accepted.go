package compiler

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/cache"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxAccepted is for how many values it is kept that a chart accepts them. When
// there are more, only those of the last run are kept.
const maxAccepted = 1 << 16

// An accepted knows values in which the schemas of one chart find no fault: of
// this run, and of earlier ones. Compiling a large schema, and checking what
// most charts have for values, costs more than all else that vet does.
type accepted struct {
	cache *cache.Cache
	key   string

	mu    sync.Mutex
	known map[[sha256.Size]byte]bool // by the sum of the values, and whether this run has asked; nil until something does
	more  bool                       // than what is kept
}

// accepted returns the values that the schemas of the chart accepted before.
func (r *Results) accepted(ch *fleet.Chart) *accepted {
	return &accepted{cache: &r.Cache, key: r.KeyOf("accepted values", typesOf(ch))}
}

// remember is a [values.Accepted].
func (a *accepted) remember(values []byte, accepts func() bool) {
	sum := sha256.Sum256(values)
	if a.has(sum) || !accepts() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[sum], a.more = true, true
}

func (a *accepted) has(sum [sha256.Size]byte) bool {
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

// keep keeps what is known for other runs.
func (a *accepted) keep() {
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

// keepFound keeps what was found out of the charts' values.
func (f *Fleet) keepFound() {
	for ch := range maps.Values(f.Charts) {
		ch.accepted.keep()
		if ch.Types.Grown() {
			f.Results.keepTypes(ch.Chart, ch.Types)
		}
	}
}
