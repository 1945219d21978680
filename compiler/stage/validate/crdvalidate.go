package validate

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

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A crdKey identifies a CRD and the compatibility version of its validation.
type crdKey struct {
	digest [sha256.Size]byte
	compat minor
}

// validate returns the problems of a CRD like an API server that creates it.
func (k *CRDChecker) validate(d *definition, compat minor) []problem {
	return guarded(func() []problem {
		w := schemaCost{}
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
			if p, ok := crdProblem(err); ok {
				found = append(found, p)
			}
		}
		if len(found) > 0 || compat >= newest() {
			return found
		}
		changed := k.celDifferences.Get(compat, func() map[string]bool { return celDifferences(compat) })
		if len(changed) == 0 {
			return nil
		}
		return unsupportedRules(crd, compat, changed)
	})
}

// guarded returns the problems that f finds. A panic in the code of Kubernetes
// becomes a problem.
func guarded(f func() []problem) (found []problem) {
	defer func() {
		if v := recover(); v != nil {
			found = []problem{{
				text: ": the validation fails on it: it has an unexpected form",
				hint: "leave out what it does not need", cause: fmt.Errorf("panic: %v", v),
			}}
		}
	}()
	return f()
}

// decode decodes a CRD with strict field validation, sets its defaults and
// converts it to the internal form.
func decode(text []byte) (*apiextensions.CustomResourceDefinition, []problem) {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	strict, err := kjson.UnmarshalStrict(text, v1)
	if err != nil {
		return nil, []problem{decodingProblem(err)}
	}
	var found []problem
	for _, err := range strict {
		p := decodingProblem(err)
		if strings.HasPrefix(p.field, "spec") || p.field == "" {
			found = append(found, p)
		}
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(v1)
	crd := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, crd, nil); err != nil {
		return nil, []problem{decodingProblem(err)}
	}
	return crd, found
}

// decodingProblem converts an error of the decoder.
func decodingProblem(err error) problem {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return problem{field: wrong.Field, text: " is " + fleet.TypeName(wrong.Value) + ": it must be " + goKind(wrong.Type)}
	}
	if rest, ok := strings.CutPrefix(err.Error(), `unknown field "`); ok {
		return problem{field: strings.TrimSuffix(rest, `"`), text: " is an unknown field", hint: unknownHint(rest)}
	}
	return problem{text: ": it cannot be decoded: " + clause(err.Error()), cause: err}
}

// unknownHint returns the hint for an unknown field of a CRD.
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

// goKind returns the text for the expected type of a field of a CRD.
func goKind(t reflect.Type) string {
	switch {
	case t == nil:
		return "something else"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return "an integer"
	}
	return fleet.TypeName(t.Kind().String())
}
