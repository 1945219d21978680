package source

import (
	"encoding/json"
	"path"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// plugin checks an entry of generators, transformers or validators: the
// configuration of a built-in one, or a file with it.
func (b *build) plugin(f *kustomizeFile, pos diag.Pos, text string) {
	m, err := b.resources.NewResMapFromBytes([]byte(text))
	if err == nil {
		b.configured(f, pos, m)
		return
	}
	if strings.Contains(strings.TrimSpace(text), "\n") {
		b.fault(pos, "a configuration that does not parse: "+shorten(oneLine(err.Error())), "correct the fields of the configuration")
		return
	}
	// Kustomize would build a directory, and patches could change the paths in
	// the configuration after this check.
	data, ok := b.parsed(f, pos, text)
	if !ok {
		return
	}
	name := path.Join(f.dir, text)
	if IsKustomization(name) {
		b.fault(pos, text+" is a kustomization file", "name the files of its resources")
		return
	}
	if m := b.objects(name, data); m != nil {
		b.configured(f, diag.Pos{File: name}, m)
	}
}

// paths are the fields of built-in plugins that name files. Each plugin has
// some of them.
type paths struct {
	types.KvPairSources
	Path           string
	Paths          []string
	TargetFilePath string
	Replacements   []struct{ Path string }
}

// configured checks configurations of built-in plugins at pos.
func (b *build) configured(f *kustomizeFile, pos diag.Pos, m resmap.ResMap) {
	for _, res := range m.Resources() {
		switch gvk := res.GetGvk(); {
		case gvk.Group != "" || gvk.Version != konfig.BuiltinPluginApiVersion:
			b.fault(pos, gvk.Kind+" is a plugin, and plugins are off", "use what has apiVersion: builtin")
			continue
		case gvk.Kind == "HelmChartInflationGenerator":
			b.fault(pos, "a kustomization does not render Helm charts here", "make the chart a separate release, with its patches")
			continue
		}
		data, err := res.AsYAML()
		if err != nil {
			b.fault(pos, shorten(oneLine(err.Error())), "")
			continue
		}
		var p paths
		// A field with another type belongs to another kind of configuration;
		// the other fields are decoded nevertheless.
		_ = sigsyaml.Unmarshal(data, &p)
		b.configuredPaths(f, pos, p)
	}
}

func (b *build) configuredPaths(f *kustomizeFile, pos diag.Pos, p paths) {
	for _, name := range p.FileSources {
		b.path(f, pos, keyed(name), false)
	}
	for _, name := range append(p.EnvSources, p.EnvSource) {
		if name != "" {
			b.path(f, pos, name, false)
		}
	}
	for _, name := range p.Paths {
		if !b.inline(name) {
			b.parsed(f, pos, name)
		}
	}
	names := []string{p.Path, p.TargetFilePath}
	for _, r := range p.Replacements {
		names = append(names, r.Path)
	}
	for _, name := range names {
		if name != "" {
			b.parsed(f, pos, name)
		}
	}
}

// maxVisits is the maximum number of type fields that kustomize may visit in a
// file of definitions.
const maxVisits = 100_000

// definitions checks a file of crds. Kustomize follows references between its
// types, in cycles for ever.
func (b *build) definitions(pos diag.Pos, name string, data []byte) {
	var types map[string]struct{ Schema spec.Schema }
	asJSON, err := sigsyaml.YAMLToJSON(data)
	if err != nil || json.Unmarshal(asJSON, &types) != nil {
		b.fault(pos, name+" is not a file of OpenAPI definitions", "name custom resource definitions under resources")
		return
	}
	visits := 0
	on := map[string]bool{}
	var visit func(name string) bool
	visit = func(name string) bool {
		if visits++; on[name] || visits > maxVisits {
			return false
		}
		on[name] = true
		defer delete(on, name)
		for _, property := range types[name].Schema.Properties {
			if property.Ref.GetURL() != nil && !visit(property.Ref.String()) {
				return false
			}
		}
		return true
	}
	for typ := range types {
		if !visit(typ) {
			b.fault(pos, name+" has types that refer to themselves, or too often to each other", "leave the references out")
			return
		}
	}
}
