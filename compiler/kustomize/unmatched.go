package kustomize

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

// Kustomize says nothing of a patch whose target matches nothing. So that is
// looked for once the whole builds: each kustomization is built again up to its
// patches, with one before each of them that marks what the target matches. The
// patches of components are left as they are: whoever includes one need not have
// all that it patches.

// mark is the beginning of the annotations that mark.
const mark = "fleetc/matched-"

// unmatched reports the targets of patches that match nothing.
func (b *build) unmatched() {
	for _, dir := range slices.Sorted(maps.Keys(b.checked)) {
		f := b.checked[dir]
		// As they are applied.
		merges, late := f.strategic(), len(f.k.Patches)
		patches := slices.Concat(merges, f.k.Patches, f.deprecated().jsonPatches)
		if f.k.Kind == types.ComponentKind || !slices.ContainsFunc(patches, func(p types.Patch) bool { return p.Target != nil }) {
			continue
		}
		matched := b.marked(f, patches)
		for i, p := range patches {
			// What a patch marks, it or one after it may remove.
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

// marked returns which of the patches have a target that matches something after
// the patches before them. The last ones are not applied themselves.
func (b *build) marked(f *file, patches []types.Patch, last ...types.Patch) map[int]bool {
	k := f.k
	k.FixKustomization() // bases
	part := types.Kustomization{
		TypeMeta: k.TypeMeta, Resources: k.Resources, Components: k.Components, Generators: k.Generators, Configurations: k.Configurations,
		ConfigMapGenerator: k.ConfigMapGenerator, SecretGenerator: k.SecretGenerator, GeneratorOptions: k.GeneratorOptions,
	}
	all := map[int]bool{} // what is true when the part does not build, and nothing can be told
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
		Reorder:          krusty.ReorderOptionUnspecified, // as the command does
		LoadRestrictions: types.LoadRestrictionsNone,      // the tree has its own
		PluginConfig:     types.DisabledPluginConfig(),
	})
}
