package unify

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A comparison compares a field of clusters with a text in a condition, as in
// environment == "prod".
type comparison struct {
	field string // environment or cluster.name
	text  string
	pos   diag.Pos // of the text
}

// compare adds a comparison of the environment or the name of a cluster with a literal.
func (m *meaningCheck) compare(x, y ast.Expr) {
	lit, ok := y.(*ast.BasicLit)
	if !ok {
		return
	}
	id, field := firstSelector(x)
	if plain, ok := x.(*ast.Ident); ok {
		id = plain
	}
	if id == nil {
		return
	}
	name := strings.TrimSuffix(id.Name+"."+field, ".")
	if _, atTop := id.Scope.(*ast.File); id.Scope != nil && !atTop || name != "environment" && name != "cluster.name" {
		return
	}
	text, err := literal.Unquote(lit.Value)
	if err != nil {
		return
	}
	m.compared = append(m.compared, comparison{name, text, diag.CUEPos(m.root, lit.Pos())})
}

// comparisonChecks checks that a cluster has the compared texts.
func comparisonChecks(c *fleet.Cluster, compared []comparison) []fleet.RuleCheck {
	var out []fleet.RuleCheck
	for _, p := range compared {
		current, label := c.Environment, p.field
		if p.field == "cluster.name" {
			current, label = c.Name, "name"
		}
		check := fleet.RuleCheck{
			Path: p.field, Pos: p.pos, Holds: current == p.text,
			Msg: "no cluster with this condition has the " + label + " " + diag.Visible(p.text, diag.MaxText), Hint: "correct it, or remove the condition",
		}
		if near := diag.DidYouMean(p.text, []string{current}); near != "" {
			check.Near, check.Hint, check.Fixes = 1, near, diag.Respell(p.text, []string{current})
		}
		out = append(out, check)
	}
	return out
}
