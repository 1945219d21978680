package validate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// A PolicyChecker checks the clusters of a fleet. It caches results by the texts of
// rules and the contents of objects, so that an object in many clusters is
// evaluated once. The zero value is ready for concurrent use.
type PolicyChecker struct {
	Limits par.Limits // for the check of one cluster

	mu       sync.Mutex
	idle     []*engine
	verdicts resultCache
}

// Objects checks the objects of a cluster against its policies. today is the
// date for the ends of waivers, as in 2026-12-31; if it is empty, no waiver has
// ended. Lists must be flattened before. The check ends with ctx.
//
// The error is a diag.List, marked with the cluster's ID. It has a fault for
// each object that violates a policy without a waiver, for each waiver that has
// ended or is not needed, and for each invalid rule.
func (k *PolicyChecker) Objects(ctx context.Context, c *fleet.Cluster, objs []fleet.Object, today string) error {
	if len(c.Policies) == 0 {
		return nil
	}
	r := &policyRun{k: k, today: today}
	_, err := par.RunLimited(ctx, k.Limits, func() (struct{}, error) { return struct{}{}, r.check(c, objs) })
	if over, ok := errors.AsType[*par.Excess](err); ok {
		err = r.excess(over)
	}
	if ctx.Err() != nil {
		return err
	}
	return diag.In(c.ID, err)
}

// check checks the objects of a cluster.
func (r *policyRun) check(c *fleet.Cluster, objs []fleet.Object) error {
	defer r.done()
	for _, o := range objs {
		if o.Unstructured != nil && o.Object != nil {
			r.objects = append(r.objects, &policyObject{Object: o})
		}
	}
	rules := make([]*rule, len(c.Policies))
	for i, p := range c.Policies {
		rules[i] = &rule{Policy: p, source: digestOf(p.Source)}
		for _, o := range r.objects {
			if p.Match.Matches(o.Object) {
				rules[i].matched = append(rules[i].matched, o)
			}
		}
	}
	r.each(rules)
	r.together(rules)
	for _, rl := range rules {
		if rl.form == ofObject && r.misspelt(rl) {
			continue // each object would violate the rule for this reason
		}
		r.report(rl)
	}
	return r.faults.Err()
}

// excess returns the fault of a rule whose evaluation exceeded a limit.
func (r *policyRun) excess(over *par.Excess) error {
	d := &diag.Diag{Code: diag.CodeLimits, Msg: "the evaluation of the rule " + over.Msg, Cause: over, Hint: "look for lists and comprehensions in the rule that multiply each other"}
	if rl := r.current.Load(); rl != nil {
		d.At, d.Path = diag.Positions(rl.Pos), policyPath(rl.Name)
	}
	return d
}

// A rule is a policy of the cluster with the objects that it selects and its
// violations.
type rule struct {
	fleet.Policy
	source  digest
	matched []*policyObject
	form    form
	broken  []breach
	fault   string   // error in the rule itself
	faultAt diag.Pos // position of the error; may be invalid
}

// A breach is an object that violates a rule.
type breach struct {
	*policyObject
	found []finding
}

// A finding is a violation without the object.
type finding struct {
	path []string // path of the field; empty for the object
	text string   // empty when the message of the policy is enough
	line diag.Pos // position in the rule; may be invalid
}

// A policyRun is the check of one cluster.
type policyRun struct {
	k       *PolicyChecker
	today   string
	objects []*policyObject
	engine  *engine // taken at the first evaluation
	faults  diag.List
	current atomic.Pointer[rule] // the rule that is being evaluated
}

// each checks the objects against the rules of the form object.
func (r *policyRun) each(rules []*rule) {
	for _, rl := range rules {
		if len(rl.matched) == 0 {
			continue
		}
		r.current.Store(rl)
		v := r.k.verdicts.get(cacheKey{source: rl.source}, func() result { return r.evaluator().form(rl) })
		rl.form, rl.fault = v.form, v.fault
	}
	about := map[*policyObject][]*rule{}
	for _, rl := range rules {
		if rl.form == ofObject {
			for _, o := range rl.matched {
				about[o] = append(about[o], rl)
			}
		}
	}
	for _, o := range r.objects { // so that each is taken apart once
		for _, rl := range about[o] {
			if !o.read() {
				rl.broken = append(rl.broken, breach{o, []finding{{text: o.unfit}}})
				continue
			}
			r.current.Store(rl)
			v := r.k.verdicts.get(cacheKey{rl.source, o.digest}, func() result { return r.evaluator().checkObject(rl, o) })
			if v.fault != "" {
				rl.fault, rl.faultAt = v.fault, v.faultAt
			}
			if len(v.found) > 0 {
				rl.broken = append(rl.broken, breach{o, v.found})
			}
		}
	}
}

// together checks the rules of the form violations.
func (r *policyRun) together(rules []*rule) {
	for _, rl := range rules {
		if rl.form != ofViolations {
			continue
		}
		all := &world{byID: map[objectID]*policyObject{}}
		for _, o := range rl.matched {
			if o.read() {
				all.add(o)
			} else {
				rl.broken = append(rl.broken, breach{o, []finding{{text: o.unfit}}})
			}
		}
		r.current.Store(rl)
		v := r.k.verdicts.get(cacheKey{rl.source, all.digest()}, func() result { return r.evaluator().compute(rl, all) })
		rl.fault = v.fault
		r.blame(rl, all, v.violations)
	}
}

// blame finds the objects of the violations of a rule.
func (r *policyRun) blame(rl *rule, all *world, violations []violation) {
	at := map[*policyObject]int{}
	for _, v := range violations {
		o := all.byID[objectID{v.Kind, v.ID}]
		if o == nil {
			rl.fault = "violations name " + visible(v.Kind+" "+v.ID) + ", which is not one of the objects"
			continue
		}
		i, ok := at[o]
		if !ok {
			i = len(rl.broken)
			at[o] = i
			rl.broken = append(rl.broken, breach{policyObject: o})
		}
		rl.broken[i].found = append(rl.broken[i].found, finding{text: v.Message})
	}
	slices.SortStableFunc(rl.broken, func(a, b breach) int { return cmp.Compare(a.ID(), b.ID()) })
}

// evaluator returns the engine of the run.
func (r *policyRun) evaluator() *engine {
	if r.engine == nil || r.engine.worn() {
		r.engine = r.k.take()
	}
	return r.engine
}

func (r *policyRun) done() {
	if r.engine != nil {
		r.k.put(r.engine)
	}
}

// take returns an idle engine.
func (k *PolicyChecker) take() *engine {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.idle); n > 0 {
		e := k.idle[n-1]
		k.idle = k.idle[:n-1]
		return e
	}
	return newEngine()
}

// put returns an engine to the pool.
func (k *PolicyChecker) put(e *engine) {
	e.object = nil
	if e.worn() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle = append(k.idle, e)
}
