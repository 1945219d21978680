//lint:file-ignore SA1019 This file is about the fields that are deprecated.

package source

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// deprecatedFields are fields that name files or contain objects.
type deprecatedFields struct {
	bases          []string
	jsonPatches    []types.Patch
	strategicMerge []types.PatchStrategicMerge
}

func (f *kustomizeFile) deprecatedFields() deprecatedFields {
	return deprecatedFields{f.k.Bases, f.k.PatchesJson6902, f.k.PatchesStrategicMerge}
}

// warns reports whether kustomize prints a warning about a deprecated field.
func (b *build) warns() bool {
	for _, f := range b.checked {
		if f == nil {
			continue
		}
		if warnings := f.k.CheckDeprecatedFields(); warnings != nil && len(*warnings) > 0 {
			return true
		}
	}
	return false
}

// serve returns the content of a kustomization file for kustomize.
func (b *build) serve(name string, data []byte) ([]byte, error) {
	if text, ok := b.instead[name]; ok {
		return text, nil
	}
	for _, f := range b.checked {
		if f != nil && f.name == name {
			return f.rewrite(data)
		}
	}
	return nil, fmt.Errorf("%s was not checked", name)
}

// strategic returns patchesStrategicMerge as patches.
func (f *kustomizeFile) strategic() []types.Patch {
	var patches []types.Patch
	for _, p := range f.k.PatchesStrategicMerge {
		if f.texts[string(p)] {
			patches = append(patches, types.Patch{Patch: string(p)})
		} else {
			patches = append(patches, types.Patch{Path: string(p)})
		}
	}
	return patches
}

// Patterns of kustomize's errors about vars, with the name of the var.
var (
	varObject = regexp.MustCompile(`var '\{(\S+) .*\}' cannot be mapped to a field in the set of known resources$`)
	varField  = regexp.MustCompile(`field specified in var '\{(\S+) .*\}' not found in corresponding resource$`)
	varMany   = regexp.MustCompile(`found \d+ resId matches for var \{(\S+) .*\} \(unable to disambiguate\)$`)
	varTwice  = regexp.MustCompile(`var '(\S+)' already encountered$`)
)

// varFault returns the fault for an error about a var, or nil for other errors.
func (b *build) varFault(text string) *diag.Diag {
	for _, known := range []struct {
		form      *regexp.Regexp
		msg, hint string
	}{
		{varObject, "the objref of the var NAME matches nothing", "name an object as its file does, without prefixes"},
		{varField, "the object of the var NAME does not have the field of its fieldref", "correct fieldPath, or add the field to the object"},
		{varMany, "the objref of the var NAME matches several objects", "add namespace to objref"},
		{varTwice, "the var NAME occurs twice", "rename one of them"},
	} {
		m := known.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		for _, dir := range slices.Backward(slices.Sorted(maps.Keys(b.checked))) {
			f := b.checked[dir]
			if f == nil {
				continue
			}
			for i, v := range f.k.Vars {
				if v.Name == m[1] {
					return b.at(diag.CodeKustomization, f.pos("vars", i), strings.ReplaceAll(known.msg, "NAME", m[1]), known.hint)
				}
			}
		}
	}
	return nil
}
