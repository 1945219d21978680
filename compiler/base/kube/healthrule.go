package kube

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// HealthExpressions are the CEL expressions of a rule, with the meaning of
// healthCheckExprs in a Flux Kustomization: an object with an outdated status is in
// progress; then InProgress, Failed and Current are evaluated in this order, and
// the first that is true decides. The object is in progress when none is true, or
// an evaluation fails.
type HealthExpressions struct {
	Current    string
	InProgress string // may be empty
	Failed     string // may be empty
}

// healthRuleExpressions returns the expressions of a rule. Current is empty for a rule
// without tests for readiness.
func healthRuleExpressions(h fleet.HealthRule) HealthExpressions {
	return HealthExpressions{
		Current:    expression(h.Ready, " && "),
		InProgress: expression(h.Progressing, " || "),
		Failed:     expression(h.Failed, " || "),
	}
}

// Expressions returns the expressions of the rule that judges an object, with an
// empty Current when none does, and whether to wait for the object.
func (r *HealthRules) Expressions(o fleet.Object) (e HealthExpressions, waited bool) {
	rl, waited := r.find(o)
	if rl == nil {
		return HealthExpressions{}, waited
	}
	return healthRuleExpressions(rl.HealthRule), waited
}

// expression translates tests to CEL.
func expression(tests []fleet.HealthTest, join string) string {
	var parts []string
	for _, t := range tests {
		switch {
		case t.Type != "":
			parts = append(parts, conditionExpression(t))
		case len(tests) > 1:
			parts = append(parts, "("+t.Expression+")")
		default:
			parts = append(parts, t.Expression)
		}
	}
	return strings.Join(parts, join)
}

// conditionExpression translates a test of a condition, which must describe the
// last generation if it states one.
func conditionExpression(t fleet.HealthTest) string {
	parts := []string{"c.type == " + strconv.Quote(t.Type), "c.status == " + strconv.Quote(t.Status)}
	if len(t.Reasons) > 0 {
		parts = append(parts, "has(c.reason) && c.reason in ["+strings.Join(diag.Each(t.Reasons, strconv.Quote), ", ")+"]")
	}
	parts = append(parts, "(!has(c.observedGeneration) || c.observedGeneration == metadata.generation)")
	return "has(status.conditions) && status.conditions.exists(c, " + strings.Join(parts, " && ") + ")"
}

// A rule is a health rule that is compiled when it is first used.
type rule struct {
	fleet.HealthRule
	programs func() (programs, error)
}

// programs are the compiled expressions of a rule; nil for empty ones.
type programs struct{ current, inProgress, failed *program }

func newRule(h fleet.HealthRule) *rule {
	return &rule{h, sync.OnceValues(func() (p programs, err error) {
		e := healthRuleExpressions(h)
		for _, x := range []struct {
			text string
			into **program
		}{{e.Current, &p.current}, {e.InProgress, &p.inProgress}, {e.Failed, &p.failed}} {
			if x.text == "" {
				continue
			}
			if *x.into, err = compile(x.text); err != nil {
				return programs{}, err
			}
		}
		return p, nil
	})}
}

// judge evaluates the rule.
func (r *rule) judge(u *unstructured.Unstructured) HealthVerdict {
	p, err := r.programs()
	if err != nil { // reported by CheckHealthRules
		return HealthVerdict{HealthInProgress, "rule " + r.Name + ": " + clean(err.Error())}
	}
	for _, x := range []struct {
		*program
		tests []fleet.HealthTest
		state HealthState
	}{{p.inProgress, r.Progressing, HealthInProgress}, {p.failed, r.Failed, HealthFailed}, {p.current, r.Ready, HealthReady}} {
		if x.program == nil {
			continue
		}
		holds, err := x.eval(u.Object)
		switch {
		case err != nil:
			return HealthVerdict{HealthInProgress, evalFailure(u, err)}
		case holds:
			return HealthVerdict{x.state, explainTests(u, x.tests, true)}
		}
	}
	return HealthVerdict{HealthInProgress, explainTests(u, r.Ready, false)}
}

// evalFailure explains why an expression cannot be evaluated.
func evalFailure(u *unstructured.Unstructured, err error) string {
	if fieldValue(u, "status") == nil {
		return "it has no status yet"
	}
	return "its rule cannot be evaluated yet: " + clean(err.Error())
}

// explainTests explains why tests hold, or do not hold.
func explainTests(u *unstructured.Unstructured, tests []fleet.HealthTest, hold bool) string {
	var absent, expressions []string
	for _, t := range tests {
		if t.Type == "" {
			expressions = append(expressions, clean(t.Expression))
			continue
		}
		c, found := conditionOf(u, t.Type)
		switch {
		case !found:
			absent = append(absent, clean(t.Type))
		case satisfies(c, t) == hold:
			return c.describe()
		}
	}
	if len(absent) > 0 && !hold {
		return "it has no condition " + list(absent) + " yet"
	}
	// The condition Ready is more informative than an expression.
	c, found := conditionOf(u, "Ready")
	switch {
	case found && c.status != "True":
		return c.describe()
	case hold:
		return "the tests of its rule hold: " + list(expressions)
	}
	return "the tests of its rule do not hold yet: " + list(expressions)
}

// satisfies reports whether a condition satisfies a test.
func satisfies(c condition, t fleet.HealthTest) bool {
	return c.holds(t.Status) && (len(t.Reasons) == 0 || slices.Contains(t.Reasons, c.reason))
}
