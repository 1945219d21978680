package source

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"
)

// Kustomize ignores a patch whose target matches nothing. So after a build
// without errors, each kustomization is built again up to each of its patches,
// with an extra patch that marks the objects of the target. Patches of
// components are not checked: they may be optional.

// mark is the prefix of the annotations for marking.
const mark = "fleetc/matched-"

// unmatched reports the targets of patches that match nothing.
func (b *build) unmatched() {
	for _, dir := range slices.Sorted(maps.Keys(b.checked)) {
		f := b.checked[dir]
		// In the order of application.
		merges, late := f.strategic(), len(f.k.Patches)
		patches := slices.Concat(merges, f.k.Patches, f.deprecatedFields().jsonPatches)
		if f.k.Kind == types.ComponentKind || !slices.ContainsFunc(patches, func(p types.Patch) bool { return p.Target != nil }) {
			continue
		}
		matched := b.marked(f, patches)
		for i, p := range patches {
			// The object may be removed by this or a later patch.
			if p.Target == nil || matched[i] || b.tree.ctx.Err() != nil || b.marked(f, patches[:i], p)[i] {
				continue
			}
			field, i := "patches", i-len(merges)
			if i >= late {
				field, i = "patchesJson6902", i-late
			}
			pos := f.pos(field, i, "target")
			b.fault(pos, "the target of this patch matches nothing", "correct it, or remove the patch")
		}
	}
}

// marked returns which of the patches last have a target that matches something
// after patches were applied.
func (b *build) marked(f *kustomizeFile, patches []types.Patch, last ...types.Patch) map[int]bool {
	k := f.k
	k.FixKustomization() // bases
	part := types.Kustomization{
		TypeMeta: k.TypeMeta, Resources: k.Resources, Components: k.Components, Generators: k.Generators, Configurations: k.Configurations,
		ConfigMapGenerator: k.ConfigMapGenerator, SecretGenerator: k.SecretGenerator, GeneratorOptions: k.GeneratorOptions,
	}
	all := map[int]bool{} // the result if the build fails: report nothing
	for i, p := range slices.Concat(patches, last) {
		all[i] = true
		if p.Target != nil {
			marker := fmt.Sprintf("kind: Any\nmetadata:\n  name: any\n  annotations:\n    %s%d: \"\"\n", mark, i)
			part.Patches = append(part.Patches, types.Patch{Target: p.Target, Patch: marker})
		}
		if i < len(patches) {
			part.Patches = append(part.Patches, p)
		}
	}
	out := map[int]bool{}
	text, err := sigsyaml.Marshal(part)
	if err != nil {
		return all
	}
	b.instead = map[string][]byte{f.name: text}
	defer func() { b.instead = nil }()
	m, err := b.kustomizer().Run(b.tree, "/"+f.dir)
	if err != nil {
		return all
	}
	for _, r := range m.Resources() {
		for key := range r.GetAnnotations() {
			if i, err := strconv.Atoi(strings.TrimPrefix(key, mark)); err == nil {
				out[i] = true
			}
		}
	}
	return out
}

func (b *build) kustomizer() *krusty.Kustomizer {
	return krusty.MakeKustomizer(&krusty.Options{
		Reorder:          krusty.ReorderOptionUnspecified, // as in the kustomize command
		LoadRestrictions: types.LoadRestrictionsNone,      // the tree has its own restrictions
		PluginConfig:     types.DisabledPluginConfig(),
	})
}
