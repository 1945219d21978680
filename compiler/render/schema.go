package render

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// checkSchema checks the merged values of a chart and its dependencies against
// their values.schema.json, as Helm does. What a schema refers to outside of
// itself is not fetched, and allows everything.
func checkSchema(ch *chart.Chart, r *fleet.Release, values map[string]any) error {
	var faults diag.List
	faults.Add(checkChart(ch, r, nil, values))
	return faults.Err()
}

// checkChart is checkSchema for the chart whose values are at the path.
func checkChart(ch *chart.Chart, r *fleet.Release, path []string, values map[string]any) error {
	var faults diag.List
	if ch.Schema != nil {
		faults.Add(checkOne(ch, r, path, values))
	}
	for _, sub := range ch.Dependencies() {
		if v, ok := values[sub.Name()].(map[string]any); ok {
			faults.Add(checkChart(sub, r, append(slices.Clone(path), sub.Name()), v))
		}
	}
	return faults.Err()
}

func checkOne(ch *chart.Chart, r *fleet.Release, path []string, values map[string]any) error {
	const url = "fleetc:///values.schema.json"
	wrong := func(err error) error {
		return &diag.Diag{At: []diag.Pos{r.Pos}, Path: "releases." + r.Name, Msg: fmt.Sprintf("values.schema.json of chart %s is no JSON Schema: %v", ch.Name(), err), Cause: err}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(ch.Schema))
	if err != nil {
		return wrong(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(anything{})
	if err := compiler.AddResource(url, doc); err != nil {
		return wrong(err)
	}
	schema, err := compiler.Compile(url)
	if err != nil {
		return wrong(err)
	}
	err = schema.Validate(values)
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	var faults diag.List
	for _, leaf := range leaves(invalid) {
		faults.Add(schemaFault(ch, r, path, leaf))
	}
	return faults.Err()
}

// anything is a loader that answers every reference with a schema that allows
// everything.
type anything struct{}

func (anything) Load(string) (any, error) { return true, nil }

// leaves returns the innermost errors, which say what is wrong.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var out []*jsonschema.ValidationError
	for _, c := range e.Causes {
		out = append(out, leaves(c)...)
	}
	return out
}

// schemaFault is the fault for one error, at the user's line where the user
// wrote the value.
func schemaFault(ch *chart.Chart, r *fleet.Release, path []string, e *jsonschema.ValidationError) error {
	full := slices.Concat(path, e.InstanceLocation)
	if extra, ok := e.ErrorKind.(*kind.AdditionalProperties); ok && len(extra.Properties) == 1 {
		full = append(full, extra.Properties[0])
	}
	d := &diag.Diag{
		At: []diag.Pos{r.Pos}, Path: strings.Join(append([]string{"releases", r.Name, "values"}, full...), "."),
		Msg: fmt.Sprintf("%s (values.schema.json of chart %s)", e.ErrorKind.LocalizedString(message.NewPrinter(language.English)), ch.Name()),
	}
	if t, depth := r.Values.Lookup(full...); depth > 0 && t.Pos.IsValid() {
		d.At = []diag.Pos{t.Pos}
	}
	return d
}
