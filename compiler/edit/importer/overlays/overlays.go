// Package overlays reads kustomize overlays into a model for import: each overlay is a
// cluster with one release, whose objects are those that kustomize builds. The layers of
// the fleet take the place of bases and components. The package does not use the network:
// a remote base is a fault.
package overlays

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
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit/importer"
	"github.com/fleetc/fleetc/compiler/stage/source/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Options say what to read.
type Options struct {
	Overlays   []Overlay // at least one
	Release    string    // name of the release; the name of the repository's directory if empty
	Kubernetes string    // version of the clusters
}

// An Overlay is a cluster and the directory with its kustomization.
type Overlay struct {
	ID  string
	Dir string // absolute path
}

// ParseOverlay parses DIR or ID=DIR. The default ID is the name of the directory. abs
// returns the absolute path of a directory.
func ParseOverlay(text string, abs func(string) string) (Overlay, error) {
	id, dir, ok := strings.Cut(text, "=")
	if !ok {
		dir = text
		id = filepath.Base(filepath.Clean(abs(dir)))
	}
	if id == "" || dir == "" || !filepath.IsLocal(filepath.FromSlash(id)) || path.Clean(id) != id {
		return Overlay{}, &diag.Diag{Msg: fmt.Sprintf("%q is not a valid overlay", diag.Visible(text, diag.MaxText)), Hint: "write DIR or ID=DIR, such as prod/eu=overlays/prod-eu"}
	}
	dir = abs(dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Overlay{}, &diag.Diag{Msg: diag.Visible(text, diag.MaxText) + " is not a directory", Hint: "name the directory of a kustomization", Cause: err}
	}
	return Overlay{ID: id, Dir: dir}, nil
}

// Read builds all overlays. The error holds the faults of all of them.
func Read(ctx context.Context, opts Options) (*importer.Model, error) {
	m := &importer.Model{Tool: "kustomize"}
	root, err := repositoryOf(opts.Overlays)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(opts.Release, releaseName(filepath.Base(root)))
	var faults diag.List
	files := map[string]bool{}
	for _, o := range opts.Overlays {
		c, reads, err := readOverlay(ctx, root, o, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults.Add(diag.In(o.ID, moved(err, root)))
		c.Kubernetes = opts.Kubernetes
		m.Clusters = append(m.Clusters, c)
		for _, file := range reads {
			files[file] = true
		}
		for _, r := range c.Releases {
			m.Documents += len(r.Objects)
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
func repositoryOf(overlays []Overlay) (string, error) {
	root := overlays[0].Dir
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			root = dir
			break
		}
		if dir == filepath.Dir(dir) {
			root = filepath.Dir(filepath.Dir(root))
			break
		}
	}
	for _, o := range overlays {
		if rel, err := filepath.Rel(root, o.Dir); err != nil || !filepath.IsLocal(rel) {
			return "", &diag.Diag{Msg: "the overlay " + o.ID + " is outside of " + root, Hint: "import overlays of one repository, which has all bases"}
		}
	}
	return root, nil
}

// releaseName returns a valid name of a release.
func releaseName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	return cmp.Or(strings.Trim(name, "-"), "imported")
}

// readOverlay returns a cluster with the objects of an overlay, and the files that the
// build read.
func readOverlay(ctx context.Context, root string, o Overlay, name string) (*importer.Cluster, []string, error) {
	c := &importer.Cluster{ID: o.ID, Facts: map[string]string{}}
	dir, err := filepath.Rel(root, o.Dir)
	if err != nil {
		return c, nil, err
	}
	dir = filepath.ToSlash(dir)
	objs, reads, unmatched, err := kustomize.BuildAsKustomize(ctx, root, dir, &fleet.Release{}, nil)
	if err = errors.Join(err, unmatched.Err()); err != nil {
		return c, reads, err
	}
	r := &importer.Release{Name: name, Origin: "overlay " + dir, Pos: diag.Pos{File: filepath.ToSlash(filepath.Join(o.Dir, "kustomization.yaml"))}}
	contents := make([]*unstructured.Unstructured, len(objs))
	nodes := make([]*importer.Node, len(objs))
	for i, obj := range objs {
		contents[i], nodes[i] = obj.Unstructured, importer.NodeOf(obj.Object, nil)
	}
	r.SetObjects(contents, nodes)
	c.Releases = []*importer.Release{r}
	return c, reads, nil
}

// moved returns faults with absolute positions.
func moved(err error, root string) error {
	var out diag.List
	for _, d := range diag.All(err) {
		one := *d
		one.At = slices.Clone(d.At)
		for i := range one.At {
			one.At[i].File = path.Join(filepath.ToSlash(root), one.At[i].File)
		}
		out = append(out, &one)
	}
	return out.Err()
}
