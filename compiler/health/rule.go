package health

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// Expressions say in CEL when an object is ready. They mean what they mean as
// healthCheckExprs of a Kustomization of Flux: an object that was changed since
// its controller looked is in progress; then InProgress, Failed and Current are
// asked in this order, the first that is true decides, and an object for which
// none is, or for which one has no answer, is in progress.
type Expressions struct {
	Current    string
	InProgress string // empty when it is not asked
	Failed     string // empty when it is not asked
}

// RuleExpressions returns what a rule says of objects that it matches; its
// Current is empty for a rule that leaves it to others.
func RuleExpressions(h fleet.HealthRule) Expressions {
	return Expressions{
		Current:    expression(h.Ready, " && "),
		InProgress: expression(h.Progressing, " || "),
		Failed:     expression(h.Failed, " || "),
	}
}

// Says returns what the rules say of an object: the expressions of the one that
// judges it, whose Current is empty when none does, and whether it is waited for.
func (r *Rules) Says(o fleet.Object) (e Expressions, waits bool) {
	rl, waits := r.find(o)
	if rl == nil {
		return Expressions{}, waits
	}
	return RuleExpressions(rl.HealthRule), waits
}

// expression returns tests in CEL.
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

// conditionExpression returns a test of one condition, which must be of the
// object's last generation where its controller tells.
func conditionExpression(t fleet.HealthTest) string {
	parts := []string{"c.type == " + strconv.Quote(t.Type), "c.status == " + strconv.Quote(t.Status)}
	if len(t.Reasons) > 0 {
		var quoted []string
		for _, r := range t.Reasons {
			quoted = append(quoted, strconv.Quote(r))
		}
		parts = append(parts, "has(c.reason) && c.reason in ["+strings.Join(quoted, ", ")+"]")
	}
	parts = append(parts, "(!has(c.observedGeneration) || c.observedGeneration == metadata.generation)")
	return "has(status.conditions) && status.conditions.exists(c, " + strings.Join(parts, " && ") + ")"
}

// A rule is one that can be asked.
type rule struct {
	fleet.HealthRule
	programs func() (programs, error)
}

// programs are the expressions of a rule, compiled; nil for those that are not
// asked.
type programs struct{ current, inProgress, failed *program }

func newRule(h fleet.HealthRule) *rule {
	return &rule{h, sync.OnceValues(func() (p programs, err error) {
		e := RuleExpressions(h)
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

// judge asks the rule.
func (r *rule) judge(u *unstructured.Unstructured) Verdict {
	p, err := r.programs()
	if err != nil { // which Check has reported
		return Verdict{InProgress, "rule " + r.Name + ": " + clean(err.Error())}
	}
	for _, x := range []struct {
		*program
		tests []fleet.HealthTest
		state State
	}{{p.inProgress, r.Progressing, InProgress}, {p.failed, r.Failed, Failed}, {p.current, r.Ready, Ready}} {
		if x.program == nil {
			continue
		}
		holds, err := x.holds(u.Object)
		switch {
		case err != nil:
			return Verdict{InProgress, unanswered(u, err)}
		case holds:
			return Verdict{x.state, because(u, x.tests, true)}
		}
	}
	return Verdict{InProgress, because(u, r.Ready, false)}
}

// unanswered says why an expression has no answer.
func unanswered(u *unstructured.Unstructured, err error) string {
	if at(u, "status") == nil {
		return "nobody has written a status yet"
	}
	return "its status does not tell yet: " + clean(err.Error())
}

// because says what makes tests hold, or keeps them from holding.
func because(u *unstructured.Unstructured, tests []fleet.HealthTest, hold bool) string {
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
		case meets(c, t) == hold:
			return c.says()
		}
	}
	if len(absent) > 0 && !hold {
		return "it has no condition " + list(absent) + " yet"
	}
	// What most controllers say of themselves tells more than an expression.
	c, found := conditionOf(u, "Ready")
	switch {
	case found && c.status != "True":
		return c.says()
	case hold:
		return "it is as its rule says: " + list(expressions)
	}
	return "it is not yet as its rule says: " + list(expressions)
}

// meets reports whether a condition is what a rule asks for.
func meets(c condition, t fleet.HealthTest) bool {
	return c.is(t.Status) && (len(t.Reasons) == 0 || slices.Contains(t.Reasons, c.reason))
}
