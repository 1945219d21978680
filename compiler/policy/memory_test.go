package policy

import (
	"encoding/binary"
	"testing"
)

// TestGenerations holds that a verdict is computed once while it is in use,
// and that what nobody asks for is forgotten.
func TestGenerations(t *testing.T) {
	var g generations
	calls := map[uint64]int{}
	get := func(n uint64) {
		var k verdictKey
		binary.BigEndian.PutUint64(k.objects[:], n)
		if v := g.get(k, func() verdict { calls[n]++; return verdict{fault: "x"} }); v.fault != "x" {
			t.Fatal("another verdict")
		}
	}
	for n := range uint64(3 * maxVerdicts) {
		get(n)
		if n%1000 == 0 {
			get(0) // in use all the time
		}
	}
	get(1)
	if len(g.young)+len(g.old) > 2*maxVerdicts || calls[0] != 1 || calls[1] != 2 {
		t.Errorf("%d verdicts; calls of a verdict in use %d, of another %d", len(g.young)+len(g.old), calls[0], calls[1])
	}
}

// TestWorn holds that an engine is replaced after a while.
func TestWorn(t *testing.T) {
	var k Checker
	e := k.take()
	k.put(e)
	if k.take() != e {
		t.Error("an engine that is idle is not used")
	}
	e.evaluations = maxEvaluations + 1
	k.put(e)
	if k.take() == e {
		t.Error("an engine that is worn is used again")
	}
}

// TestGuard holds that a panic is a fault of the rule.
func TestGuard(t *testing.T) {
	v := func() (v verdict) {
		defer guard(&v)
		panic("boom")
	}()
	if v.fault != "CUE cannot evaluate it: boom" {
		t.Errorf("fault %q", v.fault)
	}
}
