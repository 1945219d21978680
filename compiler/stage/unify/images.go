package unify

import (
	"errors"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// images reads the policies of images, and adds faults that CUE does not report. The
// cluster gets the selectors of all policies, and the policies that select it.
func (e *evaluation) images(v cue.Value, c *fleet.Cluster, faults *diag.List) {
	for _, f := range fieldsOf(v, "images") {
		if f.v.Validate(cue.Concrete(true)) != nil {
			continue // CUE reports it
		}
		p := fleet.ImagePolicy{Image: f.name, Pos: e.policyPos(e.posIn(v, f.v), f.v)}
		p.Digest, _ = lookup(f.v, "digest").Bool()
		p.Rule = e.tagRule(&p, lookup(f.v, "policy"), faults)
		if hint := repositoryHint(f.name); hint != "" {
			faults.Add(&diag.Diag{
				Code: diag.CodeUpdateRule,
				At:   []diag.Pos{p.Pos}, Path: p.PolicyPath(), Msg: diag.Visible(f.name, diag.MaxText) + " is not a valid image repository", Hint: hint,
			})
		}
		if lookup(f.v, "environments").Exists() {
			s := e.clusterSelector(f.v, p.PolicyPath(), faults)
			s.Image = f.name
			c.Selectors = append(c.Selectors, s)
			if !s.Selects(c) {
				continue
			}
		}
		for _, other := range c.Images {
			if fleet.FullImageName(other.Image) == fleet.FullImageName(p.Image) {
				faults.Add(&diag.Diag{
					Code: diag.CodeUpdateRule,
					At:   []diag.Pos{p.Pos, other.Pos}, Path: p.PolicyPath(),
					Msg:  diag.Visible(other.Image, diag.MaxText) + " and " + diag.Visible(p.Image, diag.MaxText) + " are the same image, and each has a policy",
					Hint: "merge the policies under one name",
				})
			}
		}
		c.Images = append(c.Images, p)
	}
}

// policyPos returns the position of the field of an image that sets the effective rule, or
// the digest without a rule.
func (e *evaluation) policyPos(otherwise diag.Pos, v cue.Value) diag.Pos {
	rule := lookup(v, "policy")
	for _, field := range []cue.Value{
		lookup(rule, "never"), lookup(rule, "semver"), lookup(rule, "numerical"), lookup(rule, "alphabetical"), lookup(rule, "pattern"), lookup(v, "digest"),
	} {
		if !field.Exists() {
			continue
		}
		source := e.sourcePos(field)
		for _, part := range diag.Conjuncts(v) {
			n := part.Source()
			if n != nil && e.layerOf(source) != "" && n.Pos().Filename() == source.Filename() && n.Pos().Offset() <= source.Offset() && source.Offset() < n.End().Offset() {
				return diag.CUEPos(e.root, n.Pos())
			}
		}
		return otherwise
	}
	return otherwise
}

// repositoryHint returns a hint for a text that is not a valid image repository.
func repositoryHint(text string) string {
	r := fleet.ParseImage(text)
	switch {
	case fleet.IsImageRepository(text):
		return ""
	case r.Suffix() != "" && fleet.IsImageRepository(r.Repository):
		return "write it without tag and digest: " + r.Repository
	case fleet.IsImageRepository(strings.ToLower(text)):
		return "write it in lower case: " + strings.ToLower(text)
	}
	return `write it as in "ghcr.io/example/app"`
}

// tagRule reads the rule of a policy.
func (e *evaluation) tagRule(p *fleet.ImagePolicy, v cue.Value, faults *diag.List) fleet.TagRule {
	r := fleet.TagRule{
		Semver: textOf(v, "semver"), Pattern: textOf(v, "pattern"), Numerical: textOf(v, "numerical"), Alphabetical: textOf(v, "alphabetical"), Never: textOf(v, "never"),
	}
	if set := present(v, "semver", "numerical", "alphabetical", "never"); len(set) > 1 {
		faults.Add(&diag.Diag{
			Code: diag.CodeUpdateRule,
			At:   []diag.Pos{e.fieldPos(lookup(v, set[0])), e.fieldPos(lookup(v, set[1]))}, Path: p.PolicyPath("policy"),
			Msg: "has " + strings.Join(set, " and ") + ", which exclude each other", Hint: "remove all but one",
		})
		return r
	}
	_, err := fleet.CompileTagRule(r)
	if wrong, ok := errors.AsType[*fleet.TagRuleError](err); ok {
		faults.Add(&diag.Diag{
			Code: diag.CodeUpdateRule,
			At:   []diag.Pos{e.fieldPos(lookup(v, wrong.Field))}, Path: p.PolicyPath("policy", wrong.Field), Msg: wrong.Msg, Hint: wrong.Hint,
		})
	}
	return r
}
