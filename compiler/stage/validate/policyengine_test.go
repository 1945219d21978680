package validate

import (
	"encoding/binary"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestResultCache tests that a result in use is computed once, and that unused
// results are evicted.
func TestResultCache(t *testing.T) {
	var g resultCache
	calls := map[uint64]int{}
	get := func(n uint64) {
		var k cacheKey
		binary.BigEndian.PutUint64(k.objects[:], n)
		if v := g.get(k, func() result { calls[n]++; return result{fault: "x"} }); v.fault != "x" {
			t.Fatal("another verdict")
		}
	}
	for n := range uint64(3 * maxResults) {
		get(n)
		if n%1000 == 0 {
			get(0) // always in use
		}
	}
	get(1)
	if len(g.young)+len(g.old) > 2*maxResults || calls[0] != 1 || calls[1] != 2 {
		t.Errorf("%d verdicts; calls of a verdict in use %d, of another %d", len(g.young)+len(g.old), calls[0], calls[1])
	}
}

// TestObjectThatCannotBeChecked tests that a panic of CUE for an object is a
// fault of the rule. The engine of the test has no CUE context.
func TestObjectThatCannotBeChecked(t *testing.T) {
	var k PolicyChecker
	c := &fleet.Cluster{ID: "eu", Policies: []fleet.Policy{{Name: "p", Message: "no", Source: "object: spec: replicas: >=2"}}}
	e := k.take()
	e.form(&rule{Policy: c.Policies[0], source: digestOf(c.Policies[0].Source)})
	e.cctx = nil
	k.put(e)
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "web"}}}
	all := diag.All(k.Objects(t.Context(), c, []fleet.Object{{Unstructured: o}}, ""))
	if len(all) != 1 || !strings.HasPrefix(all[0].Error(), "policies.p: the rule fails: CUE cannot evaluate it") {
		t.Errorf("faults: %v", all)
	}
}

// TestWorn tests that an engine is replaced after maxEvaluations.
func TestWorn(t *testing.T) {
	var k PolicyChecker
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

// TestGuard tests that a panic is a fault of the rule.
func TestGuard(t *testing.T) {
	v := func() (v result) {
		defer recoverPanic(&v)
		panic("boom")
	}()
	if v.fault != "CUE cannot evaluate it: boom" {
		t.Errorf("fault %q", v.fault)
	}
}
