// Package incremental compares digests of inputs to find the clusters that are up to date,
// and those that a change affects. It also explains why a result is not in the cache.
package incremental

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/secret"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// Inputs are the files of a fleet that the bundle of a cluster depends on: the sha256:hex
// of each content by the path relative to the fleet's root. They may include files without
// effect, such as a Jsonnet import that is never evaluated.
//
// Equal inputs give equal bundles. Sources outside of the fleet are pinned by files inside
// of it: charts by digest, CUE modules by version. Inputs do not include the build of
// fleetc, the fields of the compiler, and the previous bundle, which provides the values
// of random fields with keep.
type Inputs map[string]string

// names returns the names of the files, sorted.
func (in Inputs) names() []string { return slices.Sorted(maps.Keys(in)) }

// ReadInputs returns the inputs of the clusters that the patterns select, by ID. It
// renders nothing and fetches no charts. The error holds the faults of all clusters;
// clusters without faults are returned beside it.
func ReadInputs(ctx context.Context, c *compiler.Compiler, patterns ...string) (map[string]Inputs, error) {
	l, err := readLayers(c, patterns)
	defer l.close()
	e := c.Unify(ctx, l.fleet, err)
	if e.Fleet == nil {
		return nil, e.Faults
	}
	var faults diag.List
	faults.Add(e.Faults)
	faults.Add(l.addSources(ctx, e.Clusters))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := map[string]Inputs{}
	for _, cluster := range e.Clusters {
		if in := l.inputs[cluster.ID]; in != nil {
			out[cluster.ID] = in
		}
	}
	return out, faults.Err()
}

// layerInputs is a fleet whose layers are read but not evaluated, with the inputs of its
// clusters. addSources adds the inputs of releases.
type layerInputs struct {
	fleet  *load.Fleet       // nil when the directory is not a fleet
	reader *inputReader      // nil when fleet is nil
	inputs map[string]Inputs // by cluster ID; without clusters with faults

	// outside are files of modules in directories outside of the fleet's root, by cluster
	// ID. They are not Inputs, but results depend on them.
	outside map[string]Inputs
}

// all returns the inputs of a cluster, with those outside of the root.
func (l *layerInputs) all(id string) Inputs {
	all := Inputs{}
	maps.Copy(all, l.inputs[id])
	maps.Copy(all, l.outside[id])
	return all
}

// readLayers reads the layers of the clusters that the patterns select. It returns the
// clusters without faults beside an error with all faults.
func readLayers(c *compiler.Compiler, patterns []string) (*layerInputs, error) {
	loaded, err := c.ReadLayers(patterns)
	if loaded == nil {
		return &layerInputs{}, err
	}
	var faults diag.List
	faults.Add(err)
	l, err := readLayerInputs(c, loaded)
	faults.Add(err)
	return l, faults.Err()
}

// readLayerInputs finds the files of the layers. It returns the clusters without faults
// beside an error with all faults.
func readLayerInputs(c *compiler.Compiler, loaded *load.Fleet) (*layerInputs, error) {
	l := &layerInputs{inputs: map[string]Inputs{}, outside: map[string]Inputs{}}
	r, err := newInputReader(c, loaded.Root)
	if err != nil {
		return l, err
	}
	var faults diag.List
	l.fleet, l.reader = loaded, r
	for _, in := range loaded.Clusters {
		inside, outside := Inputs{}, Inputs{}
		files, others, err := loaded.Files(in)
		if err == nil {
			err = cmp.Or(r.add(inside, files), r.add(outside, others))
		}
		if err != nil {
			faults.Add(diag.In(in.ID, err))
			continue
		}
		l.inputs[in.ID], l.outside[in.ID] = inside, outside
	}
	return l, faults.Err()
}

func (l *layerInputs) close() {
	if l.reader != nil {
		l.reader.jsonnet.Close()
	}
}

// addSources adds the source files of the releases of evaluated clusters. It removes the
// inputs of clusters with faults.
func (l *layerInputs) addSources(ctx context.Context, clusters []*fleet.Cluster) error {
	var faults diag.List
	for _, cluster := range clusters {
		if l.inputs[cluster.ID] == nil {
			continue
		}
		if err := l.reader.addSources(ctx, cluster, l.inputs[cluster.ID]); err != nil {
			delete(l.inputs, cluster.ID)
			faults.Add(diag.In(cluster.ID, err))
		}
	}
	return faults.Err()
}

// inputReader finds the source files of releases and computes their digests. It memoizes
// both.
type inputReader struct {
	dir      string
	edits    load.Edits
	charts   *chart.Source
	jsonnet  *source.JsonnetRenderer
	remotes  *compiler.RemoteReader
	packages func() ([]load.Package, error)   // called once
	digests  map[string]string                // by file; empty if the file does not exist
	sources  par.ResultMemo[string, []string] // source files by kind and path
}

