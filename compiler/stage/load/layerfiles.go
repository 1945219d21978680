package load

import (
	"cmp"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A LayerFiles is a layer with the names of its files, sorted, relative to the fleet's root.
type LayerFiles struct {
	fleet.Layer
	Files []string
}

// Layers returns the layers of the fleet at root, those of clusters included, sorted by
// directory.
func Layers(root string) ([]LayerFiles, error) {
	t, err := scan(root)
	if err != nil {
		return nil, err
	}
	var out []LayerFiles
	for _, dir := range t.dirs {
		l := LayerFiles{Layer: fleet.Layer{Name: layerName(dir), Dir: dir}}
		for _, name := range t.files[dir] {
			l.Files = append(l.Files, path.Join(dir, name))
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b LayerFiles) int { return cmp.Compare(a.Dir, b.Dir) })
	return out, nil
}
