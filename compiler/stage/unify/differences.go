package unify

import (
	"path"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Differences evaluates a file of rules about allowed differences between
// clusters, and returns the rules sorted by name. Positions are relative to
// the absolute path root. The error contains all faults that CUE finds at
// once.
func Differences(root string, in *build.Instance) ([]fleet.DifferenceRule, error) {
	if err := checkCalls(root, in); err != nil {
		return nil, err
	}
	e := &evaluation{root: root, cctx: cuecontext.New()}
	only, err := e.definition("#Only")
	if err != nil {
		return nil, err
	}
	v := e.cctx.BuildInstance(in).Unify(only)
	if err := v.Validate(cue.Concrete(true)); err != nil {
		faults := diag.CUEFaults(root, err, v)
		for _, d := range faults {
			if d.Path == "differences" && (len(d.At) == 0 || diag.IsTypeFile(d.At[0].File)) && len(in.Files) > 0 {
				d.At = []diag.Pos{diag.CUEPos(root, in.Files[0].Pos())}
			}
		}
		return nil, faults.Err()
	}
	var faults diag.List
	var out []fleet.DifferenceRule
	for _, f := range fieldsOf(v, "differences") {
		at := "differences." + cue.Str(f.name).String()
		r := &differenceReader{root: root, at: at, faults: &faults}
		allow := lookup(f.v, "allow")
		rule := fleet.DifferenceRule{
			Name: f.name, Reason: textOf(f.v, "reason"), Pos: writtenPos(root, f.v),
			Between:  r.texts(f.v, ".", "between", clusterPattern),
			Releases: r.paths(allow, "releases"), Charts: r.paths(allow, "charts"), Values: r.paths(allow, "values"),
		}
		rule.Objects, rule.Checks = r.objects(allow)
		rule.Texts, rule.ObjectPos = r.releases, r.objectPos
		if len(rule.Between) == 0 {
			faults.Add(&diag.Diag{Code: diag.CodeMissingValue, At: []diag.Pos{rule.Pos}, Path: at + ".between", Msg: "is empty", Hint: `name some: between: ["prod"]`})
		}
		out = append(out, rule)
	}
	if len(out) == 0 {
		faults.Add(&diag.Diag{
			Code: diag.CodeMissingValue, At: []diag.Pos{writtenPos(root, lookup(v, "differences"))}, Path: "differences",
			Msg:  "has no rules",
			Hint: `write one: "prod": {between: ["prod"], allow: {}}`,
		})
	}
	return out, faults.Err()
}

// writtenPos returns the user's position of v.
func writtenPos(root string, v cue.Value) diag.Pos {
	for _, c := range diag.Conjuncts(v) {
		if pos := diag.CUEPos(root, labelPos(c)); pos.IsValid() && !diag.IsTypeFile(pos.File) {
			return pos
		}
	}
	return diag.CUEPos(root, labelPos(v))
}

// A differenceReader reads the parts of a rule.
type differenceReader struct {
	root, at  string
	faults    *diag.List
	releases  []fleet.MatchText
	objectPos []diag.Pos
}

// clusterPattern returns the fault of an invalid cluster pattern.
func clusterPattern(text string, _ diag.Pos) (msg, hint string) {
	if _, err := path.Match(text, ""); err != nil {
		return "cluster pattern " + text + " has a syntax error", `write it as in "prod/*" or "prod/eu-[12]"`
	}
	return "", ""
}

// texts reads a list of texts and reports those that are wrong.
func (r *differenceReader) texts(v cue.Value, below, field string, wrong func(text string, pos diag.Pos) (msg, hint string)) []string {
	var out []string
	for i, item := range items(lookup(v, field)) {
		text, _ := item.String()
		pos := writtenPos(r.root, item)
		if msg, hint := wrong(text, pos); msg != "" {
			*r.faults = append(*r.faults, &diag.Diag{
				Code: diag.CodeTextForm,
				At:   []diag.Pos{pos}, Path: r.at + below + field + "." + strconv.Itoa(i), Msg: msg, Hint: hint,
			})
		}
		out = append(out, text)
	}
	return out
}

func (r *differenceReader) paths(allow cue.Value, field string) []fleet.PathPattern {
	var out []fleet.PathPattern
	r.texts(allow, ".allow.", field, func(text string, pos diag.Pos) (msg, hint string) {
		p, ok := fleet.ParsePathPattern(text)
		if !ok {
			return "malformed path " + strconv.Quote(text), `write it as in "ingress.controller.replicaCount", with quotes around a key that contains a dot`
		}
		out = append(out, p)
		r.releases = append(r.releases, fleet.MatchText{Path: r.at + ".allow." + field, Field: "releases", Text: p[0], Pos: pos})
		return "", ""
	})
	return out
}

// objects reads the objects that may differ. checks reports whether the field
// is present.
func (r *differenceReader) objects(allow cue.Value) (out []fleet.Selector, checks bool) {
	list := lookup(allow, "objects")
	for i, item := range items(list) {
		for _, field := range []string{"names", "namespaces", "releases"} {
			r.texts(item, ".allow.objects."+strconv.Itoa(i)+".", field, func(text string, pos diag.Pos) (msg, hint string) {
				if field == "releases" {
					r.releases = append(r.releases, fleet.MatchText{Path: r.at + ".allow.objects", Field: field, Text: text, Pos: pos})
				}
				if _, err := path.Match(text, ""); err != nil {
					return "malformed pattern " + text, `write \ before a literal bracket`
				}
				return "", ""
			})
		}
		out = append(out, selectorFrom(item))
		r.objectPos = append(r.objectPos, writtenPos(r.root, item))
	}
	return out, list.Exists()
}

// ignoreRules reads diff.ignore or drift.ignore of the owner, which is a cluster or
// the release of. It adds faults that CUE does not report.
func (e *evaluation) ignoreRules(set fleet.RuleSet, owner cue.Value, of *fleet.Release, faults *diag.List) []fleet.IgnoreRule {
	var out []fleet.IgnoreRule
	field := string(set) + ".ignore"
	for _, f := range fieldsOf(owner, field) {
		r := fleet.IgnoreRule{Of: set, Name: f.name, Reason: textOf(f.v, "reason"), Match: selectorOf(f.v), Until: textOf(f.v, "until")}
		if of != nil {
			r.Release = of.Name
		}
		p := &patchReader{evaluation: e, release: owner, v: f.v, field: field, path: r.Path(), code: diag.CodeTextForm}
		r.Pos, r.Fields, r.Texts = p.place(p.v), p.fieldPaths(), e.matchTexts(f.v, p.path)
		checkMatch(f.v, p.wrongAs)
		checkUntil(f.v, p.wrongAs)
		*faults = append(*faults, p.faults...)
		out = append(out, r)
	}
	return out
}
