package validate

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxEvaluations is the number of evaluations of an engine, since CUE's
// contexts grow with every value.
const maxEvaluations = 20_000

// An engine evaluates rules. It is not safe for concurrent use.
type engine struct {
	cctx        *cue.Context
	rules       map[digest]*compiledRule
	evaluations int
	object      *policyObject // the last object
	value       cue.Value     // value of the last object
}

func newEngine() *engine {
	return &engine{cctx: cuecontext.New(), rules: map[digest]*compiledRule{}}
}

func (e *engine) worn() bool { return e.evaluations > maxEvaluations }

// compiledRule returns the compiled rule, and compiles it once.
func (e *engine) compiledRule(rl *rule) *compiledRule {
	c := e.rules[rl.source]
	if c == nil {
		c = compile(e.cctx, rl.Source)
		e.rules[rl.source] = c
	}
	return c
}

// form determines the form of a rule.
func (e *engine) form(rl *rule) (v result) {
	defer recoverPanic(&v)
	c := e.compiledRule(rl)
	return result{form: c.form, fault: c.fault}
}

// checkObject checks an object against a rule of the form object.
func (e *engine) checkObject(rl *rule, o *policyObject) (v result) {
	e.evaluations++
	defer recoverPanic(&v)
	c := e.compiledRule(rl)
	if e.object != o {
		e.object, e.value = o, e.cctx.Encode(o.plain)
	}
	result := c.policy.FillPath(cue.MakePath(cue.Str("object")), e.value).LookupPath(cue.MakePath(cue.Str("object")))
	if err := result.Validate(cue.Concrete(true)); err != nil {
		return c.findings(err, o)
	}
	v.found = c.missing(result, o.plain, nil, nil)
	return v
}

// A violation is an object that a rule lists in its violations.
type violation struct {
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Message string `json:"message"`
}

// compute evaluates the violations of a rule.
func (e *engine) compute(rl *rule, all *world) (v result) {
	e.evaluations += len(all.objects)
	defer recoverPanic(&v)
	c := e.compiledRule(rl)
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

// recoverPanic turns a panic of CUE into a fault of the rule.
func recoverPanic(v *result) {
	if r := recover(); r != nil {
		*v = result{fault: visible(fmt.Sprintf("CUE cannot evaluate it: %v", r))}
	}
}

// first returns the first of CUE's errors as a clause.
func first(err error) string {
	d := diag.All(diag.CUEFaults("", err, cue.Value{}).Err())[0]
	if d.Path == "" {
		return visible(d.Msg)
	}
	return visible(d.Path + ": " + d.Msg)
}

// A digest is the digest of a text or an object.
type digest [sha256.Size]byte

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// A cacheKey is the cache key of a result: a rule, and an object or a set of
// objects; the digest of the objects is zero for the rule alone.
type cacheKey struct{ source, objects digest }

// A result is the result of an evaluation.
type result struct {
	form       form
	found      []finding
	violations []violation
	fault      string   // error in the rule itself
	faultAt    diag.Pos // position of the error; may be invalid
}

// maxResults is the size of one generation of the cache. Most results are
// empty: about 200 bytes each.
const maxResults = 1 << 18

// resultCache caches results. When the young generation is full it becomes the
// old one, and unused results of the old generation are evicted.
type resultCache struct {
	mu         sync.Mutex
	young, old map[cacheKey]func() result
}

// get returns the cached result of a key, or that of f. Concurrent calls for a
// key call f once.
func (g *resultCache) get(key cacheKey, f func() result) result {
	g.mu.Lock()
	v, ok := g.young[key]
	if !ok {
		if v, ok = g.old[key]; !ok {
			v = sync.OnceValue(f)
		}
		if g.young == nil || len(g.young) >= maxResults {
			g.young, g.old = map[cacheKey]func() result{}, g.young
		}
		g.young[key] = v
	}
	g.mu.Unlock()
	return v()
}
