package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// check returns the problems of a custom resource. Like the API server on
// creation, it prunes unknown fields, sets defaults and validates the result.
func (c *compiledSchema) check(object map[string]any) []problem {
	return guarded(func() []problem {
		m := meter{}
		o, _ := m.normalize(object, 0).(map[string]any)
		switch {
		case m.problem != "":
		case m.nodes*c.nodes > maxWork:
			m.problem = "it is too large for a check against the large schema of its CRD"
		case m.nodes*c.defaulted > maxDefaulted:
			m.problem = "it would be too large with the defaults of its CRD"
		}
		if m.problem != "" {
			return []problem{{text: ": " + m.problem}}
		}
		x := &resourceCheck{compiledSchema: c, object: o, nulls: m.nulls > 0}
		if !x.prune() {
			return x.found
		}
		defaulting.Default(o, c.structural)
		if c.status {
			delete(o, "status")
		}
		x.validate()
		return x.found
	})
}

// A resourceCheck is the validation of one custom resource.
type resourceCheck struct {
	*compiledSchema
	object   map[string]any // current state: pruned, and later with defaults
	nulls    bool           // the object may contain nulls
	found    []problem
	blocking bool // a problem after which the API server skips the rules
}

// add adds a problem.
func (x *resourceCheck) add(p problem) { x.found = append(x.found, p) }

// prune removes and reports unknown fields, and removes nulls that the schema
// does not allow. It returns false if the validation cannot continue.
func (x *resourceCheck) prune() bool {
	meta, hasMeta, unknown, err := objectmeta.GetObjectMetaWithOptions(x.object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		x.add(metadataProblem(err))
		return false
	}
	apiVersion, kind := x.object["apiVersion"], x.object["kind"]
	if !x.preserve {
		unknown = append(unknown, pruning.PruneWithOptions(x.object, x.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
		if x.nulls {
			defaulting.PruneNonNullableNullsWithoutDefaults(x.object, x.structural)
		}
	}
	wrong, more := objectmeta.CoerceWithOptions(nil, x.object, x.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	unknown = append(unknown, more...)
	slices.Sort(unknown)
	for i, path := range unknown {
		if p, ok := x.unknown(path, i < maxCustomFaults); ok {
			x.add(p)
		}
	}
	if wrong != nil {
		p := newProblem(wrong)
		if strings.Contains(wrong.Detail, "json: ") {
			p.text = ": it is not valid metadata"
		}
		x.add(p)
		return false
	}
	x.object["apiVersion"], x.object["kind"] = apiVersion, kind
	if hasMeta {
		if err := objectmeta.SetObjectMeta(x.object, meta); err != nil {
			x.add(metadataProblem(err))
			return false
		}
	}
	return true
}

// metadataProblem converts an error of decoding metadata.
func metadataProblem(err error) problem {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return problem{field: "metadata." + wrong.Field, text: " is " + fleet.TypeName(wrong.Value) + ": it must be " + goKind(wrong.Type)}
	}
	return problem{field: "metadata", text: " is not valid metadata", cause: err}
}

// unknown returns the problem of an unknown field. ok is false below a map
// where the schema has another type, since that is reported for the map. The
// suggestion is computed only if hinted.
func (x *resourceCheck) unknown(path string, hinted bool) (p problem, ok bool) {
	p = problem{field: path, text: " is an unknown field", hint: "leave it out"}
	at := x.walk(path)
	var names []string
	if s := at.schema(); s != nil {
		if s.Type != "" && s.Type != "object" {
			return p, false
		}
		if !hinted {
			return p, true
		}
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	name := strings.TrimPrefix(at.rest, ".")
	if hint := diag.OneOf(name, words(name, names)); name != "" && hint != "" {
		p.hint = hint
	}
	return p, true
}

// validate validates the object after defaulting.
func (x *resourceCheck) validate() {
	x.openAPI(x.validator.Validate(x.object))
	x.scale()
	errs := objectmeta.Validate(context.Background(), nil, x.object, x.structural, false)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, x.structural, x.object)...)
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			x.blocking = true
		}
		x.add(newProblem(err))
	}
	if x.rules == nil || x.blocking {
		return
	}
	errs, _ = x.rules.Validate(context.Background(), nil, x.structural, x.object, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range errs {
		x.add(x.rule(err))
	}
}

// scale validates the number of replicas that the scale subresource sets.
func (x *resourceCheck) scale() {
	if x.replicas == "" {
		return
	}
	path := strings.TrimPrefix(x.replicas, ".")
	v, found, _ := unstructured.NestedFieldNoCopy(x.object, strings.Split(path, ".")...)
	n, isInt := v.(int64)
	switch {
	case !found || slices.ContainsFunc(x.found, func(p problem) bool { return p.field == path }):
	case !isInt:
		x.add(problem{field: path, text: isText(v) + ": it must be an integer"})
	case n < 0 || n > math.MaxInt32:
		x.add(problem{field: path, text: fmt.Sprintf(" is %d: it must be from 0 to %d", n, math.MaxInt32)})
	}
}

// rule converts the error of a rule and puts the rule into the hint.
func (x *resourceCheck) rule(err *field.Error) problem {
	p := problem{field: strings.TrimPrefix(err.Field, "<nil>")}
	switch v := x.walk(p.field).value.(type) {
	case string, bool, int64, float64:
		p.text = isText(v)
	}
	if rule, failed := strings.CutPrefix(err.Detail, "failed rule: "); failed {
		p.text += ": the rule does not hold"
		p.hint = "meet the rule " + ruleText(rule)
		return p
	}
	p.text += ": " + clause(err.Detail)
	if rule := x.ruleOf(err); rule != "" {
		p.hint = "meet the rule " + ruleText(rule)
	}
	return p
}

// ruleText returns a rule on one line.
func ruleText(rule string) string {
	return diag.Line(rule, maxText)
}

// ruleOf returns the rule that caused an error: at the error's field, or above
// it when the rule has a fieldPath. It is empty if it is not known.
func (x *resourceCheck) ruleOf(err *field.Error) string {
	at := x.walk(strings.TrimPrefix(err.Field, "<nil>"))
	var byExpression []string
	for i, s := range slices.Backward(at.schemas) {
		for _, r := range validations(s) {
			if r.Message != "" && strings.TrimSpace(r.Message) == err.Detail {
				return r.Rule
			}
			if r.MessageExpression != "" && (i == len(at.schemas)-1 || r.FieldPath != "") {
				byExpression = append(byExpression, r.Rule)
			}
		}
	}
	if len(byExpression) == 1 {
		return byExpression[0]
	}
	return ""
}
