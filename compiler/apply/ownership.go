package apply

import (
	"context"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
)

// owned returns the paths of the object that its release takes, or leaves to
// others.
func (it *Item) owned(leave bool) [][]fleet.Step {
	if it.release == nil || it.object == nil {
		return nil
	}
	var out [][]fleet.Step
	for _, o := range it.release.Ownership {
		if o.Leave != leave || !o.Target.Matches(fleet.Object{Unstructured: it.object, Release: it.release}) {
			continue
		}
		for _, f := range o.Fields {
			path := f.Path
			if isSecret(it.object) && path[0].Key == "stringData" {
				path = append([]fleet.Step{{Key: "data"}}, path[1:]...) // see asStored
			}
			out = append(out, path)
		}
	}
	return out
}

// leaving returns the object without the fields that the release leaves to
// others, as far as others have them of the one that is there.
func (it *Item) leaving(was *unstructured.Unstructured) *unstructured.Unstructured {
	paths := it.owned(true)
	if was == nil || len(paths) == 0 {
		return it.object
	}
	former := takesField(it.former(was))
	others := fieldsWhere(was, func(m metav1.ManagedFieldsEntry) bool {
		return !isOwn(m) && !(it.takeover.handed && former(m))
	})
	left := any(it.object.Object)
	for _, path := range paths {
		left, _ = withoutAt(left, path, others)
	}
	out, _ := left.(map[string]any)
	return &unstructured.Unstructured{Object: out}
}

// immutable decides about an object with a field that cannot change.
func (p *planner) immutable(ctx context.Context, it *Item, was *unstructured.Unstructured, why string) error {
	it.Action, it.Reason = Immutable, why
	it.Hint = "change it back, or allow it to be made anew, with replace of the release"
	if was == nil || fleet.IsProtected(it.kind()) {
		it.Hint = "change it back, or delete the object yourself: a " + it.ref.Kind + " is never made anew"
		return nil
	}
	if !it.release.MayReplace(fleet.Object{Unstructured: it.object}) {
		return nil
	}
	if action, annotation := p.pruneOrKeep(it.kind(), was); action == Keep {
		it.Hint = "it is not made anew, for it says " + annotation
		return nil
	}
	owner, err := p.lostTo(ctx, it, was)
	if err != nil {
		return err
	}
	if owner != "" && !it.Adopts {
		it.Hint = owner + " owns it now, so that it is not recreated: change it back, or take it from there first"
		return nil
	}
	it.Action, it.Hint, it.After, it.Found = Replace, "", it.object, false
	return nil
}

// Shown returns what to compare to see what happens to the object: either may be
// nil. One that is being deleted is not there. Of one that is made anew it is what
// fleetc has of it; the rest is added to the new one as well. Fields that the
// release leaves to others and the bundle does not have are in neither.
func (it *Item) Shown() (before, after *unstructured.Unstructured) {
	before, after = it.withoutLeft(it.Before, it.After)
	before, after = Content(before), Content(after)
	if isGoing(it.Before) && it.Action != Prune {
		return nil, after
	}
	if it.Action != Replace {
		return before, after
	}
	own := fieldsWhere(it.Before, isOwn)
	if fields, ok := only(before.Object, own).(map[string]any); ok && own != nil {
		shown := &unstructured.Unstructured{Object: fields}
		shown.SetGroupVersionKind(before.GroupVersionKind())
		shown.SetNamespace(before.GetNamespace())
		shown.SetName(before.GetName())
		before = shown
	}
	return before, after
}

// takes reports whether the release takes all of the fields.
func (it *Item) takes(fields []live.Field) bool { return covers(it.owned(false), fields) }

// covers reports whether all fields are at one of the paths, or below it.
func covers(paths [][]fleet.Step, fields []live.Field) bool {
	return !slices.ContainsFunc(fields, func(f live.Field) bool {
		return !slices.ContainsFunc(paths, func(path []fleet.Step) bool { return leadsTo(path, f.Path) })
	})
}

// leadsTo reports whether a field, as an API server writes it, is what a path
// leads to, or below it: .spec.containers[name="app"].image. Keys with dots in
// them are not told from several there.
func leadsTo(path []fleet.Step, field string) bool {
	for _, s := range path {
		if s.Key != "" {
			rest, ok := strings.CutPrefix(field, "."+s.Key)
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				return false
			}
			field = rest
			continue
		}
		rest, ok := strings.CutPrefix(field, "[")
		has := map[string]string{}
		for ok && !strings.HasPrefix(rest, "]") {
			var key, value string
			key, rest, ok = strings.Cut(strings.TrimPrefix(rest, ","), "=")
			if value, rest, ok = keyValue(rest, ok); ok {
				has[key] = value
			}
		}
		if !ok {
			return false
		}
		for k, want := range s.Fields {
			if v, is := has[k]; !is || v != want {
				return false
			}
		}
		field = rest[1:]
	}
	return true
}

// keyValue reads a value of the key of a list's element: "app", 80.
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
