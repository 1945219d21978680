package crd

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// asked is what is asked about earlier runs, which found nothing.
type asked struct {
	mu   sync.Mutex
	keys []string
}

func (a *asked) IsSound(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, key)
	return false
}

func (*asked) NoteSound(string) {}

// TestJudge holds that a CRD which is judged ahead is not judged again, and that the
// check finds the same in it.
func TestJudge(t *testing.T) {
	objs := objects(t, widgets(t), strings.Replace(gadgets, "storage: true", "storage: false", 1))
	c := cluster("1.36")
	var plain Checker
	want := plain.Objects(c, objs, nil)
	if want == nil {
		t.Fatal("a CRD without a version that is stored is sound")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, ahead := range []bool{true, false} {
		earlier := &asked{}
		k := Checker{Earlier: earlier}
		ctx := t.Context()
		if !ahead {
			ctx = ended
		}
		k.Judge(ctx, c, append([]fleet.Object{{}}, objs...))
		if n := len(earlier.keys); ahead && n != 2 || !ahead && n != 0 {
			t.Errorf("%d of 2 CRDs are judged ahead, in time: %v", n, ahead)
		}
		got := k.Objects(c, objs, nil)
		if got == nil || got.Error() != want.Error() {
			t.Errorf("got %v, want %v", got, want)
		}
		if n := len(earlier.keys); n != 2 {
			t.Errorf("2 CRDs are judged %d times", n)
		}
	}
}
