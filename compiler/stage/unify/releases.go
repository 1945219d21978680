package unify

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// sourceFields are the fields of a release of which it has exactly one.
var sourceFields = []string{"chart", "jsonnet", "kustomize", "manifests", "objects"}

// checkReleases reports faults of releases that CUE does not report: a release
// without exactly one source, and missing or disallowed fields next to other
// faults. The schema does not check the source, because a disjunction or
// matchN would hide faults inside it.
func (e *evaluation) checkReleases(v cue.Value) error {
	var faults diag.List
	e.releases(v, func(name string, release cue.Value) {
		path := "releases." + cue.Str(name).String()
		wrong := func(code diag.Code, v cue.Value, path, msg, hint string) {
			at := e.fieldPos(v)
			if diag.IsTypeFile(at.File) { // values of defaults alone
				at = e.fieldPos(firstField(v))
			}
			faults.Add(&diag.Diag{Code: code, At: []diag.Pos{at}, Path: path, Msg: msg, Hint: hint})
		}
		for _, c := range e.releaseParts(v, name, release) {
			for _, f := range literalFields(c) {
				name, _, err := ast.LabelName(f.Label)
				if err == nil && f.Constraint == 0 && !slices.Contains(e.releaseFields, name) && !internal(name) {
					faults.Add(&diag.Diag{
						Code: diag.CodeUnknownField,
						At:   []diag.Pos{diag.CUEPos(e.root, f.Pos())}, Path: path + "." + name,
						Msg: "field not allowed", Hint: diag.OneOf(name, e.releaseFields), Fixes: diag.Respell(name, e.releaseFields),
					})
				}
			}
		}
		if !lookup(release, "namespace").Exists() {
			wrong(diag.CodeMissingValue, release, path+".namespace", "field is required but not present", "")
		}
		set := present(release, sourceFields...)
		if len(set) == 0 {
			wrong(diag.CodeReleaseSource, release, path, oneSource, "set one of "+strings.Join(sourceFields, ", "))
		} else if len(set) > 1 {
			faults.Add(&diag.Diag{Code: diag.CodeReleaseSource, At: e.sourcePositions(release, set), Path: path, Msg: oneSource, Hint: "keep one of " + strings.Join(set, ", ")})
		}
		e.checkDelivery(release, path, wrong)
		if values := lookup(release, "values"); len(set) == 1 && len(present(release, "kustomize", "manifests")) > 0 && len(fieldNames(values)) > 0 {
			wrong(diag.CodeReleaseField, values, path+".values", "kustomizations and manifests do not accept values", "remove them, and use patches for changes")
		}
		if chart := lookup(release, "chart"); chart.Exists() && chart.Err() == nil && !isChart(chart) {
			wrong(diag.CodePin, chart, path+".chart", "a chart must have exactly one of path; repo, name, version and digest; git and digest",
				"run fleetc chart add, which writes all of a chart's fields")
		}
		if other := notObject(lookup(release, "objects")); other.Exists() {
			wrong(diag.CodeRenderedObject, other, other.Path().String(), "objects must be a map or a list, and each object a map",
				"write objects: app: {apiVersion: ..., kind: ...}")
		}
	})
	diag.ExplainCUE(e.root, faults, v)
	return faults.Err()
}

// sourcePositions returns the positions of the sources of a release, those in layers first.
func (e *evaluation) sourcePositions(release cue.Value, sources []string) []diag.Pos {
	var inLayers, imported []diag.Pos
	for _, s := range sources {
		if pos := e.fieldPos(lookup(release, s)); e.layerOfFile(pos.File) != "" {
			inLayers = append(inLayers, pos)
		} else {
			imported = append(imported, pos)
		}
	}
	return append(inLayers, imported...)
}