func newInputReader(c *compiler.Compiler, dir string) (*inputReader, error) {
	library, err := fs.ReadFile(fleetc.Library, "fleetc.libsonnet")
	if err != nil {
		return nil, err
	}
	charts := c.Source(dir)
	return &inputReader{
		dir: dir, edits: c.Edits, charts: charts, remotes: compiler.NewRemoteReader(dir, charts, &render.Charts{}), jsonnet: &source.JsonnetRenderer{Dir: dir, Library: library}, packages: sync.OnceValues(func() ([]load.Package, error) { return load.Packages(dir) }),
		digests: map[string]string{},
	}, nil
}

// addSources adds the source files of a cluster's releases and CRDs to its inputs.
func (r *inputReader) addSources(ctx context.Context, c *fleet.Cluster, inputs Inputs) error {
	var faults diag.List
	add := func(files []string, err error) {
		faults.Add(err)
		faults.Add(r.add(inputs, files))
	}
	for _, name := range c.CRDs {
		add(r.sources.Get("crds "+name, func() ([]string, error) {
			_, reads, err := source.ReadManifests(r.dir, name, &fleet.Release{Name: "crds", Pos: c.Pos})
			return reads, err
		}))
	}
	for _, s := range c.Secrets {
		if s.SOPS != "" {
			add(append(secret.SOPSRulesFiles(s.SOPS), s.SOPS), nil)
		}
	}
	for _, release := range c.Releases {
		add(r.release(ctx, release))
	}
	return faults.Err()
}

// add adds the digests of the files that exist.
func (r *inputReader) add(inputs Inputs, files []string) error {
	var faults diag.List
	for _, name := range files {
		digest, err := r.digest(name)
		faults.Add(err)
		if digest != "" {
			inputs[name] = digest
		}
	}
	return faults.Err()
}

// release returns the source files of a release.
func (r *inputReader) release(ctx context.Context, release *fleet.Release) ([]string, error) {
	switch {
	case release.Jsonnet != "":
		return r.sources.Get("jsonnet "+release.Jsonnet, func() ([]string, error) { return r.jsonnetFiles(ctx, release) })
	case release.Kustomize != "":
		return r.sources.Get("kustomize "+release.Kustomize, func() ([]string, error) {
			k, err := r.remotes.Build(ctx, r.dir, release, "")
			return k.Reads, err
		})
	case release.Manifests != "":
		return r.sources.Get("manifests "+release.Manifests, func() ([]string, error) {
			_, reads, err := source.ReadManifests(r.dir, release.Manifests, release)
			return reads, err
		})
	case release.Chart != fleet.ChartRef{}:
		return r.chart(ctx, release, release.Chart)
	}
	return nil, nil
}

// chart returns the fleet's files of a chart.
func (r *inputReader) chart(ctx context.Context, release *fleet.Release, ref fleet.ChartRef) ([]string, error) {
	return r.sources.Get(fmt.Sprintf("chart %#v", ref), func() ([]string, error) {
		files, err := r.charts.Files(ctx, ref)
		return files, (&fleet.ChartUse{Release: release}).Blame(err)
	})
}

// jsonnetFiles returns the files that a Jsonnet file depends on. If it may render charts,
// these are all pinned charts, because the names of charts are computed.
func (r *inputReader) jsonnetFiles(ctx context.Context, release *fleet.Release) ([]string, error) {
	files, charts, err := r.jsonnet.Dependencies(ctx, release.Jsonnet)
	if err != nil || !charts {
		return files, err
	}
	packages, err := r.packages()
	if err != nil {
		return files, err
	}
	var faults diag.List
	for _, p := range packages {
		more, err := r.chart(ctx, release, p.Pins[0].Ref)
		faults.Add(err)
		files = append(append(files, p.File), more...)
	}
	return files, faults.Err()
}

// path returns the path of a file of the fleet in the file system.
func (r *inputReader) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// digest returns the sha256:hex of a file, or "" if the file does not exist.
func (r *inputReader) digest(name string) (string, error) {
	if d, ok := r.digests[name]; ok {
		return d, nil
	}
	if text, ok := r.edits[name]; ok {
		sum := sha256.Sum256(text)
		r.digests[name] = "sha256:" + hex.EncodeToString(sum[:])
		return r.digests[name], nil
	}
	if info, err := os.Stat(r.path(name)); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		// Opening a named pipe would block. The reader of the file reports it.
		r.digests[name] = "not a regular file"
		return r.digests[name], nil
	}
	f, err := os.Open(r.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		r.digests[name] = ""
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	r.digests[name] = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return r.digests[name], nil
}
