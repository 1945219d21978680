package render

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// failedAt matches the places that an error of text/template names: the template's path, and
// the expression that failed.
var failedAt = regexp.MustCompile(`([^\s:]+):\d+:\d+: executing "[^"]*" at <([^>]*)>`)

// readsValue matches an expression that is one of the values or evaluates one as a template.
var readsValue = regexp.MustCompile(`^(?:tpl )?\$?\.Values((?:\.\w+)+)(?: [$.])?$`)

// blame places the fault of a template that fails at the user's value that it reads, if the
// error names one: "wrong type for value" at <.Values.image.tag>. It can also be above what the
// template reads, such as a null, which removes the map of the chart.
func (j *job) blame(d *diag.Diag) {
	places := failedAt.FindAllStringSubmatch(d.Msg, -1)
	for _, place := range slices.Backward(places) {
		read := readsValue.FindStringSubmatch(place[2])
		if read == nil {
			continue
		}
		path := append(dependenciesOf(place[1]), strings.Split(read[1], ".")[1:]...)
		at, depth := j.release.Values.Lookup(path...)
		if at == nil || !at.Pos.IsValid() || depth < len(path) && at.IsMap() {
			continue
		}
		d.At = []diag.Pos{at.Pos}
		d.Path = j.release.Path(append([]string{"values"}, path[:depth]...)...)
		d.Hint = "correct this value, which the template reads, or correct the template"
		if at.Value() == nil {
			d.Hint = "remove it, or set the fields that differ: null removes the default of the chart, which the template needs"
		}
		return
	}
}

// dependenciesOf returns the names of the dependencies in the path of a template:
// app/charts/db/templates/a.yaml is one of db.
func dependenciesOf(template string) []string {
	var names []string
	parts := strings.Split(template, "/")
	for i := 1; i+1 < len(parts) && parts[i] == "charts"; i += 2 {
		names = append(names, parts[i+1])
	}
	return names
}