// checkDelivery reports fields of a release with delivery helm that Helm does
// not support.
func (e *evaluation) checkDelivery(release cue.Value, path string, wrong func(code diag.Code, v cue.Value, path, msg, hint string)) {
	const byHelm = ` with delivery: "helm"`
	if delivery, _ := lookup(release, "delivery").String(); delivery != string(fleet.ByHelm) {
		return
	}
	if len(present(release, "chart")) == 0 {
		wrong(diag.CodeReleaseField, lookup(release, "delivery"), path+".delivery", `delivery: "helm" requires a chart`, `remove delivery: "helm"`)
		return
	}
	for _, unsupported := range []struct{ field, msg, hint string }{
		{"patches", "patches are not supported" + byHelm, "use the chart's values, or deliver manifests"},
		{"ownership", "ownership is not supported" + byHelm + ": Helm owns every field that its chart sets", "remove it"},
		{"replace", "replace is not supported" + byHelm + ": Helm never recreates an object", "remove it"},
		{"random", "random is not supported" + byHelm + ": Helm generates random fields again at every upgrade", "remove it"},
		{"tests", "tests is not supported" + byHelm + ": Helm stores the test hooks, not the bundle", "run fleetc test"},
	} {
		v := lookup(release, unsupported.field)
		if on, _ := v.Bool(); on || len(fieldNames(v)) > 0 || v.IncompleteKind() == cue.ListKind {
			wrong(diag.CodeReleaseField, v, path+"."+unsupported.field, unsupported.msg, unsupported.hint)
		}
	}
}

var (
	chartVersion = regexp.MustCompile(`^(releases\..*\.chart)\.version$`)
	computedPin  = regexp.MustCompile(`^(releases\..*\.chart)\.(digest|git\.ref|schemas|dependencies)\b`)
	noVersion    = regexp.MustCompile(`^"([^"]+)" is not one of |^set to two different values, "`)
)

// explainUnpinned adds a hint to the fault of a chart version that the chart's
// package does not pin, or of several versions.
func explainUnpinned(d *diag.Diag, final cue.Value) {
	at, wanted := chartVersion.FindStringSubmatch(d.Path), noVersion.FindStringSubmatch(d.Msg)
	if at != nil && strings.HasPrefix(d.Msg, "has no value: ") {
		d.Hint = "set chart.version to one version that the package pins"
	}
	if at == nil || wanted == nil {
		return
	}
	name, err := final.LookupPath(cue.ParsePath(at[1] + ".name")).String()
	if err != nil {
		name = "NAME"
	}
	update := "run fleetc chart update " + name + " --version " + cmp.Or(wanted[1], "VERSION") + " --in LAYER"
	d.Hint = update + ", which adds a version to those that are pinned"
	if wanted[1] == "" {
		d.Hint = "remove one of the versions, or " + update + " to pin another one"
	}
}

// withoutComputedPins removes the faults of fields that a package looks up by the version of a
// chart, if the version has a fault.
func withoutComputedPins(faults diag.List) diag.List {
	return diag.Filter(faults, func(d *diag.Diag) bool {
		at := computedPin.FindStringSubmatch(d.Path)
		return at == nil || !slices.ContainsFunc(faults, func(other *diag.Diag) bool { return other.Path == at[1]+".version" })
	})
}

// notObject returns the first element of objects that is not an object, or objects if they
// are neither a map nor a list. Otherwise, the value does not exist.
func notObject(objects cue.Value) cue.Value {
	elems := []cue.Value{objects}
	switch objects.IncompleteKind() {
	case cue.StructKind:
		elems = nil
		for _, f := range fieldsIn(objects) {
			elems = append(elems, f.v)
		}
	case cue.ListKind:
		elems = items(objects)
	}
	i := slices.IndexFunc(elems, func(e cue.Value) bool {
		return e.IncompleteKind()&cue.StructKind == 0 && e.Err() == nil
	})
	if i < 0 {
		return cue.Value{}
	}
	return elems[i]
}

