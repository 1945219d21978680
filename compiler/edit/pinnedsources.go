package edit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// AddedSources is the sources that AddSources pinned.
type AddedSources struct {
	File    string        // the written file, relative to the fleet's root, slash-separated
	Sources []AddedSource // of the kustomizations, sorted by address; never nil
	Removed []string      // addresses of pins that no kustomization uses, sorted
}

// AddedSource is a remote source that AddSources pinned.
type AddedSource struct {
	Address string   `json:"address"`           // as written in kustomizations; of a chart, its location and version
	Version string   `json:"version,omitempty"` // of a chart
	Commit  string   `json:"commit,omitempty"`  // of a git repository
	Dirs    []string `json:"dirs,omitempty"`    // pinned directories of the git repository, sorted
	Digest  string   `json:"digest"`
}

// AddSources fetches the remote sources of the kustomizations in directories of the fleet,
// including transitive ones, and pins them. The directories are slash-separated and relative
// to the fleet's root. It does not change pins of other kustomizations, and removes those that no
// kustomization of the fleet uses.
func AddSources(ctx context.Context, c *compiler.Compiler, dirs []string) (added *AddedSources, err error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	pins, err := load.Sources(root)
	if err != nil {
		return nil, err
	}
	fetch := c.Source(root).Fetch()
	defer func() { err = errors.Join(err, fetch.Close()) }()
	var faults diag.List
	in := source.KustomizeInputs{Charts: fetchedCharts(c.Source(root), fetch), Remotes: fetch.Get}
	for _, dir := range dirs {
		dir = path.Clean(strings.TrimPrefix(filepath.ToSlash(dir), "./"))
		_, _, err := source.BuildKustomization(ctx, root, dir, &fleet.Release{Kustomize: dir}, in)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults.Add(err)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	added = &AddedSources{File: load.SourcesFile, Sources: []AddedSource{}}
	found, err := fetch.Pins(ctx)
	if err != nil || len(found) == 0 && len(pins) == 0 {
		return added, err
	}
	if pins == nil {
		pins = map[string]fleet.RemoteSource{}
	}
	for _, pin := range found {
		pins[pin.Address] = pin
		added.Sources = append(added.Sources, AddedSource{pin.Address, pin.Chart.Version, pin.Git.Ref, pin.Dirs, pin.Digest})
	}
	if used, ok := usedSources(ctx, root, c.Source(root), pins); ok {
		for _, pin := range found {
			used[pin.Address] = true // also of a hidden directory
		}
		for _, address := range slices.Sorted(maps.Keys(pins)) {
			if !used[address] {
				added.Removed = append(added.Removed, address)
				delete(pins, address)
			}
		}
	}
	return added, writeSources(root, sortedSources(pins))
}

// fetchedCharts renders the charts of kustomizations, which it downloads.
func fetchedCharts(charts *chart.Source, fetch *chart.Fetch) source.KustomizeCharts {
	return &compiler.KustomizeCharts{Templates: &render.Charts{}, Get: func(ctx context.Context, ref fleet.ChartRef) (*fleet.Chart, error) {
		if ref.Path != "" {
			return charts.Chart(ctx, ref)
		}
		return fetch.Chart(ctx, ref)
	}}
}

// writeSources writes the file that pins sources. It does not replace a file of other tools.
func writeSources(root string, pins []fleet.RemoteSource) error {
	text := chart.Sources(pins)
	existing, err := ReadFile(root, load.SourcesFile)
	header, _, _ := bytes.Cut(text, []byte("\n"))
	switch {
	case err == nil && !bytes.HasPrefix(existing, header):
		return &diag.Diag{Code: diag.CodeNotOwnFile, At: []diag.Pos{{File: load.SourcesFile}}, Msg: "this file exists and was not written by fleetc source add", Hint: "move it"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return WriteFile(root, load.SourcesFile, text)
}

// sortedSources returns pins sorted by address.
func sortedSources(pins map[string]fleet.RemoteSource) []fleet.RemoteSource {
	return diag.Each(slices.Sorted(maps.Keys(pins)), func(address string) fleet.RemoteSource { return pins[address] })
}
