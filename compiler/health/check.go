package health

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/kube"
)

// Check reports the rules of a cluster that can match nothing or say nothing,
// and expressions that do not compile, at the lines that write them.
func Check(c *fleet.Cluster) error {
	var faults diag.List
	check := func(path string, rules []fleet.HealthRule) {
		for _, h := range rules {
			at := path + "." + fleet.FieldText([]string{h.Name})
			faults = append(faults, checkKinds(at, h)...)
			faults = append(faults, checkTests(at, h)...)
		}
	}
	check("health", c.Health)
	for _, r := range c.Releases {
		check(r.Path("health"), r.Health)
	}
	return diag.In(c.ID, faults.Err())
}

// checkKinds looks for kinds that no cluster has.
func checkKinds(path string, h fleet.HealthRule) diag.List {
	var faults diag.List
	for _, name := range h.Match.Kinds {
		gk := schema.ParseGroupKind(name)
		if kube.HasKind(gk) || gk.Group != "" && !kube.HasGroup(gk.Group) {
			continue
		}
		kind := func(gk schema.GroupKind) string { return gk.String() }
		among := kube.GroupKinds()
		msg, hint := "Kubernetes has no kind "+name, "write a kind of your own with its API group, as in Certificate.cert-manager.io"
		if gk.Group == "" {
			if slices.ContainsFunc(among, func(k schema.GroupKind) bool { return k.Kind == gk.Kind }) {
				continue // of any group, as selectors take it
			}
			kind = func(gk schema.GroupKind) string { return gk.Kind }
		} else {
			among = slices.DeleteFunc(among, func(k schema.GroupKind) bool { return k.Group != gk.Group })
			hint = ""
		}
		var names []string
		for _, k := range among {
			names = append(names, kind(k))
		}
		if near := diag.DidYouMean(name, names); near != "" {
			hint = near
		}
		faults.Add(&diag.Diag{At: []diag.Pos{h.Pos}, Path: path, Msg: msg, Hint: hint})
	}
	return faults
}

// checkTests looks at what the rule says of objects.
func checkTests(path string, h fleet.HealthRule) diag.List {
	var faults diag.List
	wrong := func(at diag.Pos, field, msg, hint string) {
		faults.Add(&diag.Diag{At: []diag.Pos{at}, Path: path + field, Msg: msg, Hint: hint})
	}
	if len(h.Ready) == 0 {
		switch {
		case len(h.Failed)+len(h.Progressing) > 0:
			wrong(h.Pos, "", "the rule does not say when objects are ready", "give it ready")
		case h.Wait == nil && h.Timeout == 0:
			wrong(h.Pos, "", "the rule says nothing", "give it ready, wait or timeout")
		}
	}
	for _, f := range []struct {
		name  string
		tests []fleet.HealthTest
	}{{".ready", h.Ready}, {".progressing", h.Progressing}, {".failed", h.Failed}} {
		for i, t := range f.tests {
			if msg, hint := checkTest(t); msg != "" {
				wrong(t.Pos, f.name+"."+strconv.Itoa(i), msg, hint)
			}
		}
	}
	return faults
}

// checkTest says what is wrong with a test; "" when nothing is.
func checkTest(t fleet.HealthTest) (msg, hint string) {
	if (t.Type == "") == (t.Expression == "") {
		return "a test is either of a condition or an expression", `write {type: "Ready"}, or {expression: "status.phase == 'Running'"}`
	}
	if t.Type != "" {
		return "", ""
	}
	_, err := compile(t.Expression)
	if err == nil {
		return "", ""
	}
	if e, ok := errors.AsType[*compileError](err); ok && e.undefined != "" {
		hint = cmp.Or(diag.DidYouMean(e.undefined, variables), "write fields of the object, which begin with "+strings.Join(variables, ", "))
	}
	return clean(err.Error()), hint
}
