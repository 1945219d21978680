package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const maxFindings = 3 // fields of one object in a message; the rest is counted

// report adds the faults of a rule itself, of its violations and of its
// waivers.
func (r *policyRun) report(rl *rule) {
	at := policyPath(rl.Name)
	if rl.fault != "" {
		r.faults = append(r.faults, &diag.Diag{
			Code: diag.CodePolicyError,
			At:   diag.Positions(rl.faultAt, rl.Pos), Path: at, Msg: "the rule fails: " + rl.fault,
			Hint: "correct the rule: it must not fail for any object, whatever fields the object has",
		})
	}
	needed := make([]bool, len(rl.Waivers))
	for _, b := range rl.broken {
		waived := false
		for i, w := range rl.Waivers {
			if w.Match.Matches(b.Object) {
				waived, needed[i] = true, true
			}
		}
		if !waived {
			r.faults = append(r.faults, b.fault(rl))
		}
	}
	for i, w := range rl.Waivers {
		d := &diag.Diag{Code: diag.CodeWaiver, At: diag.Positions(w.Pos), Path: at + ".waivers." + fleet.Label(w.Name)}
		switch {
		case !needed[i] && rl.fault == "":
			d.Msg, d.Hint = "the waiver is not needed: no object that it matches breaks the rule", "remove it, or write it in the layers that need it"
		case needed[i] && r.today != "" && w.Until != "" && w.Until < r.today:
			d.Msg, d.Hint = "the waiver ended on "+w.Until, "change the objects, or set a later date in until"
		default:
			continue
		}
		r.faults = append(r.faults, d)
	}
}

// fault returns the fault of an object that violates a rule.
func (b breach) fault(rl *rule) *diag.Diag {
	msg, at := visible(rl.Message), rl.Pos
	var texts, named []string
	for _, f := range b.found {
		text := visible(f.text)
		if len(f.path) > 0 {
			field, items := b.written(f.path)
			text = strings.TrimSpace(field + " " + text)
			named = append(named, items...)
		}
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if len(texts) == 1 && f.line.IsValid() {
			at = f.line
		}
	}
	if n := len(texts) - maxFindings; n > 0 {
		texts = append(texts[:maxFindings], fmt.Sprintf("and %d more", n))
	}
	if len(texts) > 0 {
		msg += ": " + strings.Join(texts, "; ")
	}
	named = diag.Distinct(named)
	if origin := b.Origin(); origin != "" {
		named = append(named, origin)
	}
	if from := strings.Join(named, "; "); from != "" {
		msg += " (" + from + ")"
	}
	var cause error // the first field
	if i := slices.IndexFunc(b.found, func(f finding) bool { return len(f.path) > 0 }); i >= 0 {
		cause = &fleet.FieldError{Object: b.Object, Field: b.found[i].path}
	}
	return &diag.Diag{
		Code: diag.CodePolicy, Cause: cause,
		At: diag.Positions(b.Pos, at), Path: b.Object.Title(), Msg: msg,
		Hint: "change it, or waive the rule: policies: " + fleet.Label(rl.Name) + `: waivers: "...": {reason: "...", match: names: [` + strconv.Quote(visible(b.GetName())) + "]}",
		Fixes: []diag.Fix{{
			Kind: diag.FixWaiver, Path: "policies." + fleet.Label(rl.Name) + ".waivers." + strconv.Quote(b.GetName()),
			New: "{reason: " + strconv.Quote(diag.Reason) + ", match: names: [" + strconv.Quote(b.GetName()) + "]}",
		}},
	}
}

// written returns a path for messages, with the names of items on the path:
// spec.containers[0].image, containers[0] is web.
func (b breach) written(path []string) (string, []string) {
	steps := make([]step, len(path))
	var v any = b.plain
	for i, p := range path {
		_, inList := v.([]any)
		v, _ = fleet.Lookup(v, []string{p})
		steps[i] = inKey(p)
		if index, err := strconv.Atoi(p); inList && err == nil {
			steps[i] = step{index: index, item: v}
		}
	}
	return written(steps), namedItems(steps)
}

// policyPath returns the path of a policy in CUE syntax.
func policyPath(name string) string { return "policies." + fleet.Label(name) }
