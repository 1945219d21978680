package kube

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// CheckHealthRules reports the rules of a cluster that cannot match or that have no effect,
// and expressions that do not compile, with their source positions.
func CheckHealthRules(c *fleet.Cluster) error {
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

// checkKinds reports kinds that do not exist.
func checkKinds(path string, h fleet.HealthRule) diag.List {
	var faults diag.List
	for _, name := range h.Match.Kinds {
		if near, ok := unknownKind(name); ok {
			d := &diag.Diag{
				Code: diag.CodeHealthRule, At: []diag.Pos{h.Pos}, Path: path, Msg: "Kubernetes has no kind " + name,
				Hint: "write a kind of your own with its API group, as in Certificate.cert-manager.io",
			}
			if near != "" {
				d.Hint, d.Fixes = "did you mean "+near+"?", []diag.Fix{{Kind: diag.FixName, Old: name, New: near}}
			}
			faults.Add(d)
		}
	}
	return faults
}

// unknownKind reports whether a kind does not exist, with the nearest one if any is similar.
// The groups of custom kinds have a dot, as CRDs require.
func unknownKind(name string) (near string, unknown bool) {
	gk := schema.ParseGroupKind(name)
	if HasKind(gk) || strings.Contains(gk.Group, ".") && !HasGroup(gk.Group) {
		return "", false
	}
	var ofKind, among []string
	for _, k := range GroupKinds() {
		if k.Kind == gk.Kind {
			ofKind = append(ofKind, k.String())
		}
		switch gk.Group {
		case "":
			among = append(among, k.Kind)
		case k.Group:
			among = append(among, k.String())
		}
	}
	if len(ofKind) > 0 {
		// Without a group, a name matches a kind of any group, as in selectors.
		return slices.Min(ofKind), gk.Group != ""
	}
	return diag.Nearest(name, among), true
}

// checkTests reports faults in the tests of a rule.
func checkTests(path string, h fleet.HealthRule) diag.List {
	var faults diag.List
	wrong := func(at diag.Pos, field, msg, hint string) {
		faults.Add(&diag.Diag{Code: diag.CodeHealthRule, At: []diag.Pos{at}, Path: path + field, Msg: msg, Hint: hint})
	}
	if len(h.Ready) == 0 {
		switch {
		case len(h.Failed)+len(h.Progressing) > 0:
			wrong(h.Pos, "", "the rule has no tests for ready", "set ready")
		case h.Wait == nil && h.Timeout == 0:
			wrong(h.Pos, "", "the rule has no effect", "set ready, wait or timeout")
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

// checkTest returns the fault of a test, "" when there is none.
func checkTest(t fleet.HealthTest) (msg, hint string) {
	if (t.Type == "") == (t.Expression == "") {
		return "a test must have either a condition type or an expression", `write {type: "Ready"}, or {expression: "status.phase == 'Running'"}`
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
	return clean(err.Error()), cmp.Or(hint, "write a test that is true or false, as in status.phase == 'Running'")
}

// customResource judges an object of an unknown kind by common conventions for
// conditions.
func customResource(u *unstructured.Unstructured) HealthVerdict {
	// These conditions of kstatus exist only while something is wrong.
	if c, found := conditionOf(u, "Stalled"); found && c.holds("True") {
		return HealthVerdict{HealthFailed, c.describe()}
	}
	if c, found := conditionOf(u, "Reconciling"); found && c.holds("True") {
		return HealthVerdict{HealthInProgress, c.describe()}
	}
	for _, kind := range []string{"Ready", "Available"} {
		c, found := conditionOf(u, kind)
		switch {
		case found && c.holds("True"):
			return HealthVerdict{HealthReady, c.describe()}
		case found:
			// It may or may not become ready.
			return HealthVerdict{HealthInProgress, c.describe()}
		}
	}
	if _, known := asInt(fieldValue(u, "status", "observedGeneration")); known {
		return HealthVerdict{HealthReady, "its controller has seen its last change"}
	}
	if status, _ := fieldValue(u, "status").(map[string]any); len(status) > 0 {
		return HealthVerdict{HealthUnknown, "its status has no condition Ready"}
	}
	return HealthVerdict{HealthUnknown, "it has no status yet"}
}

// statuslessKind returns the kind that a CRD defines, if none of its versions has a
// status.
func statuslessKind(u *unstructured.Unstructured) (gk schema.GroupKind, ok bool) {
	if u == nil || u.GroupVersionKind().GroupKind() != fleet.CRDKind {
		return gk, false
	}
	versions, _ := fieldValue(u, "spec", "versions").([]any)
	for _, item := range versions {
		m, isMap := item.(map[string]any)
		if !isMap {
			return gk, false
		}
		v := &unstructured.Unstructured{Object: m}
		root := fieldValue(v, "schema", "openAPIV3Schema")
		open, _ := fieldValue(v, "schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields").(bool)
		if root == nil || open || fieldValue(v, "subresources", "status") != nil || fieldValue(v, "schema", "openAPIV3Schema", "properties", "status") != nil {
			return gk, false
		}
	}
	gk = fleet.DefinedKind(u)
	return gk, len(versions) > 0 && gk.Kind != ""
}
