package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// enumsFixture is generated Go code of Kubernetes, in both of its forms.
const enumsFixture = `package openapi

func schema_k8sio_api_core_v1_PodSpec(ref common.ReferenceCallback) common.OpenAPIDefinition {
	return common.OpenAPIDefinition{
		Schema: spec.Schema{
			SchemaProps: spec.SchemaProps{
				Type: []string{"object"},
				Properties: map[string]spec.Schema{
					"policy": {
						SchemaProps: spec.SchemaProps{
							Description: "Possible enum values:\n - \"Never\"",
							Type:        []string{"string"},
							Enum:        []interface{}{"Never", "Always"},
						},
					},
					"usages": {
						VendorExtensible: spec.VendorExtensible{
							Extensions: spec.Extensions{"x-kubernetes-list-type": "set"},
						},
						SchemaProps: spec.SchemaProps{
							Items: &spec.SchemaOrArray{
								Schema: &spec.Schema{
									SchemaProps: spec.SchemaProps{
										Type: []string{"string"},
										Enum: []interface{}{"a", "b"},
									},
								},
							},
						},
					},
					"hidden": {
						SchemaProps: spec.SchemaProps{Type: []string{"string"}},
					},
				},
				Required: []string{"policy"},
			},
		},
		Dependencies: []string{v1.Pod{}.OpenAPIModelName()},
	}
}

func schema_pkg_other_v1_Other(ref common.ReferenceCallback) common.OpenAPIDefinition {
	return common.EmbedOpenAPIDefinitionIntoV2Extension(common.OpenAPIDefinition{}, common.OpenAPIDefinition{})
}
`

func TestFunctionOf(t *testing.T) {
	for name, want := range map[string]string{
		"io.k8s.api.core.v1.Pod":                                                            "schema_k8sio_api_core_v1_Pod",
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":                                   "schema_pkg_apis_meta_v1_ObjectMeta",
		"io.k8s.apimachinery.pkg.api.resource.Quantity":                                     "schema_apimachinery_pkg_api_resource_Quantity",
		"io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService":                     "schema_pkg_apis_apiregistration_v1_APIService",
		"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": "schema_pkg_apis_apiextensions_v1_CustomResourceDefinition",
	} {
		if got := functionOf(name); got != want {
			t.Errorf("functionOf(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestAddEnums(t *testing.T) {
	all := map[string]*definition{"io.k8s.api.core.v1.PodSpec": {Type: "object", Properties: map[string]*definition{
		"policy": {Type: "string"}, "usages": {Type: "array", Items: &definition{Type: "string"}},
	}}}
	file := filepath.Join(t.TempDir(), "a.go")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(enumsFixture)
	if err := addEnums(all, file); err != nil {
		t.Fatal(err)
	}
	spec := all["io.k8s.api.core.v1.PodSpec"].Properties
	if !slices.Equal(spec["policy"].Enum, []string{"Always", "Never"}) || !slices.Equal(spec["usages"].Items.Enum, []string{"a", "b"}) {
		t.Errorf("the enums are %v and %v", spec["policy"].Enum, spec["usages"].Items.Enum)
	}
	for text, want := range map[string]string{
		"package a\n": "no enums",
		"package":     "expected 'IDENT'",
		strings.Replace(enumsFixture, `"Never", "Always"`, `"Never", Always`, 1): "*ast.Ident is not a string",
		strings.Replace(enumsFixture, `"policy": {`, `"politics": {`, 1):         "an enum inside of a type that the documents do not have",
	} {
		write(text)
		if err := addEnums(all, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
