package policy

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/fleetc/fleetc/compiler/cuediag"
	"github.com/fleetc/fleetc/compiler/diag"
)

// maxEvaluations is how often an engine is used. CUE's contexts keep a little
// of everything that they have seen.
const maxEvaluations = 20_000

// An engine evaluates rules, for one goroutine at a time.
type engine struct {
	cctx        *cue.Context
	rules       map[digest]*compiled
	evaluations int
	object      *object   // the one that was looked at last
	value       cue.Value // of that object
}

func newEngine() *engine {
	return &engine{cctx: cuecontext.New(), rules: map[digest]*compiled{}}
}

func (e *engine) worn() bool { return e.evaluations > maxEvaluations }

// compiled returns the rule, compiled once.
func (e *engine) compiled(rl *rule) *compiled {
	c := e.rules[rl.source]
	if c == nil {
		c = compile(e.cctx, rl.Source)
		e.rules[rl.source] = c
	}
	return c
}

// form finds out which form a rule has.
func (e *engine) form(rl *rule) (v verdict) {
	defer guard(&v)
	c := e.compiled(rl)
	return verdict{form: c.form, fault: c.fault}
}

// judge checks an object against a rule of the form object.
func (e *engine) judge(rl *rule, o *object) (v verdict) {
	e.evaluations++
	defer guard(&v)
	c := e.compiled(rl)
	if e.object != o {
		e.object, e.value = o, e.cctx.Encode(o.plain)
	}
	result := c.policy.FillPath(cue.MakePath(cue.Str("object")), e.value).LookupPath(cue.MakePath(cue.Str("object")))
	if err := result.Validate(cue.Concrete(true)); err != nil {
		v.found = c.findings(err, o)
		return v
	}
	v.found = c.missing(result, o.plain, nil, nil)
	return v
}

// A violation is an object that a rule says breaks it.
type violation struct {
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Message string `json:"message"`
}

// compute computes the violations of a rule.
func (e *engine) compute(rl *rule, all *world) (v verdict) {
	e.evaluations += len(all.objects)
	defer guard(&v)
	c := e.compiled(rl)
	kinds := slices.Clone(c.kinds)
	for _, k := range rl.Match.Kinds {
		kind, _, _ := strings.Cut(k, ".") // of a group
		kinds = append(kinds, kind)
	}
	result := c.policy.FillPath(cue.MakePath(cue.Str("objects")), e.cctx.Encode(all.fields(kinds))).LookupPath(cue.MakePath(cue.Str("violations")))
	if err := result.Validate(cue.Concrete(true)); err != nil {
		v.fault = first(err)
		return v
	}
	if err := result.Decode(&v.violations); err != nil {
		v.fault = first(err)
	}
	return v
}

// guard turns a panic of CUE into a fault of the rule.
func guard(v *verdict) {
	if r := recover(); r != nil {
		*v = verdict{fault: visible(fmt.Sprintf("CUE cannot evaluate it: %v", r))}
	}
}

// first returns the first of CUE's errors as a clause.
func first(err error) string {
	d := diag.All(cuediag.Faults("", err, cue.Value{}).Err())[0]
	if d.Path == "" {
		return visible(d.Msg)
	}
	return visible(d.Path + ": " + d.Msg)
}
