package load

import (
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Reload is [Load] for a fleet in which only the text of some files has changed. It reads
// the clusters that depend on one of these files, and those that again selects. The other
// clusters have no instance. It returns false if more than that has to be read.
func (f *Fleet) Reload(edits Edits, changed []string, again func(id string) bool) (next *Fleet, ok bool, err error) {
	if !f.whole || len(f.leaves) == 0 {
		return nil, false, nil
	}
	for _, name := range slices.Clone(changed) {
		changed = append(changed, f.tree.sameFile(name)[1:]...)
	}
	for _, name := range changed {
		inLayer := slices.Contains(f.tree.files[path.Dir(name)], path.Base(name))
		_, isStray := parseHead(f.Root, name, edits)
		if inLayer && isStray || !inLayer && !f.embeds(slices.Collect(maps.Keys(f.files)), name) {
			return nil, false, nil
		}
	}
	reloaded := *f
	next = &reloaded
	next.leaves, next.files = slices.Clone(f.leaves), maps.Clone(f.files)
	var at []int
	var dirs []string
	for i, l := range f.leaves {
		if again(idOf(l.dir)) || slices.ContainsFunc(changed, func(name string) bool { return f.dependsOn(l, name) }) {
			at, dirs = append(at, i), append(dirs, l.dir)
		}
	}
	read, err := next.load(edits, dirs)
	if err != nil {
		return nil, false, err
	}
	for i, l := range read {
		next.leaves[at[i]] = l
	}
	return next, true, next.check()
}

// dependsOn reports whether the instance of a directory depends on a file.
func (f *Fleet) dependsOn(l leaf, name string) bool {
	return fleet.IsWithin(l.dir, path.Dir(name)) || slices.Contains(l.files, filepath.Join(f.Root, filepath.FromSlash(name))) || f.embeds(l.files, name)
}

// embeds reports whether one of the files embeds another one.
func (f *Fleet) embeds(files []string, name string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		return slices.ContainsFunc(f.files[file].embeds, func(e diag.EmbeddedFile) bool { return e.Name == name })
	})
}

// WithoutInstances returns the fleet for a later [Fleet.Reload]. Instances take much memory.
func (f *Fleet) WithoutInstances() *Fleet {
	out := *f
	out.leaves, out.Clusters = slices.Clone(f.leaves), nil
	for i := range out.leaves {
		out.leaves[i].cluster.Instance = nil
	}
	return &out
}
