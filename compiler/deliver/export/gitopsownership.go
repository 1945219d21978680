package export

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// leftFields returns the fields of an object that its release leaves to other managers.
func leftFields(o fleet.Object) []*fleet.FieldPath {
	var out []*fleet.FieldPath
	for i := range o.Release.Ownership {
		if own := &o.Release.Ownership[i]; own.Leave && own.Target.Matches(o) {
			for j := range own.Fields {
				out = append(out, &own.Fields[j])
			}
		}
	}
	return out
}

// leftToOthers returns a rule for each object with fields that its release leaves to others. rule
// gets the fields, and whether an object of the bundle has them: none has a timestamp of a webhook.
func leftToOthers(objs []fleet.Object, rule func(o fleet.Object, fields []*fleet.FieldPath, present map[*fleet.FieldPath]bool) map[string]any) []any {
	present := map[*fleet.FieldPath]bool{}
	for _, o := range objs {
		for _, f := range leftFields(o) {
			present[f] = present[f] || len(fleet.Elements(o.Object, f.Path)) > 0
		}
	}
	var rules []any
	for _, o := range objs {
		if fields := leftFields(o); len(fields) > 0 {
			if r := rule(o, fields, present); r != nil {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// fluxIgnore returns the ignore rule of a Kustomization or HelmRelease for an
// object, or nil when none applies. Flux cannot select list elements that the object
// lacks.
func fluxIgnore(o fleet.Object, fields []*fleet.FieldPath, present map[*fleet.FieldPath]bool) map[string]any {
	var paths []any
	for _, f := range fields {
		for _, p := range pointers(o.Object, "", f.Path, !present[f]) {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	target := fluxTarget(o)
	if o.GetNamespace() != "" {
		target["namespace"] = o.GetNamespace()
	}
	return map[string]any{"paths": paths, "target": target}
}

// fluxTarget returns the target of a patch or rule for an object in any namespace.
func fluxTarget(o fleet.Object) map[string]any {
	target := map[string]any{"kind": o.GetKind(), "name": regexp.QuoteMeta(o.GetName())}
	if group := o.GroupVersionKind().Group; group != "" {
		target["group"] = group
	}
	return target
}

// pointers returns the JSON pointers of a field path in v, which is at the pointer
// at. With absent, it includes fields that v lacks.
func pointers(v any, at string, path []fleet.Step, absent bool) []string {
	if len(path) == 0 {
		return []string{at}
	}
	s := path[0]
	if s.Key != "" {
		m, _ := v.(map[string]any)
		next, ok := m[s.Key]
		if !ok && !absent {
			return nil
		}
		return pointers(next, at+"/"+escaped(s.Key), path[1:], absent)
	}
	var out []string
	list, _ := v.([]any)
	for i, element := range list {
		if s.Matches(element) {
			out = append(out, pointers(element, at+"/"+strconv.Itoa(i), path[1:], absent)...)
		}
	}
	return out
}

// escaped escapes a key for a JSON pointer.
func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// argoIgnore returns the ignoreDifferences entry of an Application for an object.
func argoIgnore(o fleet.Object, fields []*fleet.FieldPath, _ map[*fleet.FieldPath]bool) map[string]any {
	rule := map[string]any{"kind": o.GetKind(), "name": o.GetName()}
	if group := o.GroupVersionKind().Group; group != "" {
		rule["group"] = group
	}
	if o.GetNamespace() != "" {
		rule["namespace"] = o.GetNamespace()
	}
	var expressions []any
	for _, f := range fields {
		expressions = append(expressions, jqPath(f.Path))
	}
	rule["jqPathExpressions"] = expressions
	return rule
}

// jqPath returns a field path as a jq expression.
func jqPath(path []fleet.Step) string {
	var b strings.Builder
	for i, s := range path {
		if s.Key != "" {
			b.WriteString("." + jqKey(s.Key))
			continue
		}
		var tests []string
		for _, key := range slices.Sorted(maps.Keys(s.Fields)) {
			tests = append(tests, fmt.Sprintf("(.%s | tostring) == %s", jqKey(key), strconv.Quote(s.Fields[key])))
		}
		fmt.Fprintf(&b, "[] | select(%s)", strings.Join(tests, " and "))
		if i+1 < len(path) {
			b.WriteString(" | ")
		}
	}
	return b.String()
}

// jqName matches keys that jq accepts without quotes.
var jqName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func jqKey(key string) string {
	if jqName.MatchString(key) {
		return key
	}
	return strconv.Quote(key)
}