// isEmptyMap reports whether a value is a map in which comprehensions give no field. CUE
// does not evaluate it to a map if its type allows any value.
func isEmptyMap(v cue.Value) bool {
	return v.IncompleteKind() == cue.TopKind && slices.ContainsFunc(diag.Conjuncts(v), func(c cue.Value) bool {
		f, ok := c.Source().(*ast.Field)
		if !ok {
			return false
		}
		_, ok = f.Value.(*ast.StructLit)
		return ok
	})
}

// hasNoObjects reports whether a path is that of the objects of a release, and they are an
// empty map.
func hasNoObjects(final cue.Value, path []string) bool {
	if len(path) != 3 || path[0] != "releases" || path[2] != "objects" {
		return false
	}
	return isEmptyMap(final.LookupPath(cue.MakePath(cue.Str("releases"), cue.Str(strings.Trim(path[1], `"`)), cue.Str("objects"))))
}

// present returns the fields that exist in v.
func present(v cue.Value, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !lookup(v, n).Exists() })
}

// literalFields returns the fields of v if it is written as a struct.
func literalFields(v cue.Value) []*ast.Field {
	lit, ok := expression(v).(*ast.StructLit)
	if !ok {
		return nil
	}
	return fieldsNamed(lit.Elts, "")
}

// objectChecks checks that the releases with objects in CUE have at least one. Releases of
// imported packages may have none.
func (e *evaluation) objectChecks(c *fleet.Cluster, final cue.Value) []fleet.RuleCheck {
	var out []fleet.RuleCheck
	for _, r := range c.Releases {
		objects := final.LookupPath(cue.MakePath(cue.Str("releases"), cue.Str(r.Name), cue.Str("objects")))
		pos := e.fieldPos(objects)
		if !objects.Exists() || e.layerOfFile(pos.File) == "" {
			continue
		}
		out = append(out, fleet.RuleCheck{
			Path: r.Path("objects"), Pos: pos, Holds: len(r.Objects) > 0,
			Msg: "the release has no object in any cluster", Hint: "write an object, or remove the release",
		})
	}
	return out
}

// internal reports whether a field is hidden or a definition. Those are always
// allowed.
func internal(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") }

// firstField returns the first field of a struct, or the struct if it is
// empty.
func firstField(v cue.Value) cue.Value {
	if it, err := v.Fields(cue.Optional(true)); err == nil && it.Next() {
		return it.Value()
	}
	return v
}

// fieldNames returns the names of the fields of a struct, including optional
// fields.
func fieldNames(v cue.Value) []string {
	var names []string
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		names = append(names, it.Selector().Unquoted())
	}
	return names
}

// random reads the random field of a release.
func (e *evaluation) random(v cue.Value, release string, faults *diag.List) []fleet.RandomField {
	var out []fleet.RandomField
	for _, f := range fieldsIn(v) {
		at := f.v
		wrong := func(msg, hint string) {
			faults.Add(&diag.Diag{Code: diag.CodeRandomRule, At: []diag.Pos{e.fieldPos(at)}, Path: release + ".random." + cue.Str(f.name).String(), Msg: msg, Hint: hint})
		}
		object, text, _ := strings.Cut(f.name, " ")
		fields, ok := fleet.ParseField(text)
		if !ok {
			wrong(strconv.Quote(text)+" is not a valid field path", `write "Secret/name data.password", with keys that have dots in quotes`)
			continue
		}
		r := fleet.RandomField{Object: object, Field: fields, Pos: e.fieldPos(at)}
		switch set := present(at, "keep", "drop", "value"); {
		case len(set) != 1:
			wrong("exactly one of keep, drop and value is required", "write keep: true")
			continue
		case set[0] == "value":
			r.Action = fleet.SetRandom
			if t := e.reader().tree(lookup(at, "value")); t != nil {
				r.Value = t.Value()
			}
		case set[0] == "drop":
			r.Action = fleet.DropRandom
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b fleet.RandomField) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), slices.Compare(a.Field, b.Field))
	})
	return out
}
