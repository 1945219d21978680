package importer

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// variables are the substitution variables of a Kustomization.
type variables struct {
	values  map[string]string
	unknown map[string]string // variables without a known value, with where they come from
	missing string            // a source that the repository does not have, and that may set any other variable
}

// source returns where a variable without a known value comes from; empty for others.
func (v *variables) source(name string) string {
	if from, ok := v.unknown[name]; ok {
		return "encrypted in " + from
	}
	if _, ok := v.values[name]; !ok && v.missing != "" {
		return "in " + v.missing + ", which the repository does not have"
	}
	return ""
}

const substituteKey = "kustomize.toolkit.fluxcd.io/substitute"

// variableName matches names of substitution variables.
var variableName = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// waits reports whether a ConfigMap or Secret with variables was not built yet.
func (s *fluxState) waits(k *kustomization) bool {
	return !k.waited && slices.ContainsFunc(listAt(k.spec, "postBuild", "substituteFrom"), func(ref any) bool { return s.variableSource(k, ref) == nil })
}

// noteMissingSource notes variables whose source is not in the repository, and lets the
// Kustomization be built without them.
func (s *fluxState) noteMissingSource(k *kustomization) {
	for i, ref := range listAt(k.spec, "postBuild", "substituteFrom") {
		if s.variableSource(k, ref) == nil && !isTrueAt(ref, "optional") {
			do := "the repository has no " + textAt(ref, "kind") + " " + textAt(ref, "name") + ": give the values of its variables with --variable NAME=VALUE"
			s.model.Note(s.note(k.fluxObject, "spec.postBuild.substituteFrom", do, strconv.Itoa(i)))
		}
	}
	k.waited = true
}

// variableSource returns the object that a reference names; nil when there is none.
func (s *fluxState) variableSource(k *kustomization, ref any) *fluxObject {
	return s.byID[textAt(ref, "kind")+". "+k.namespace()+"/"+textAt(ref, "name")]
}

// variables returns the variables of a Kustomization, and whether it substitutes at all.
func (s *fluxState) variables(k *kustomization) (variables, bool) {
	v := variables{values: map[string]string{}, unknown: map[string]string{}}
	if k.spec["postBuild"] == nil {
		return v, false
	}
	for _, ref := range listAt(k.spec, "postBuild", "substituteFrom") {
		source := s.variableSource(k, ref)
		if source == nil && !isTrueAt(ref, "optional") {
			v.missing = textAt(ref, "kind") + " " + textAt(ref, "name")
		}
		if source == nil {
			continue
		}
		data, encrypted := stringData(source.content)
		for _, name := range slices.Sorted(maps.Keys(data)) {
			if encrypted[name] {
				v.unknown[name] = source.title()
				delete(v.values, name)
				continue
			}
			v.set(name, data[name])
			if source.kind() == "ConfigMap" {
				s.fact(name, v.values[name])
			}
		}
	}
	for name, value := range mapAt(k.spec, "postBuild", "substitute") {
		if value, ok := value.(string); ok {
			v.set(name, value)
		}
	}
	for name, value := range s.opts.Variables {
		v.set(name, value)
	}
	return v, len(v.values) > 0 || len(v.unknown) > 0 || v.missing != ""
}

func (v *variables) set(name, value string) {
	if variableName.MatchString(name) {
		v.values[name] = strings.ReplaceAll(value, "\n", "")
		delete(v.unknown, name)
	}
}

// fact records a variable of the cluster; one with several values is not a fact.
func (s *fluxState) fact(name, value string) {
	if before, ok := s.out.Facts[name]; ok && before != value {
		s.conflicts[name] = true
	}
	s.out.Facts[name] = value
	if s.conflicts[name] {
		delete(s.out.Facts, name)
	}
}

// substitute replaces the variables in an object, as kustomize-controller does.
func (s *fluxState) substitute(o *fluxObject, v variables) error {
	if textAt(o.content, "metadata", "labels", substituteKey) == "disabled" || textAt(o.content, "metadata", "annotations", substituteKey) == "disabled" {
		return nil
	}
	before, err := yaml.Marshal(o.content)
	if err != nil || !strings.Contains(string(before), "$") {
		return err
	}
	after, err := envsubst.Eval(string(before), func(name string) (string, bool) {
		// A default is used for a variable that nothing may set.
		_, encrypted := v.unknown[name]
		if v.source(name) != "" && (encrypted || strings.Contains(string(before), "${"+name+"}")) {
			if !slices.Contains(o.unknown, name) {
				o.unknown = append(o.unknown, name)
			}
			return "${" + name + "}", true
		}
		return v.values[name], true
	})
	if err != nil {
		return s.fault(diag.CodeImportTemplate, o, "", "variables cannot be substituted: "+diag.Brief(err), "correct the text after $, or write $$ for a dollar sign")
	}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(after), &content); err != nil {
		return s.fault(diag.CodeImportTemplate, o, "", "the object is not valid YAML after substitution: "+yamlReason(err), "put quotes around the variable")
	}
	o.content = content
	for _, name := range o.unknown {
		s.model.Note(s.note(o, "", "the value of ${"+name+"} is "+v.source(name)+", and the text stays as it is: give the value with --variable "+name+"=VALUE"))
	}
	return nil
}

// stringData returns the data of a ConfigMap or Secret as text, and its encrypted keys.
func stringData(content map[string]any) (data map[string]string, encrypted map[string]bool) {
	data, encrypted = map[string]string{}, map[string]bool{}
	isSecret := textAt(content, "kind") == "Secret"
	for _, key := range []string{"data", "stringData"} {
		for name, v := range mapAt(content, key) {
			value, _ := v.(string)
			if strings.HasPrefix(value, "ENC[") {
				encrypted[name] = true
				data[name] = ""
				continue
			}
			if isSecret && key == "data" {
				if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
					value = string(decoded)
				}
			}
			if content["sops"] != nil && isSecret {
				encrypted[name] = true
			}
			data[name] = value
		}
	}
	return data, encrypted
}
