package validate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// unsupportedRules returns the rules that an API server of a compatibility
// version does not support yet. The CRD must be valid for the newest version, and
// changed is what [celDifferences] returns for the compatibility version.
func unsupportedRules(crd *apiextensions.CustomResourceDefinition, compat minor, changed map[string]bool) []problem {
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
			continue // reported by the validation
		}
		found = append(found, unsupportedRulesBelow(path, s, true, compat, changed)...)
	}
	return found
}

// unsupportedRulesBelow checks a part of a schema.
func unsupportedRulesBelow(path *field.Path, s *schema.Structural, root bool, compat minor, changed map[string]bool) []problem {
	if s == nil {
		return nil
	}
	var found []problem
	if slices.ContainsFunc(s.XValidations, func(r apiextensionsv1.ValidationRule) bool {
		return usesName(r.Rule, changed) || usesName(r.MessageExpression, changed)
	}) {
		found = unsupportedRulesAt(path, s, root, compat)
	}
	found = append(found, unsupportedRulesBelow(path.Child("items"), s.Items, false, compat, changed)...)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		found = append(found, unsupportedRulesBelow(path.Child("properties").Key(name), &p, false, compat, changed)...)
	}
	if s.AdditionalProperties != nil {
		found = append(found, unsupportedRulesBelow(path.Child("additionalProperties"), s.AdditionalProperties.Structural, false, compat, changed)...)
	}
	return found
}

// unsupportedRulesAt compiles the rules of one schema for the compatibility
// version.
func unsupportedRulesAt(path *field.Path, s *schema.Structural, root bool, compat minor) []problem {
	decl := model.SchemaDeclType(s, root || s.XEmbeddedResource)
	results, err := cel.Compile(s, decl, celconfig.PerCallLimit,
		environment.MustBaseEnvSet(compat.version()), cel.NewExpressionsEnvLoader())
	if err != nil {
		return nil // reported by the validation
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
				text: fmt.Sprintf(" is %s, which Kubernetes 1.%d does not support yet: %s",
					quote(e.text), compat+1, strings.TrimPrefix(clause(e.err.Detail), "it does not compile: ")),
				hint: "use the version of the CRD that is made for Kubernetes 1." + strconv.Itoa(int(compat)+1),
			})
		}
	}
	return found
}
