package unify

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/errors"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// policies reads the policies of a final value without faults. in is the
// instance of the value.
func (e *evaluation) policies(in *build.Instance, final cue.Value) []fleet.Policy {
	all := fieldsOf(final, "policies")
	if len(all) == 0 {
		return nil
	}
	c := &ruleExtractor{evaluation: e, in: in, top: map[string]cue.Value{}, texts: map[ast.Decl]string{}}
	it, err := final.Fields(cue.Hidden(true), cue.Definitions(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		c.top[name(it.Selector())] = it.Value()
	}
	var out []fleet.Policy
	for _, f := range all {
		pos, own := c.place(f.name)
		at := "policies." + cue.MakePath(cue.Str(f.name)).String()
		p := fleet.Policy{Name: f.name, Message: textOf(f.v, "message"), Match: selectorOf(f.v), Texts: e.matchTexts(f.v, at), Pos: diag.CUEPos(e.root, pos)}
		p.Texts = append(p.Texts, e.readKinds(in, f.name, at)...)
		lines := ""
		if own {
			lines = e.ruleLines(f.v)
		}
		p.Source = c.ruleSource(f.name, lines)
		for _, w := range fieldsOf(f.v, "waivers") {
			p.Waivers = append(p.Waivers, fleet.PolicyWaiver{
				Name: w.name, Reason: textOf(w.v, "reason"), Match: selectorOf(w.v), Until: textOf(w.v, "until"),
				Texts: e.matchTexts(w.v, at+".waivers."+cue.MakePath(cue.Str(w.name)).String()), Pos: e.fieldPos(w.v),
			})
		}
		out = append(out, p)
	}
	return out
}

// readKinds returns the kinds that layers read in a policy at a path, as in objects.Service.
func (e *evaluation) readKinds(in *build.Instance, policy, at string) (out []fleet.MatchText) {
	ofPolicy := func(x ast.Expr) ast.Expr {
		if lit, ok := x.(*ast.StructLit); ok {
			return &ast.StructLit{Elts: selectDecls(lit.Elts, policy, unchanged, unchanged)}
		}
		return x
	}
	for _, f := range in.Files {
		for _, d := range selectDecls(f.Decls, "policies", ofPolicy, unchanged) {
			walkReferences(d, func(id *ast.Ident, kinds []string) {
				pos := diag.CUEPos(e.root, id.Pos())
				pos.Col += len("objects.")
				scope, ok := id.Scope.(*ast.StructLit)
				isRule := ok && len(fieldsNamed(scope.Elts, "violations")) > 0
				if id.Name == "objects" && len(kinds) > 0 && isRule && e.layerOfFile(pos.File) != "" {
					out = append(out, fleet.MatchText{Path: at + ".violations", Field: "objects", Text: kinds[0], Pos: pos})
				}
			})
		}
	}
	return out
}

// withoutPolicies returns the instance without files that contain only
// policies. It returns the instance itself if there are none, or if other
// declarations refer to policies.
func withoutPolicies(in *build.Instance) *build.Instance {
	bare := *in
	bare.Files = nil
	for _, f := range in.Files {
		policies, others := 0, 0
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.Package, *ast.ImportDecl, *ast.CommentGroup:
				continue
			case *ast.Field:
				if name, known := labelName(d); known && name == "policies" {
					policies++
					continue
				}
			}
			others++
			read := false
			walkReferences(d, func(id *ast.Ident, _ []string) { read = read || id.Name == "policies" })
			if read {
				return in
			}
		}
		if policies == 0 || others > 0 {
			bare.Files = append(bare.Files, f)
		}
	}
	if len(bare.Files) == len(in.Files) {
		return in
	}
	return &bare
}

// textOf returns the text of a field of v, or an empty string.
func textOf(v cue.Value, field string) string {
	s, _ := lookup(v, field).String()
	return s
}

// selectorOf reads the match of a policy or waiver.
func selectorOf(v cue.Value) fleet.Selector {
	return selectorFrom(lookup(v, "match"))
}

// selectorFrom reads an #ObjectSelector, which may be absent.
func selectorFrom(v cue.Value) fleet.Selector {
	var s fleet.Selector
	if v.Exists() && v.Decode(&s) != nil {
		return fleet.Selector{} // the schema reports it
	}
	return s
}

// policyFields are the fields of a policy, which is not called like one of them.
var policyFields = []string{"message", "match", "object", "objects", "violations", "waivers"}

// checkPolicies reports faults of policies that CUE does not report.
func (e *evaluation) checkPolicies(final cue.Value) error {
	var faults diag.List
	all := fieldsOf(final, "policies")
	var ruled []string
	for _, p := range all {
		if len(present(p.v, "object", "violations")) > 0 {
			ruled = append(ruled, p.name)
		}
	}
	nameless := false
	for _, p := range all {
		at := cue.MakePath(cue.Str("policies"), cue.Str(p.name)).String()
		wrong := func(code diag.Code, v cue.Value, field, msg, hint string) {
			faults.Add(&diag.Diag{Code: code, At: []diag.Pos{e.fieldPos(v)}, Path: at + field, Msg: msg, Hint: hint})
		}
		switch set := present(p.v, "object", "violations"); {
		case p.v.Err() != nil && p.v.Validate() == nil:
			continue // it refers to something that does not exist, which CUE reports
		case len(set) == 0 && !lookup(p.v, "message").Exists():
			if slices.Contains(policyFields, p.name) {
				if !nameless {
					wrong(diag.CodePolicyInvalid, p.v, "", "a policy must have a name", "write policies: NAME: "+p.name+": ...")
				}
				nameless = true
				continue
			}
			hint := cmp.Or(diag.OneOf(p.name, ruled), "add a message and a rule: object, or objects and violations")
			wrong(diag.CodePolicyInvalid, p.v, "", "no rule is called "+p.name, hint)
			faults[len(faults)-1].Fixes = diag.Respell(p.name, ruled)
			continue
		case len(set) != 1:
			wrong(diag.CodePolicyInvalid, p.v, "", "a policy must have exactly one rule", "set either object, or objects and violations")
		}
		if message := lookup(p.v, "message"); !message.Exists() {
			wrong(diag.CodeMissingValue, p.v, ".message", "field is required but not present", "say what is wrong with an object that breaks the rule, and what to do")
		}
		checkMatch(p.v, wrong)
		for _, w := range fieldsOf(p.v, "waivers") {
			field := ".waivers." + cue.MakePath(cue.Str(w.name)).String()
			checkUntil(w.v, func(code diag.Code, v cue.Value, at, msg, hint string) { wrong(code, v, field+at, msg, hint) })
			checkMatch(w.v, func(code diag.Code, v cue.Value, at, msg, hint string) { wrong(code, v, field+at, msg, hint) })
		}
	}
	return faults.Err()
}

