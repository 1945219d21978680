// Package incremental finds the clusters that need no work, or that a change affects, by
// the digests of their inputs, and says why a result was not stored.
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

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/source/jsonnet"
	"github.com/fleetc/fleetc/compiler/stage/source/manifests"
	"github.com/fleetc/fleetc/lib"
)

// Inputs are the files of a fleet that the bundle of a cluster is made of: the
// sha256:hex of their contents, by their path relative to the fleet's root.
// There can be some that do not matter, such as an import of Jsonnet that is
// never evaluated.
//
// Two fleets that give a cluster the same inputs give it the same bundle, since
// the first file that the two compiles read and find different would be among
// the inputs of one of them. What comes from outside of the fleet is pinned by
// what is inside: charts by their digest, CUE modules by their version. The
// build of fleetc and the compiler's own fields are no inputs, nor is the last
// bundle, where fields keep their values.
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

// A layered is a fleet of which the layers are read, and nothing is evaluated.
type layered struct {
	fleet  *load.Fleet       // nil when there is none
	reader *inputReader      // nil when there is no fleet
	inputs map[string]Inputs // by the cluster's ID, first those of its layers; none of clusters with faults

	// outside are files of modules outside of the fleet's root, which are no inputs. The
	// fleet pins those of a registry, and nobody those in other directories.
	outside map[string]Inputs
}

// all returns the inputs of a cluster and what it is made of outside of the root.
func (l *layered) all(id string) Inputs {
	all := Inputs{}
	maps.Copy(all, l.inputs[id])
	maps.Copy(all, l.outside[id])
	return all
}

// readLayers reads the layers of the clusters that the patterns select. The
// error has the faults, beside the clusters without any.
func readLayers(c *compiler.Compiler, patterns []string) (*layered, error) {
	loaded, err := c.ReadLayers(patterns)
	if loaded == nil {
		return &layered{}, err
	}
	var faults diag.List
	faults.Add(err)
	l, err := layeredOf(c, loaded)
	faults.Add(err)
	return l, faults.Err()
}

// layeredOf finds the files of the layers. The error has the faults, beside the
// clusters without any.
func layeredOf(c *compiler.Compiler, loaded *load.Fleet) (*layered, error) {
	l := &layered{inputs: map[string]Inputs{}, outside: map[string]Inputs{}}
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

func (l *layered) close() {
	if l.reader != nil {
		l.reader.jsonnet.Close()
	}
}

// addSources adds what the releases of clusters, which are evaluated, are read
// from. Clusters with faults lose their inputs.
func (l *layered) addSources(ctx context.Context, clusters []*fleet.Cluster) error {
	var faults diag.List
	for _, cluster := range clusters {
		if l.inputs[cluster.ID] == nil {
			continue
		}
		if err := l.reader.sources(ctx, cluster, l.inputs[cluster.ID]); err != nil {
			delete(l.inputs, cluster.ID)
			faults.Add(diag.In(cluster.ID, err))
		}
	}
	return faults.Err()
}

// An inputReader finds what releases are read from, everything once.
type inputReader struct {
	dir      string
	charts   *chart.Source
	jsonnet  *jsonnet.Renderer
	remotes  *compiler.RemoteReader
	packages []load.Package
	digests  map[string]string  // by file; empty for one that is not there
	found    map[string]reading // by kind and path
}

// A reading is the files of a release.
type reading struct {
	files []string
	err   error
}

func newInputReader(c *compiler.Compiler, dir string) (*inputReader, error) {
	library, err := lib.Files.ReadFile("fleetc.libsonnet")
	if err != nil {
		return nil, err
	}
	packages, err := load.Packages(dir)
	charts := c.Source(dir)
	return &inputReader{
		dir: dir, charts: charts, remotes: compiler.NewRemoteReader(dir, charts), jsonnet: &jsonnet.Renderer{Dir: dir, Library: library}, packages: packages,
		digests: map[string]string{}, found: map[string]reading{},
	}, err
}

// sources adds the inputs that a cluster has by its releases and its CRDs.
func (r *inputReader) sources(ctx context.Context, c *fleet.Cluster, inputs Inputs) error {
	var faults diag.List
	add := func(files []string, err error) {
		faults.Add(err)
		faults.Add(r.add(inputs, files))
	}
	for _, name := range c.CRDs {
		add(r.once("crds "+name, func() ([]string, error) {
			_, reads, err := manifests.Read(r.dir, name, &fleet.Release{Name: "crds", Pos: c.Pos})
			return reads, err
		}))
	}
	for _, release := range c.Releases {
		add(r.release(ctx, release))
	}
	return faults.Err()
}

// add adds the files that are there.
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

// release returns the files that the source of a release is read from.
func (r *inputReader) release(ctx context.Context, release *fleet.Release) ([]string, error) {
	switch {
	case release.Jsonnet != "":
		return r.once("jsonnet "+release.Jsonnet, func() ([]string, error) { return r.jsonnetFiles(ctx, release) })
	case release.Kustomize != "":
		return r.once("kustomize "+release.Kustomize, func() ([]string, error) {
			_, reads, err := r.remotes.Build(ctx, r.dir, release)
			return reads, err
		})
	case release.Manifests != "":
		return r.once("manifests "+release.Manifests, func() ([]string, error) {
			_, reads, err := manifests.Read(r.dir, release.Manifests, release)
			return reads, err
		})
	case release.Chart != fleet.ChartRef{}:
		return r.chart(ctx, release, release.Chart)
	}
	return nil, nil
}

// chart returns the files of the fleet that a chart is read from.
func (r *inputReader) chart(ctx context.Context, release *fleet.Release, ref fleet.ChartRef) ([]string, error) {
	return r.once(fmt.Sprintf("chart %#v", ref), func() ([]string, error) {
		files, err := r.charts.Files(ctx, ref)
		return files, (&compiler.ChartUse{Release: release}).Blame(err)
	})
}

// jsonnetFiles returns the files that a file of Jsonnet is rendered from. One
// that may ask for charts may ask for any that is pinned.
func (r *inputReader) jsonnetFiles(ctx context.Context, release *fleet.Release) ([]string, error) {
	files, charts, err := r.jsonnet.Dependencies(ctx, release.Jsonnet)
	if err != nil || !charts {
		return files, err
	}
	var faults diag.List
	for _, p := range r.packages {
		more, err := r.chart(ctx, release, p.Pins[0].Ref)
		faults.Add(err)
		files = append(append(files, p.File), more...)
	}
	return files, faults.Err()
}

// once finds the files of what several clusters have once.
func (r *inputReader) once(key string, find func() ([]string, error)) ([]string, error) {
	found, ok := r.found[key]
	if !ok {
		found.files, found.err = find()
		r.found[key] = found
	}
	return found.files, found.err
}

// path returns where a file is.
func (r *inputReader) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// digest returns the sha256:hex of a file, or "" when there is none.
func (r *inputReader) digest(name string) (string, error) {
	if d, ok := r.digests[name]; ok {
		return d, nil
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
