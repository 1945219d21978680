package edit

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// usedSources returns the addresses of the pins that the kustomizations of the fleet use, also
// those that no release names yet. ok is false if one that has pins cannot be built: it may use
// any pin.
func usedSources(ctx context.Context, root string, charts *chart.Source, pins map[string]fleet.RemoteSource) (used map[string]bool, ok bool) {
	used = map[string]bool{}
	in := source.KustomizeInputs{
		Remotes: func(ctx context.Context, address string) (*fleet.RemoteFiles, error) {
			used[address] = true
			pin, ok := pins[address]
			if !ok || pin.IsChart() {
				return nil, chart.CheckAddress(address)
			}
			return charts.Pinned(ctx, pin)
		},
		Charts: &compiler.KustomizeCharts{Templates: &render.Charts{}, Get: func(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error) {
			if ref.Path == "" {
				address := chart.ChartAddress(ref)
				used[address] = true
				if ref = pins[address].Chart; ref == (fleet.ChartRef{}) {
					return nil, nil
				}
			}
			return charts.Chart(ctx, ref)
		}},
	}
	files, err := kustomizationFiles(root)
	if err != nil {
		return nil, false
	}
	read, failed := map[string]bool{}, []string{}
	for _, file := range files {
		_, reads, err := source.BuildKustomization(ctx, root, path.Dir(file), &fleet.Release{Kustomize: path.Dir(file)}, in)
		if err != nil {
			failed = append(failed, file)
			continue
		}
		for _, name := range reads {
			read[name] = true
		}
	}
	return used, !slices.ContainsFunc(failed, func(file string) bool {
		// A component may fail alone, but not as a part of others.
		return !read[file] && mentions(root, file, pins)
	})
}

// mentions reports whether a kustomization has a pinned address, or charts.
func mentions(root, file string, pins map[string]fleet.RemoteSource) bool {
	text, err := ReadFile(root, file)
	return err != nil || bytes.Contains(text, []byte("helmCharts")) || slices.ContainsFunc(slices.Collect(maps.Keys(pins)), func(address string) bool {
		return bytes.Contains(text, []byte(address))
	})
}

// kustomizationFiles returns the files of the kustomizations of the fleet.
func kustomizationFiles(root string) ([]string, error) {
	var out []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "cue.mod" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case source.IsKustomization(name):
			out = append(out, name)
		}
		return nil
	})
	return out, err
}
