// Package overlays reads kustomize overlays into a model for import: each overlay is a
// cluster with one release, whose objects are those that kustomize builds. The layers of
// the fleet take the place of bases and components. The package does not use the network:
// a remote base is a fault.
package overlays

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit/importer"
	"github.com/fleetc/fleetc/compiler/stage/source/kustomize"
	"sigs.k8s.io/yaml"
)

// Options say what to read.
type Options struct {
	Clusters   []importer.ClusterSource // at least one; each source is the directory of an overlay
	Release    string                   // name of the release; the name of the repository's directory if empty
	Kubernetes string                   // version of the clusters
}

// Read builds all overlays. The error holds the faults of all of them.
func Read(ctx context.Context, opts Options) (*importer.Model, error) {
	m := &importer.Model{Tool: "kustomize"}
	clusters := slices.Clone(opts.Clusters)
	for i, o := range clusters {
		if info, err := os.Stat(o.Source); err != nil || !info.IsDir() {
			return nil, &diag.Diag{Msg: diag.Visible(o.Source, diag.MaxText) + " is not a directory", Hint: "name the directory of a kustomization", Cause: err}
		}
		var err error
		if clusters[i].Source, err = filepath.Abs(o.Source); err != nil {
			return nil, err
		}
	}
	root, err := repositoryOf(clusters)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(opts.Release, importer.NameOf(filepath.Base(root)), "imported")
	var faults diag.List
	files := map[string]bool{}
	kept := false
	overlayFiles := map[*importer.Cluster][]string{}
	for _, o := range clusters {
		c, reads, err := readOverlay(ctx, root, o, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults.Add(diag.In(o.ID, diag.Moved(err, (&importer.Repository{Dir: root}).Position)))
		c.Kubernetes = opts.Kubernetes
		m.Clusters = append(m.Clusters, c)
		for _, file := range reads {
			files[file] = true
			kept = kept || hasGenerators(root, file)
		}
		overlayFiles[c] = reads
		for _, r := range c.Releases {
			m.Documents += len(r.Objects)
		}
	}
	for i := range clusters {
		if c := m.Clusters[i]; kept && len(c.Releases) > 0 {
			if err := keep(root, clusters[i], c.Releases[0], overlayFiles[c]); err != nil {
				return nil, err
			}
		}
	}
	for file := range files {
		if data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file))); err == nil {
			m.Lines += strings.Count(string(data), "\n")
		}
	}
	slices.SortFunc(m.Clusters, func(a, b *importer.Cluster) int { return cmp.Compare(a.ID, b.ID) })
	return m, faults.Err()
}

// repositoryOf returns the directory that overlays may read: the git repository of the
// first one, or without one the directory that contains all of them.
func repositoryOf(overlays []importer.ClusterSource) (string, error) {
	root, ok := importer.GitRoot(overlays[0].Source)
	if !ok {
		root = filepath.Dir(filepath.Dir(overlays[0].Source))
	}
	for _, o := range overlays {
		if rel, err := filepath.Rel(root, o.Source); err != nil || !filepath.IsLocal(rel) {
			return "", &diag.Diag{Msg: "the overlay " + o.ID + " is outside of " + root, Hint: "import overlays of one repository, which has all bases"}
		}
	}
	return root, nil
}

// readOverlay returns a cluster with the objects of an overlay, and the files that the
// build read.
func readOverlay(ctx context.Context, root string, o importer.ClusterSource, name string) (*importer.Cluster, []string, error) {
	c := &importer.Cluster{ID: o.ID, Facts: map[string]string{}}
	dir, err := filepath.Rel(root, o.Source)
	if err != nil {
		return c, nil, err
	}
	dir = filepath.ToSlash(dir)
	objs, reads, unmatched, err := kustomize.BuildAsKustomize(ctx, root, dir, &fleet.Release{}, nil)
	if err = errors.Join(err, unmatched.Err()); err != nil {
		return c, reads, err
	}
	r := &importer.Release{Name: name, Origin: "overlay " + dir, Pos: diag.Pos{File: filepath.ToSlash(filepath.Join(o.Source, "kustomization.yaml"))}}
	r.SetRendered(objs)
	c.Releases = []*importer.Release{r}
	return c, reads, nil
}

// generatorFields are fields of kustomizations that compute parts of objects from others.
// Objects alone would lose this, such as the hash in the name of a ConfigMap.
var generatorFields = []string{"configMapGenerator", "secretGenerator", "generators", "transformers", "replacements", "vars", "configurations", "openapi"}

// hasGenerators reports whether a file is a kustomization with one of generatorFields.
func hasGenerators(root, file string) bool {
	if !slices.Contains(importer.KustomizationFiles, path.Base(file)) {
		return false
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	var content map[string]any
	if err != nil || yaml.Unmarshal(data, &content) != nil {
		return false
	}
	return slices.ContainsFunc(generatorFields, func(field string) bool { return content[field] != nil })
}

// keep makes the files of an overlay the source of its release.
func keep(root string, o importer.ClusterSource, r *importer.Release, files []string) error {
	dir, err := filepath.Rel(root, o.Source)
	if err != nil {
		return err
	}
	kept, err := importer.KeptFiles(root, files)
	if err != nil {
		return err
	}
	r.Source = &importer.Source{Field: "kustomize", Path: filepath.ToSlash(dir), Files: kept}
	return nil
}
