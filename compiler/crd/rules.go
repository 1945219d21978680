package crd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// tooNew returns the rules of a CRD that an API server of a compatibility
// version does not take yet, of a CRD which the newest one takes.
func tooNew(crd *apiextensions.CustomResourceDefinition, compat minor) []problem {
	var found []problem
	for i, v := range crd.Spec.Versions {
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		validation := v.Schema
		if validation == nil && i == 0 {
			validation = crd.Spec.Validation
		}
		if validation == nil || validation.OpenAPIV3Schema == nil {
			continue
		}
		s, err := schema.NewStructural(validation.OpenAPIV3Schema)
		if err != nil {
			continue // it has been checked
		}
		found = append(found, tooNewBelow(path, s, true, compat)...)
	}
	return found
}

// tooNewBelow looks at a part of a schema.
func tooNewBelow(path *field.Path, s *schema.Structural, root bool, compat minor) []problem {
	if s == nil {
		return nil
	}
	var found []problem
	if len(s.XValidations) > 0 {
		found = tooNewAt(path, s, root, compat)
	}
	found = append(found, tooNewBelow(path.Child("items"), s.Items, false, compat)...)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		found = append(found, tooNewBelow(path.Child("properties").Key(name), &p, false, compat)...)
	}
	if s.AdditionalProperties != nil {
		found = append(found, tooNewBelow(path.Child("additionalProperties"), s.AdditionalProperties.Structural, false, compat)...)
	}
	return found
}

// tooNewAt compiles the rules of one schema as new ones.
func tooNewAt(path *field.Path, s *schema.Structural, root bool, compat minor) []problem {
	decl := model.SchemaDeclType(s, root || s.XEmbeddedResource)
	results, err := cel.Compile(s, decl, celconfig.PerCallLimit,
		environment.MustBaseEnvSet(compat.version()), cel.NewExpressionsEnvLoader())
	if err != nil {
		return nil // it has been checked
	}
	var found []problem
	for i, r := range results {
		at := path.Child("x-kubernetes-validations").Index(i)
		for _, e := range []struct {
			field, text string
			err         *apiservercel.Error
		}{
			{"rule", s.XValidations[i].Rule, r.Error},
			{"messageExpression", s.XValidations[i].MessageExpression, r.MessageExpressionError},
		} {
			if e.err == nil {
				continue
			}
			found = append(found, problem{
				field: simpleKey.ReplaceAllString(at.Child(e.field).String(), ".$1"),
				text: fmt.Sprintf(" is %s, which Kubernetes 1.%d does not take yet: %s",
					quote(e.text), compat+1, strings.TrimPrefix(clause(e.err.Detail), "it does not compile: ")),
				hint: "use the version of the CRD that is made for Kubernetes 1." + strconv.Itoa(int(compat)+1),
			})
		}
	}
	return found
}
