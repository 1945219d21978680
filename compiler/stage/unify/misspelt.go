package unify

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// misspelt reports the releases that no layer gives a source or a namespace, and
// whose names are near that of a complete one: layers below write to a release
// that does not exist.
func (e *evaluation) misspelt(v cue.Value) diag.List {
	var complete []string
	var faults diag.List
	parts := map[string]cue.Value{}
	e.releases(v, func(name string, release cue.Value) {
		switch {
		case len(present(release, "chart", "jsonnet", "kustomize", "manifests", "objects")) > 0:
			complete = append(complete, name)
		case !lookup(release, "namespace").Exists():
			parts[name] = release
		}
	})
	for name, release := range parts {
		near := diag.Nearest(name, complete)
		if near == "" {
			continue
		}
		faults.Add(&diag.Diag{
			At: []diag.Pos{e.fieldPos(release)}, Path: "releases." + cue.Str(name).String(),
			Msg: "no layer gives this release a chart, or another source", Hint: "did you mean " + near + "?",
		})
	}
	return faults
}

// oneSource is said of a release without a source, or with several. That it has none
// may follow from what else is wrong with it.
const oneSource = "a release has exactly one source"

// withoutConsequences returns the faults with those of misspelt releases in
// place of all others of these releases, and without what else is wrong with
// defaults that stand at the wrong place.
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
	return append(faults, misspelt...)
}