// checkUntil reports a date that does not exist. The schema checks its form.
func checkUntil(v cue.Value, wrong func(code diag.Code, v cue.Value, field, msg, hint string)) {
	if until := textOf(v, "until"); until != "" && !isDate(until) {
		wrong(diag.CodeTextForm, lookup(v, "until"), ".until", until+" is not a valid date", "write it as in 2026-12-31")
	}
}

// checkMatch reports invalid patterns.
func checkMatch(v cue.Value, wrong func(code diag.Code, v cue.Value, field, msg, hint string)) {
	for _, field := range []string{"names", "namespaces", "releases"} {
		list := lookup(v, "match."+field)
		for _, item := range items(list) {
			pattern, _ := item.String()
			if _, err := path.Match(pattern, ""); err != nil {
				wrong(diag.CodeTextForm, list, ".match."+field, "malformed pattern "+pattern, `write \ before a literal bracket`)
			}
		}
	}
}

// checkRequired reports missing fields of a fleet with policies. CUE reports
// them only for values that are completely concrete.
func (e *evaluation) checkRequired(final cue.Value) error {
	var faults diag.List
	it, err := final.Fields(cue.Optional(true))
	if err != nil || !lookup(final, "policies").Exists() {
		return nil
	}
	for it.Next() {
		if s := it.Selector(); s.ConstraintType() == cue.RequiredConstraint {
			faults.Add(&diag.Diag{Code: diag.CodeMissingValue, At: []diag.Pos{e.fieldPos(it.Value())}, Path: s.Unquoted(), Msg: "field is required but not present", Hint: "set it"})
		}
	}
	return faults.Err()
}

// validate returns all conflicts, disallowed fields and incomplete values of
// the final value. Rules of policies may be incomplete.
func validate(final cue.Value) []errors.Error {
	it, err := final.Fields(cue.Optional(true)) // Optional avoids an error for a missing required field
	if err != nil || !lookup(final, "policies").Exists() {
		return errors.Errors(final.Validate(cue.Concrete(true)))
	}
	all := errors.Errors(final.Validate())
	for it.Next() {
		if s := it.Selector(); s.ConstraintType() == 0 && s.Unquoted() != "policies" {
			all = append(all, errors.Errors(it.Value().Validate(cue.Concrete(true)))...)
		}
	}
	all = append(all, errors.Errors(lookup(final, "policies").Err())...)
	for _, p := range fieldsOf(final, "policies") {
		all = append(all, errors.Errors(p.v.Err())...)
		for _, field := range nonRuleFields {
			if f := lookup(p.v, field); f.Exists() {
				all = append(all, errors.Errors(f.Validate(cue.Concrete(true)))...)
			}
		}
	}
	return all
}

// policyField matches the path of a field of a policy; the last group is # for a parameter.
var policyField = regexp.MustCompile(`^policies\.("[^"]*"|[^.]*)\.(#?)`)

// withoutComputed removes the faults of values that a policy computes from an invalid parameter.
func withoutComputed(faults diag.List) diag.List {
	invalid := map[string]bool{}
	for _, d := range faults {
		if m := policyField.FindStringSubmatch(d.Path); m != nil && m[2] != "" && (d.Code == diag.CodeConstraint || d.Code == diag.CodeWrongType) {
			invalid[m[1]] = true
		}
	}
	return slices.DeleteFunc(faults, func(d *diag.Diag) bool {
		m := policyField.FindStringSubmatch(d.Path)
		return m != nil && invalid[m[1]] && (d.Code == diag.CodeMissingValue || d.Code == diag.CodeExpression)
	})
}

// ruleLines returns the paths and positions of the fields of a policy's
// object, one per line.
func (e *evaluation) ruleLines(policy cue.Value) string {
	const maxLines, maxDepth = 200, 16
	var b strings.Builder
	lines := 0
	var walk func(v cue.Value, path string, depth int)
	walk = func(v cue.Value, path string, depth int) {
		pos := e.fieldPos(v)
		if lines++; lines > maxLines || depth > maxDepth || !pos.IsValid() || diag.IsTypeFile(pos.File) {
			return
		}
		b.WriteString(path + "\t" + pos.String() + "\n")
		if item := v.LookupPath(cue.MakePath(cue.AnyIndex)); item.Exists() {
			walk(item, path+".[]", depth+1)
		}
		it, err := v.Fields(cue.Optional(true))
		for err == nil && it.Next() {
			walk(it.Value(), path+"."+cue.Str(it.Selector().Unquoted()).String(), depth+1)
		}
	}
	if v := lookup(policy, "object"); v.Exists() {
		walk(v, "object", 0)
	}
	return b.String()
}
