package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FieldTypes has paths of fields, as in a [Table], by the words for the type that their values must
// have. Other values would be read as absent ones.
type FieldTypes map[string][]string

// Words for types.
const (
	aString = "a string"
	aList   = "a list"
	aMap    = "a map"
)

// below adds the fields of t below a path, which ends in a dot.
func (t FieldTypes) below(path string, of FieldTypes) FieldTypes {
	for want, fields := range of {
		for _, field := range fields {
			t[want] = append(t[want], path+field)
		}
	}
	return t
}

// check returns the faults of fields that have another type than the tool expects. at returns the
// position of a field.
func (t FieldTypes) check(tool string, doc any, at func(path ...string) diag.Pos) error {
	wanted := map[string]string{}
	for want, fields := range t {
		for _, field := range fields {
			wanted[field] = want
		}
	}
	var faults diag.List
	wrong := map[string]bool{}
	for _, field := range sortedKeys(wanted) { // a field is before those below it
		want := wanted[field]
		eachAt(doc, nil, strings.Split(field, "."), func(path []string, v any) {
			name, got := strings.Join(path, "."), fleet.TypeName(fmt.Sprintf("%T", v))
			if v == nil || got == want || wrong[strings.Join(path[:len(path)-1], ".")] {
				return
			}
			hint := "write " + want
			if want == aString && got != aMap && got != aList {
				hint = "put it into quotes"
			}
			wrong[name] = true
			faults.Add(&diag.Diag{
				Code: diag.CodeImportInvalid, At: []diag.Pos{at(path...)},
				Msg: name + " is " + got + ", where " + tool + " expects " + want, Hint: hint,
			})
		})
	}
	return faults.Err()
}

// eachAt calls f with each value of a document at a pattern of keys, and with its path.
func eachAt(v any, path, keys []string, f func(path []string, v any)) {
	if len(keys) == 0 {
		f(path, v)
		return
	}
	step := func(key string, below any) { eachAt(below, append(slices.Clone(path), key), keys[1:], f) }
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if keys[0] == "*" || keys[0] == key {
				step(key, v[key])
			}
		}
	case []any:
		for i, e := range v {
			if keys[0] == "*" {
				step(fmt.Sprint(i), e)
			}
		}
	}
}

// applicationTypes are the types of an Application.
var applicationTypes = FieldTypes{
	aMap:    {"spec", "spec.source", "spec.sources.*", "spec.destination", "spec.ignoreDifferences.*"},
	aList:   {"spec.sources", "spec.ignoreDifferences", "spec.ignoreDifferences.*.jsonPointers"},
	aString: {"spec.destination.*", "spec.project"},
}.below("spec.source.", argoSourceTypes).below("spec.sources.*.", argoSourceTypes)

// argoSourceTypes are the types of a source of an Application.
var argoSourceTypes = FieldTypes{
	aMap: {
		"helm", "helm.valuesObject", "helm.parameters.*", "helm.fileParameters.*", "kustomize", "kustomize.patches.*", "kustomize.replicas.*",
		"kustomize.commonLabels", "kustomize.commonAnnotations", "directory", "directory.jsonnet", "plugin",
	},
	aList: {
		"helm.valueFiles", "helm.parameters", "helm.fileParameters", "helm.apiVersions", "kustomize.images", "kustomize.patches", "kustomize.replicas",
		"kustomize.components", "directory.jsonnet.tlas", "directory.jsonnet.libs",
	},
	aString: {
		"repoURL", "path", "chart", "targetRevision", "ref", "helm.releaseName", "helm.values", "helm.valueFiles.*", "helm.namespace", "helm.kubeVersion",
		"helm.apiVersions.*", "kustomize.namePrefix",
		"kustomize.nameSuffix", "kustomize.namespace", "kustomize.images.*", "kustomize.components.*", "directory.include", "directory.exclude",
	},
}

// setTypes are the types of an ApplicationSet.
var setTypes = FieldTypes{
	aMap:    {"spec", "spec.template", "spec.template.metadata", "spec.template.spec", "spec.generators.*", "spec.generators.*.*"},
	aList:   {"spec.generators", "spec.goTemplateOptions"},
	aString: {"spec.templatePatch"},
}.below("spec.generators.*.", generatorTypes).below("spec.generators.*.*.generators.*.", generatorTypes)

// generatorTypes are the types of a generator of an ApplicationSet.
var generatorTypes = FieldTypes{
	aMap:    {"*", "*.values", "*.selector", "list.elements.*", "git.files.*", "git.directories.*", "matrix.generators.*", "merge.generators.*"},
	aList:   {"list.elements", "git.files", "git.directories", "matrix.generators", "merge.generators", "merge.mergeKeys"},
	aString: {"list.elementsYaml", "git.files.*.path", "git.directories.*.path"},
}

// kustomizationTypes are the types of a Kustomization of Flux.
var kustomizationTypes = FieldTypes{
	aMap: {
		"spec", "spec.sourceRef", "spec.patches.*", "spec.images.*", "spec.postBuild", "spec.postBuild.substitute", "spec.postBuild.substituteFrom.*",
		"spec.commonMetadata", "spec.commonMetadata.*", "spec.dependsOn.*", "spec.decryption",
	},
	aList:   {"spec.patches", "spec.images", "spec.components", "spec.postBuild.substituteFrom", "spec.dependsOn"},
	aString: {"spec.path", "spec.targetNamespace", "spec.namePrefix", "spec.nameSuffix", "spec.patches.*.patch", "spec.components.*", "spec.images.*.name"},
}

// helmReleaseTypes are the types of a HelmRelease.
var helmReleaseTypes = FieldTypes{
	aMap: {
		"spec", "spec.chart", "spec.chart.spec", "spec.chart.spec.sourceRef", "spec.chartRef", "spec.values", "spec.valuesFrom.*",
		"spec.postRenderers.*", "spec.postRenderers.*.kustomize", "spec.dependsOn.*", "spec.commonMetadata", "spec.driftDetection",
		"spec.driftDetection.ignore.*",
	},
	aList: {
		"spec.valuesFrom", "spec.postRenderers", "spec.postRenderers.*.kustomize.patches", "spec.postRenderers.*.kustomize.images", "spec.dependsOn",
		"spec.driftDetection.ignore",
	},
	aString: {"spec.chart.spec.chart", "spec.chart.spec.version", "spec.releaseName", "spec.targetNamespace", "spec.timeout"},
}

// helmfileTypes are the types of a helmfile.
var helmfileTypes = FieldTypes{
	aMap: append([]string{"environments.*", "repositories.*", "releases.*", "releases.*.hooks.*", "releases.*.set.*", "releases.*.setString.*"}, mapFields...),
	aList: append([]string{
		"environments.*.values", "environments.*.secrets", "releases.*.values", "releases.*.secrets", "releases.*.set", "releases.*.setString",
		"releases.*.needs", "releases.*.hooks", "releases.*.strategicMergePatches", "releases.*.jsonPatches", "releases.*.transformers",
	}, listFields...),
}
