package apply

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// ownershipPaths returns the paths of fields that the release takes or, with leave,
// leaves to others, and those that a tool that delivers the object keeps.
func (it *Item) ownershipPaths(leave bool) [][]fleet.Step {
	if it.release == nil || it.object == nil {
		return nil
	}
	var out [][]fleet.Step
	if leave {
		out = slices.Clone(it.takeover.kept)
	}
	for _, o := range it.release.Ownership {
		if o.Leave != leave || !o.Target.Matches(fleet.Object{Unstructured: it.object, Release: it.release}) {
			continue
		}
		for _, f := range o.Fields {
			path := f.Path
			if fleet.IsSecret(it.object) && path[0].Key == "stringData" {
				path = append([]fleet.Step{{Key: "data"}}, path[1:]...) // see asStored
			}
			out = append(out, path)
		}
	}
	return out
}

// objectToApply returns the object without the fields that the release leaves to
// others, if others have them in the live object.
func (it *Item) objectToApply(before *unstructured.Unstructured) *unstructured.Unstructured {
	paths := it.ownershipPaths(true)
	if before == nil || len(paths) == 0 {
		return it.object
	}
	former := isOneOf(it.formerManagers(before))
	others := fieldsWhere(before, func(m metav1.ManagedFieldsEntry) bool {
		return !isOwn(m) && !(it.takeover.handed && former(m))
	})
	content := any(it.object.Object)
	for _, path := range paths {
		content, _ = removeFieldsAt(content, path, others)
	}
	out, _ := content.(map[string]any)
	return &unstructured.Unstructured{Object: out}
}

// planImmutable plans an object with a changed immutable field.
func (p *planner) planImmutable(ctx context.Context, it *Item, before *unstructured.Unstructured, why string) error {
	it.Action, it.Reason = Immutable, why
	it.Hint = "change it back, or list its kind under replace of the release to have it recreated"
	if before == nil || fleet.IsProtected(it.kind()) {
		it.Hint = "change it back, or delete the object yourself: a " + it.ref.Kind + " is never recreated"
		return nil
	}
	if !it.release.MayReplace(fleet.Object{Unstructured: it.object}) {
		return nil
	}
	if action, annotation := p.pruneOrKeep(it.kind(), before); action == Keep {
		it.Hint = "change it back, or remove " + annotation + ", so that fleetc may recreate it"
		return nil
	}
	owner, err := p.newOwner(ctx, it, before)
	if err != nil {
		return err
	}
	if owner != "" && !it.Adopts {
		it.Hint = "change it back, or stop " + owner + " from managing it: fleetc does not recreate objects of others"
		return nil
	}
	it.Action, it.Hint, it.After, it.Preexisting, it.adopted = Replace, "", it.object, false, false
	return nil
}

// DisplayStates returns the two states to compare for display; either may be nil.
// An object that is being deleted counts as missing. For a recreated object, before
// has only fleetc's fields: controllers and defaults add the rest again. Neither
// state has fields that the release leaves to others and that are not in the
// bundle.
func (it *Item) DisplayStates() (before, after *unstructured.Unstructured) {
	before, after = it.withoutLeftFields(it.Before, it.After)
	before, after = Content(before), Content(after)
	if isBeingDeleted(it.Before) && it.Action != Prune {
		return nil, after
	}
	if it.Action != Replace {
		return before, after
	}
	own := fieldsWhere(it.Before, isOwn)
	if fields, ok := keepFields(before.Object, own).(map[string]any); ok && own != nil {
		shown := &unstructured.Unstructured{Object: fields}
		shown.SetGroupVersionKind(before.GroupVersionKind())
		shown.SetNamespace(before.GetNamespace())
		shown.SetName(before.GetName())
		before = shown
	}
	return before, after
}

// takes reports whether the release takes all of the fields.
func (it *Item) takes(fields []cluster.Field) bool { return covers(it.ownershipPaths(false), fields) }

// covers reports whether each field is at one of the paths or below it.
func covers(paths [][]fleet.Step, fields []cluster.Field) bool {
	return !slices.ContainsFunc(fields, func(f cluster.Field) bool {
		return !slices.ContainsFunc(paths, func(path []fleet.Step) bool { return isAtOrBelow(path, f.Path) })
	})
}

// isAtOrBelow reports whether a field in the API server's notation, such as
// .spec.containers[name="app"].image, is at or below a path. The notation does not
// distinguish a key with dots from several keys.
func isAtOrBelow(path []fleet.Step, field string) bool {
	for _, s := range path {
		if s.Key != "" {
			rest, ok := strings.CutPrefix(field, "."+s.Key)
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				return false
			}
			field = rest
			continue
		}
		fields, rest, ok := cutSelector(field)
		if !ok {
			return false
		}
		for k, want := range s.Fields {
			if v, ok := fields[k]; !ok || v != want {
				return false
			}
		}
		field = rest
	}
	return true
}

// cutSelector parses the selector of a list element at the start of a text in the API
// server's notation: [name="app"].
func cutSelector(text string) (fields map[string]string, rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, "[")
	fields = map[string]string{}
	for ok && !strings.HasPrefix(rest, "]") {
		var key, value string
		key, rest, ok = strings.Cut(strings.TrimPrefix(rest, ","), "=")
		if value, rest, ok = keyValue(rest, ok); ok {
			fields[key] = value
		}
	}
	if !ok {
		return nil, "", false
	}
	return fields, rest[1:], true
}

// withPaths returns the fields with paths for [fleet.ParseSteps] in place of those in the
// API server's notation. The object of the bundle or the live one has the field, and
// shows which dots are in keys.
func (it *Item) withPaths(fields []cluster.Field, before *unstructured.Unstructured) []cluster.Field {
	out := slices.Clone(fields)
	for i, f := range out {
		for _, o := range []*unstructured.Unstructured{it.object, before} {
			if o == nil {
				continue
			}
			if path, ok := stepsTo(o.Object, f.Path); ok {
				out[i].Path = fleet.StepsText(path)
				break
			}
		}
	}
	return out
}

// stepsTo returns the path to a field of a value, false if the value does not have it.
func stepsTo(v any, field string) ([]fleet.Step, bool) {
	if field == "" {
		return nil, true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			rest, ok := strings.CutPrefix(field, "."+k)
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if path, ok := stepsTo(v[k], rest); ok {
				return append([]fleet.Step{{Key: k}}, path...), true
			}
		}
	case []any:
		fields, rest, _ := cutSelector(field)
		step := fleet.Step{Fields: fields}
		for _, element := range v {
			if len(fields) == 0 || !step.Matches(element) {
				continue
			}
			if path, ok := stepsTo(element, rest); ok {
				return append([]fleet.Step{step}, path...), true
			}
		}
	}
	return nil, false
}

// keyValue parses the value of a list key: "app", 80.
func keyValue(text string, ok bool) (value, rest string, _ bool) {
	if quoted, err := strconv.QuotedPrefix(text); ok && err == nil {
		value, err = strconv.Unquote(quoted)
		return value, text[len(quoted):], err == nil
	}
	end := strings.IndexAny(text, ",]")
	if !ok || end <= 0 {
		return "", "", false
	}
	return text[:end], text[end:], true
}
