package crd

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	kjson "sigs.k8s.io/json"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A verdictKey names a CRD, and the version of Kubernetes that is to take it.
type verdictKey struct {
	digest [sha256.Size]byte
	compat minor
}

// find finds what is wrong with a CRD, as an API server of a version does when it
// is created.
func (k *Checker) find(d *definition, compat minor) []problem {
	return guarded(func() []problem {
		w := weights{}
		w.add(d.object.Object["spec"], 0)
		if w.problem != "" {
			return []problem{{text: ": " + w.problem}}
		}
		text, _ := d.text()
		crd, found := decode(text)
		if crd == nil {
			return found
		}
		for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), crd) {
			if p, ok := ofDefinition(err); ok {
				found = append(found, p)
			}
		}
		if len(found) == 0 && compat < newest() && k.newerThan(compat).in(w.expressions) {
			found = tooNew(crd, compat)
		}
		return found
	})
}

// guarded returns the problems that f finds. When the code that f calls breaks
// down on what it is given, that is the problem.
func guarded(f func() []problem) (found []problem) {
	defer func() {
		if v := recover(); v != nil {
			found = []problem{{
				text: ": the check of it breaks down: it has a form that nobody expects",
				hint: "leave out what it does not need", cause: fmt.Errorf("panic: %v", v),
			}}
		}
	}()
	return f()
}

// decode decodes a CRD as an API server does that is asked to refuse unknown
// fields, with its defaults and in the form that it checks.
func decode(text []byte) (*apiextensions.CustomResourceDefinition, []problem) {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	strict, err := kjson.UnmarshalStrict(text, v1)
	if err != nil {
		return nil, []problem{ofDecoding(err)}
	}
	var found []problem
	for _, err := range strict {
		p := ofDecoding(err)
		if strings.HasPrefix(p.field, "spec") || p.field == "" {
			found = append(found, p)
		}
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(v1)
	crd := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, crd, nil); err != nil {
		return nil, []problem{ofDecoding(err)}
	}
	return crd, found
}

// ofDecoding returns an error of the decoder as a problem.
func ofDecoding(err error) problem {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return problem{field: wrong.Field, text: " is " + jsonKind(wrong.Value) + ": it must be " + goKind(wrong.Type)}
	}
	if rest, ok := strings.CutPrefix(err.Error(), `unknown field "`); ok {
		return problem{field: strings.TrimSuffix(rest, `"`), text: " is an unknown field", hint: unknownHint(rest)}
	}
	return problem{text: ": it cannot be decoded: " + clause(err.Error()), cause: err}
}

// unknownHint returns the hint for a field that a CRD does not have.
func unknownHint(path string) string {
	path = strings.TrimSuffix(path, `"`)
	name := path[strings.LastIndexByte(path, '.')+1:]
	var in any = apiextensionsv1.JSONSchemaProps{}
	switch {
	case strings.Contains(path, ".openAPIV3Schema."):
	case strings.HasPrefix(path, "spec.versions["):
		in = apiextensionsv1.CustomResourceDefinitionVersion{}
	case strings.HasPrefix(path, "spec.names."):
		in = apiextensionsv1.CustomResourceDefinitionNames{}
	default:
		in = apiextensionsv1.CustomResourceDefinitionSpec{}
	}
	var names []string
	for f := range reflect.TypeOf(in).Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, tag)
	}
	if near := diag.DidYouMean(name, words(name, names)); near != "" {
		return near
	}
	return "leave it out"
}

// jsonKind names a type of JSON that its decoder names.
func jsonKind(name string) string {
	name, _, _ = strings.Cut(name, " ") // number 3.5
	switch name {
	case "array":
		return "a list"
	case "object":
		return "a map"
	}
	return "a " + name
}

// goKind names what a field of a CRD must be.
func goKind(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "a map"
	case reflect.Float64:
		return "a number"
	}
	return "an integer"
}
