package crd

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// earlierCalls counts the lookups in an empty cache of earlier runs.
type earlierCalls struct {
	mu   sync.Mutex
	keys []string
}

func (a *earlierCalls) HasValidCRD(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, key)
	return false
}

func (*earlierCalls) AddValidCRD(string) {}

// TestWarm tests that Objects does not validate CRDs again after Warm, and
// finds the same faults.
func TestWarm(t *testing.T) {
	objs := objects(t, widgets(t), strings.Replace(gadgets, "storage: true", "storage: false", 1))
	c := cluster("1.36")
	var plain Checker
	want := plain.Objects(c, objs, nil)
	if want == nil {
		t.Fatal("a CRD without a stored version is valid")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, ahead := range []bool{true, false} {
		earlier := &earlierCalls{}
		k := Checker{Earlier: earlier}
		ctx := t.Context()
		if !ahead {
			ctx = ended
		}
		k.Warm(ctx, c, append([]fleet.Object{{}}, objs...))
		if n := len(earlier.keys); ahead && n != 2 || !ahead && n != 0 {
			t.Errorf("%d of 2 CRDs are validated ahead, in time: %v", n, ahead)
		}
		got := k.Objects(c, objs, nil)
		if got == nil || got.Error() != want.Error() {
			t.Errorf("got %v, want %v", got, want)
		}
		if n := len(earlier.keys); n != 2 {
			t.Errorf("2 CRDs are validated %d times", n)
		}
	}
}
