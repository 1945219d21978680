package crd

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

	"github.com/fleetc/fleetc/compiler/diag"
)

// check returns what is wrong with a custom resource. It does in the order of
// the API server what that does with an object to be created: it takes out
// what the schema does not have, sets the defaults, and validates the rest.
func (c *compiled) check(object map[string]any) []problem {
	return guarded(func() []problem {
		m := meter{}
		o, _ := m.normal(object, 0).(map[string]any)
		switch {
		case m.problem != "":
		case m.nodes*c.nodes > maxWork:
			m.problem = "it is too large to be checked against a schema as large as that of its CRD"
		case m.nodes*c.defaulted > maxDefaulted:
			m.problem = "the defaults of its CRD would make it too large"
		}
		if m.problem != "" {
			return []problem{{text: ": " + m.problem}}
		}
		x := &examination{compiled: c, object: o, nulls: m.nulls > 0}
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

// An examination is the check of one custom resource.
type examination struct {
	*compiled
	object   map[string]any // as the API server would have it by now
	nulls    bool           // there may be some in it
	found    []problem
	blocking bool // a finding after which no rule is evaluated
}

// add adds a problem.
func (x *examination) add(p problem) { x.found = append(x.found, p) }

// prune takes out what the schema does not have, which is at fault, and nulls
// that it does not allow, which is not. It reports whether the object can be
// checked further.
func (x *examination) prune() bool {
	meta, hasMeta, unknown, err := objectmeta.GetObjectMetaWithOptions(x.object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		x.add(ofMetadata("metadata", err))
		return false
	}
	apiVersion, kind := x.object["apiVersion"], x.object["kind"]
	if !x.preserve {
		unknown = append(unknown, pruning.PruneWithOptions(x.object, x.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
		if x.nulls {
			defaulting.PruneNonNullableNullsWithoutDefaults(x.object, x.structural)
		}
	}
	var wrong *field.Error
	var more []string
	if x.uses.embedded {
		wrong, more = objectmeta.CoerceWithOptions(nil, x.object, x.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	}
	unknown = append(unknown, more...)
	slices.Sort(unknown)
	for i, path := range unknown {
		if p, ok := x.unknown(path, i < maxFaults); ok {
			x.add(p)
		}
	}
	if wrong != nil {
		p := finding(wrong)
		if strings.Contains(wrong.Detail, "json: ") {
			p.text = ": it holds something that no metadata of Kubernetes has"
		}
		x.add(p)
		return false
	}
	x.object["apiVersion"], x.object["kind"] = apiVersion, kind
	if hasMeta {
		if err := objectmeta.SetObjectMeta(x.object, meta); err != nil {
			x.add(ofMetadata("metadata", err))
			return false
		}
	}
	return true
}

// ofMetadata returns an error of reading metadata as a problem.
func ofMetadata(path string, err error) problem {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return problem{field: path + "." + wrong.Field, text: " is " + jsonKind(wrong.Value) + ": it must be " + goKind(wrong.Type)}
	}
	return problem{field: path, text: " holds something that no metadata of Kubernetes has", cause: err}
}

// unknown returns the problem of a field that the schema does not have; ok is
// false for one below a map which must be none: that is reported of the map.
// The hint is looked for when it is asked for.
func (x *examination) unknown(path string, hinted bool) (p problem, ok bool) {
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

// validate validates the object with its defaults.
func (x *examination) validate() {
	x.openAPI(x.validator.Validate(x.object))
	x.scale()
	var errs field.ErrorList
	if x.uses.embedded {
		errs = objectmeta.Validate(context.Background(), nil, x.object, x.structural, false)
	}
	if x.uses.lists {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, x.structural, x.object)...)
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			x.blocking = true
		}
		x.add(finding(err))
	}
	if x.rules == nil || x.blocking {
		return
	}
	errs, _ = x.rules.Validate(context.Background(), nil, x.structural, x.object, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range errs {
		x.add(x.rule(err))
	}
}

// scale checks the number that the scale subresource sets.
func (x *examination) scale() {
	if x.replicas == "" {
		return
	}
	path := strings.TrimPrefix(x.replicas, ".")
	v, found, _ := unstructured.NestedFieldNoCopy(x.object, strings.Split(path, ".")...)
	n, isInt := v.(int64)
	switch {
	case !found || slices.ContainsFunc(x.found, func(p problem) bool { return p.field == path }):
	case !isInt:
		x.add(problem{field: path, text: is(v) + ": it must be an integer"})
	case n < 0 || n > math.MaxInt32:
		x.add(problem{field: path, text: fmt.Sprintf(" is %d: it must be from 0 to %d", n, math.MaxInt32)})
	}
}

// rule returns the finding of a rule as a problem, with the rule as the hint.
func (x *examination) rule(err *field.Error) problem {
	p := problem{field: strings.TrimPrefix(err.Field, "<nil>")}
	switch v := x.walk(p.field).value.(type) {
	case string, bool, int64, float64:
		p.text = is(v)
	}
	if rule, failed := strings.CutPrefix(err.Detail, "failed rule: "); failed {
		p.text += ": the rule does not hold"
		p.hint = "keep to the rule " + ruleText(rule)
		return p
	}
	p.text += ": " + clause(err.Detail)
	if rule, ok := x.ruleOf(err); ok {
		p.hint = "keep to the rule " + ruleText(rule)
	}
	return p
}

// ruleText returns a rule on one line.
func ruleText(rule string) string {
	return diag.Visible(strings.Join(strings.Fields(rule), " "), maxText)
}

// ruleOf returns the rule with the message of a finding: at the finding's
// field, or above it when the rule names another field than its own.
func (x *examination) ruleOf(err *field.Error) (rule string, ok bool) {
	at := x.walk(strings.TrimPrefix(err.Field, "<nil>"))
	var byExpression []string
	for i, s := range slices.Backward(at.schemas) {
		for _, r := range validations(s) {
			if r.Message != "" && strings.TrimSpace(r.Message) == err.Detail {
				return r.Rule, true
			}
			if r.MessageExpression != "" && (i == len(at.schemas)-1 || r.FieldPath != "") {
				byExpression = append(byExpression, r.Rule)
			}
		}
	}
	if len(byExpression) == 1 {
		return byExpression[0], true
	}
	return "", false
}
