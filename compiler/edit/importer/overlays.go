package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
	"sigs.k8s.io/yaml"
)

// OverlayOptions select the kustomize overlays to read.
type OverlayOptions struct {
	Overlays   []Overlay // at least one
	Release    string    // name of releases without one; the name of the repository's directory if empty
	Kubernetes string    // version of the clusters
	ProveWith  Programs
}

// An Overlay is the directory of a kustomization, which is a release of a cluster.
type Overlay struct {
	Cluster string // ID
	Release string // name; may be empty
	Dir     string
}

// ParseOverlays parses texts of the form [CLUSTER[:RELEASE]=]DIR. defaultID returns the ID of the
// cluster of a text that is only a directory.
func ParseOverlays(texts []string, defaultID func(dir string) string) ([]Overlay, error) {
	var out []Overlay
	var clusters []string // texts of distinct clusters, and those of equal releases
	seen := map[Overlay]bool{}
	for _, text := range texts {
		head, dir, ok := strings.Cut(text, "=")
		if !ok {
			head, dir = defaultID(text), text
		}
		id, release, isNamed := strings.Cut(head, ":")
		if isNamed && (release == "" || nameOf(release) != release) {
			return nil, &diag.Diag{
				Code: diag.CodeImportCluster,
				Msg:  fmt.Sprintf("invalid release name %q", diag.Visible(release, diag.MaxText)),
				Hint: "write lower-case letters, digits and inner dashes, as in dev:shop=overlays/dev",
			}
		}
		of := Overlay{Cluster: id, Release: release}
		if dir == "" || seen[of] || !slices.ContainsFunc(out, func(o Overlay) bool { return o.Cluster == id }) {
			clusters = append(clusters, id+"="+dir)
		}
		seen[of] = true
		out = append(out, Overlay{Cluster: id, Release: release, Dir: dir})
	}
	_, err := ParseClusters(clusters, "prod/eu=overlays/prod-eu, or prod/eu:shop=overlays/prod-eu with the name of the release", nil)
	return out, err
}

// ReadOverlays builds kustomize overlays: each one is a release of a cluster, whose objects
// are those that kustomize builds. The layers of the fleet replace bases and components.
// It does not use the network: a remote base is a fault. The error holds the
// faults of all overlays.
func ReadOverlays(ctx context.Context, opts OverlayOptions) (*Model, error) {
	m := &Model{Tool: "kustomize"}
	overlays := slices.Clone(opts.Overlays)
	for i, o := range overlays {
		if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
			return nil, &diag.Diag{Code: diag.CodeImportFile, Msg: diag.Visible(o.Dir, diag.MaxText) + " is not a directory", Hint: "name the directory of a kustomization", Cause: err}
		}
		var err error
		if overlays[i].Dir, err = filepath.Abs(o.Dir); err != nil {
			return nil, err
		}
	}
	root, err := repositoryOf(overlays)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(opts.Release, nameOf(filepath.Base(root)), "imported")
	clusters := map[string]*Cluster{}
	var faults diag.List
	for _, o := range overlays {
		c := clusters[o.Cluster]
		if c == nil {
			c = &Cluster{ID: o.Cluster, Kubernetes: opts.Kubernetes, Facts: map[string]string{}}
			clusters[o.Cluster] = c
			m.Clusters = append(m.Clusters, c)
		}
		o.Release = cmp.Or(o.Release, name)
		if slices.ContainsFunc(c.Releases, func(r *Release) bool { return r.Name == o.Release }) {
			return nil, &diag.Diag{
				Code: diag.CodeImportCluster,
				Msg:  "the cluster " + o.Cluster + " has two overlays for the release " + o.Release,
				Hint: "name the releases, as in " + o.Cluster + ":shop=overlays/dev",
			}
		}
		r, err := readOverlay(ctx, root, o, opts.ProveWith)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults.Add(diag.In(o.Cluster, diag.Moved(err, (&Repository{Dir: root}).Position)))
		if err == nil {
			c.Releases = append(c.Releases, r)
		}
	}
	keepKustomizations(m)
	return m, faults.Err()
}

// keepKustomizations counts the files of all kustomizations, and keeps those of the releases
// with generators, in all clusters.
func keepKustomizations(m *Model) {
	kept, counted := map[string]bool{}, map[string]bool{} // by release, and by file
	for _, c := range m.Clusters {
		for _, r := range c.Releases {
			m.Documents += len(r.Objects)
			for file, data := range r.Source.Files {
				kept[r.Name] = kept[r.Name] || hasGenerators(file, data)
				if !counted[file] {
					counted[file] = true
					m.Lines += lineCount(data)
				}
			}
		}
	}
	for _, c := range m.Clusters {
		for _, r := range c.Releases {
			if !kept[r.Name] {
				r.Source = nil
			}
		}
	}
}

// repositoryOf returns the directory that overlays may read: the git repository of the
// first one, or without one the directory that contains all of them.
func repositoryOf(overlays []Overlay) (string, error) {
	root, ok := git.FindTop(overlays[0].Dir)
	if !ok {
		root = filepath.Dir(filepath.Dir(overlays[0].Dir))
	}
	for _, o := range overlays {
		if rel, err := filepath.Rel(root, o.Dir); err != nil || !filepath.IsLocal(rel) {
			return "", &diag.Diag{Code: diag.CodeImportFile, Msg: "the overlay of " + o.Cluster + " is outside of " + root, Hint: "import overlays of one repository, which has all bases"}
		}
	}
	return root, nil
}

// readOverlay builds an overlay.
func readOverlay(ctx context.Context, root string, o Overlay, programs Programs) (*Release, error) {
	dir, err := filepath.Rel(root, o.Dir)
	if err != nil {
		return nil, err
	}
	dir = filepath.ToSlash(dir)
	built, err := programs.Build(ctx, root, dir, nil)
	if err = errors.Join(err, built.Unmatched.Err()); err != nil {
		return nil, err
	}
	files, err := keptFiles(root, built.Reads)
	r := &Release{Name: o.Release, Origin: "overlay " + dir, Pos: diag.Pos{File: filepath.ToSlash(filepath.Join(o.Dir, "kustomization.yaml"))}, Unproven: built.Differs}
	r.SetRendered(built.Objects)
	r.Source = &Source{Field: "kustomize", Path: dir, Files: files}
	return r, err
}

// generatorFields are fields of kustomizations that compute parts of objects from others.
// Objects alone would lose this, such as the hash in the name of a ConfigMap.
var generatorFields = []string{"configMapGenerator", "secretGenerator", "generators", "transformers", "replacements", "vars", "configurations", "openapi"}

// hasGenerators reports whether a file is a kustomization with one of generatorFields.
func hasGenerators(file string, data []byte) bool {
	var content map[string]any
	if !slices.Contains(kustomizationFiles, path.Base(file)) || yaml.Unmarshal(data, &content) != nil {
		return false
	}
	return slices.ContainsFunc(generatorFields, func(field string) bool { return content[field] != nil })
}
