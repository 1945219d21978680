package query

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// shortKinds are the kinds of the short names that kubectl accepts.
var shortKinds = map[string]string{
	"cm":     "configmap",
	"crd":    "customresourcedefinition",
	"cj":     "cronjob",
	"deploy": "deployment",
	"ds":     "daemonset",
	"ep":     "endpoints",
	"hpa":    "horizontalpodautoscaler",
	"ing":    "ingress",
	"limits": "limitrange",
	"netpol": "networkpolicy",
	"ns":     "namespace",
	"pc":     "priorityclass",
	"pdb":    "poddisruptionbudget",
	"po":     "pod",
	"pv":     "persistentvolume",
	"pvc":    "persistentvolumeclaim",
	"quota":  "resourcequota",
	"rc":     "replicationcontroller",
	"rs":     "replicaset",
	"sa":     "serviceaccount",
	"sc":     "storageclass",
	"sts":    "statefulset",
	"svc":    "service",
}

// isKind reports whether an object has the named kind. The name may be in any case,
// singular or plural, short, and with or without the group.
func isKind(o fleet.Object, name string) bool {
	name, group, grouped := strings.Cut(strings.ToLower(name), ".")
	gk := o.GroupVersionKind().GroupKind()
	kind := strings.ToLower(gk.Kind)
	if grouped && group != strings.ToLower(gk.Group) {
		return false
	}
	plural := kind + "s"
	switch {
	case strings.HasSuffix(kind, "s") || strings.HasSuffix(kind, "x") || strings.HasSuffix(kind, "ch"):
		plural = kind + "es"
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay") && !strings.HasSuffix(kind, "ey"):
		plural = strings.TrimSuffix(kind, "y") + "ies"
	}
	return name == kind || name == plural || shortKinds[name] == kind
}

// nextObjects returns completions of the name of an object, with the kind as written in the
// text.
func nextObjects(objs []fleet.Object, text string) []string {
	kind, rest, named := strings.Cut(text, "/")
	var out []string
	for _, o := range objs {
		name := objectName(o)
		if _, unkinded, _ := strings.Cut(name, "/"); named && isKind(o, kind) && strings.HasPrefix(unkinded, rest) {
			out = append(out, kind+"/"+unkinded)
		} else if !named && strings.HasPrefix(name, text) {
			out = append(out, name)
		}
	}
	return diag.Distinct(out)
}

// objectName returns the name of an object for commands: kind/namespace/name, or kind/name
// for one without a namespace.
func objectName(o fleet.Object) string {
	parts := []string{strings.ToLower(o.GetKind()), o.GetNamespace(), o.GetName()}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}

// fullName is [objectName] with the group of the kind.
func fullName(o fleet.Object) string {
	kind, rest, _ := strings.Cut(objectName(o), "/")
	if group := o.GroupVersionKind().Group; group != "" {
		kind += "." + group
	}
	return kind + "/" + rest
}

// findObject returns the object with a name: kind/namespace/name, or kind/name if that is
// unambiguous. No match is a fault, and so are several.
func findObject(objs []fleet.Object, cluster, name string) (fleet.Object, error) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return fleet.Object{}, &diag.Diag{Code: diag.CodeFieldPath, Msg: "invalid object name " + strconv.Quote(name), Hint: "write it as kind/namespace/name, or kind/name"}
	}
	found := diag.Filter(objs, func(o fleet.Object) bool {
		return isKind(o, parts[0]) && o.GetName() == parts[len(parts)-1] && (len(parts) == 2 || o.GetNamespace() == parts[1])
	})
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return fleet.Object{}, &diag.Diag{
			Code: diag.CodeNoMatch,
			Msg:  fmt.Sprintf("cluster %s has no object %s", cluster, name), Hint: objectHint(objs, parts),
		}
	}
	names := diag.Each(found, fullName)
	slices.Sort(names)
	return fleet.Object{}, &diag.Diag{
		Code: diag.CodeSeveralMatches,
		Msg:  fmt.Sprintf("cluster %s has %d objects %s", cluster, len(found), name),
		Hint: cmp.Or(diag.OneOf(name, names), "name the namespace, and the group of the kind"),
	}
}

// objectHint returns a hint for the name of an object that does not exist.
func objectHint(objs []fleet.Object, parts []string) string {
	kind, name := strings.ToLower(parts[0]), parts[len(parts)-1]
	var ofKind, named, all, kinds []string
	for _, o := range objs {
		full := objectName(o)
		all = append(all, full)
		kinds = append(kinds, strings.ToLower(o.GetKind()))
		if isKind(o, kind) {
			ofKind = append(ofKind, full)
		}
		if o.GetName() == name {
			named = append(named, full)
		}
	}
	if len(ofKind) > 0 {
		return nearObject(ofKind, parts[1:])
	}
	slices.Sort(named)
	whole := strings.Join(parts, "/")
	return cmp.Or(diag.DidYouMean(whole, all), diag.DidYouMean(kind, diag.Distinct(kinds)), diag.OneOf(whole, named), nearObject(all, parts[1:]))
}

// nearObject returns a hint that names the object with the nearest name, in any namespace.
// If no name is near, it lists a few objects, preferably of the namespace and with similar
// names. It returns "" if there are no objects.
func nearObject(among, parts []string) string {
	const most = 5
	name := parts[len(parts)-1]
	var names []string
	full := map[string]string{}
	slices.Sort(among)
	for _, of := range among {
		base := path.Base(of)
		names = append(names, base)
		// An object in the given namespace is preferred.
		if full[base] == "" || len(parts) > 1 && strings.HasSuffix(of, "/"+parts[0]+"/"+base) {
			full[base] = of
		}
	}
	near := diag.Nearest(name, names)
	if slices.Contains(names, name) {
		near = name
	}
	if near != "" {
		return "did you mean " + full[near] + "?"
	}
	begin := func(of string) (n int) {
		_, of, _ = strings.Cut(of, "/")
		if len(parts) == 1 {
			of = path.Base(of)
		}
		for text := strings.Join(parts, "/"); n < min(len(text), len(of)) && text[n] == of[n]; {
			n++
		}
		if strings.Contains(path.Base(of), name) {
			n += len(name)
		}
		return n
	}
	if in := slices.DeleteFunc(slices.Clone(among), func(of string) bool { return len(parts) == 1 || path.Base(path.Dir(of)) != parts[0] }); len(in) > 0 {
		among = in
	}
	slices.SortStableFunc(among, func(a, b string) int { return begin(b) - begin(a) })
	if len(among) == 0 {
		return ""
	}
	return "use one of " + strings.Join(among[:min(len(among), most)], ", ")
}
