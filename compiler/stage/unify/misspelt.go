package unify

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// misspeltReleases reports releases without source and namespace: a lower layer misspells
// the name of a release, or sets values of a release that its clusters do not have. It also
// reports a release that has releases.
func (e *evaluation) misspeltReleases(v cue.Value) diag.List {
	var complete []string
	var faults diag.List
	parts := map[string]cue.Value{}
	e.releases(v, func(name string, release cue.Value) {
		switch {
		case name == "releases" && e.hasReleases(release):
			faults.Add(e.nestedReleases(v))
		case len(present(release, sourceFields...)) > 0:
			complete = append(complete, name)
		case !lookup(release, "namespace").Exists():
			parts[name] = release
		}
	})
	for name, release := range parts {
		d := &diag.Diag{
			Code: diag.CodeReleaseSource,
			At:   []diag.Pos{e.fieldPos(release)}, Path: "releases." + cue.Str(name).String(),
			Msg: "no layer sets a chart or another source for this release",
		}
		if near := diag.Nearest(name, complete); near != "" {
			d.Hint, d.Fixes = "did you mean "+near+"?", []diag.Fix{{Kind: diag.FixName, Old: name, New: near}}
		} else if e.onlyOverrides(release) {
			d.Hint = "set its source and namespace here or in a layer above, or remove the release here"
		} else {
			continue
		}
		faults.Add(d)
	}
	return faults
}

// onlyOverrides reports whether a release has values or defaults, and no other fields than
// those that the schema sets or requires.
func (e *evaluation) onlyOverrides(release cue.Value) bool {
	others := slices.DeleteFunc(fieldsIn(release), func(f namedValue) bool {
		return slices.Contains([]string{"values", "defaults", "delivery", "tests", "namespace"}, f.name)
	})
	return len(others) == 0 && (len(fieldsIn(lookup(release, "values"))) > 0 || lookup(release, "defaults").Exists())
}

// hasReleases reports whether a field of a release is a release itself.
func (e *evaluation) hasReleases(release cue.Value) bool {
	return slices.ContainsFunc(fieldsIn(release), func(f namedValue) bool {
		return !slices.Contains(e.releaseFields, f.name) && lookup(f.v, "namespace").Exists()
	})
}

// nestedReleases is the fault of releases that have a field releases, because a layer
// writes a part of a stack as their value.
func (e *evaluation) nestedReleases(v cue.Value) *diag.Diag {
	d := &diag.Diag{
		Code: diag.CodeUnknownField, Path: "releases.releases", Msg: "releases are nested in releases",
		Hint: "embed parts of a stack without a field: write STACK.parts, not releases: STACK.parts",
	}
	for _, c := range diag.Conjuncts(lookup(v, "releases")) {
		if p := valuePos(c); e.layerOf(p) != "" && lookup(c, "releases").Exists() {
			d.At = append(d.At, diag.CUEPos(e.root, p))
		}
	}
	return d
}

// oneSource is the message for a release without exactly one source. It is
// dropped when the release has other faults.
const oneSource = "a release must have exactly one source"

// withoutConsequences removes faults that other faults cause: all other faults
// of misspelt releases, faults of misplaced defaults, and those of misspelt fields.
func withoutConsequences(faults, layers, misspelt diag.List) diag.List {
	all := slices.Clone(faults)
	faults = slices.DeleteFunc(faults, func(d *diag.Diag) bool {
		within := func(e *diag.Diag) bool { return d.Path == e.Path || strings.HasPrefix(d.Path, e.Path+".") }
		return slices.ContainsFunc(misspelt, within) ||
			d.Msg == oneSource && slices.ContainsFunc(all, func(e *diag.Diag) bool { return e.Path == d.Path && e.Msg != d.Msg }) ||
			!slices.Contains(layers, d) && slices.ContainsFunc(layers, func(e *diag.Diag) bool {
				return within(e) && len(d.At) > 0 && d.At[0].File == e.At[0].File
			})
	})
	faults = withoutMisspelt(faults)
	return append(faults, misspelt...)
}

// withoutMisspelt removes faults of missing values that other faults report: the field or the
// stack is misspelt, or it is the same parameter of a stack.
func withoutMisspelt(faults diag.List) diag.List {
	var out diag.List
	for i, d := range faults {
		end := strings.LastIndex(d.Path, ".") + 1
		covers := func(e *diag.Diag) bool {
			if e.Hint == "did you mean "+d.Path[:max(0, end-1)]+"?" {
				return true
			}
			field, sibling := strings.CutPrefix(e.Path, d.Path[:end])
			return sibling && !strings.Contains(field, ".") && e.Hint == "did you mean "+d.Path[end:]+"?"
		}
		repeats := func(e *diag.Diag) bool { return e.Path == d.Path && e.Msg == d.Msg }
		if d.Code != diag.CodeMissingValue || !slices.ContainsFunc(faults, covers) && !slices.ContainsFunc(faults[:i], repeats) {
			out = append(out, d)
		}
	}
	return out
}
