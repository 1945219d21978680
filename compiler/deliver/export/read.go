package export

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxObject is the maximum size of an object's file. Kubernetes accepts far
// less.
const maxObject = 16 << 20

// Clusters returns the sorted IDs of the fleet's clusters in the tree; none if
// Dir does not exist. It includes clusters whose bundle.json is invalid;
// Objects reports the fault.
func (t *Tree) Clusters() (ids []string, err error) {
	s, err := t.Check()
	if err != nil || s.root == nil {
		return nil, err
	}
	err = s.eachDirectory(func(name string) {
		index, err := s.readIndex(name, ownedIndex{})
		switch {
		case errors.Is(err, errForeign):
			// Other tools have a bundle.json as well.
		case err != nil, index.indexContents != nil && index.Fleet == t.Fleet && index.Cluster == name:
			ids = append(ids, name)
		}
	})
	slices.Sort(ids)
	return ids, cmp.Or(err, s.Close())
}

// ExportedClusters is [Tree.Clusters] for a directory that the user names as an export. It
// returns a fault, with the hint, if Dir does not exist, has directories but no bundle of any
// fleet, or is above or below the directory of the export.
func (t *Tree) ExportedClusters(hint string) ([]string, error) {
	refuse := func(msg, hint string) ([]string, error) {
		return nil, &diag.Diag{Code: diag.CodeDamagedExport, At: []diag.Pos{{File: t.Dir}}, Msg: msg, Hint: hint}
	}
	info, err := os.Stat(t.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("the directory does not exist", hint)
	case err == nil && !info.IsDir():
		return refuse("this is not a directory", hint)
	}
	ids, err := t.Clusters()
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	s, err := t.Check()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	directories, bundles := 0, 0
	misplaced, cluster := "", "" // directory and cluster of a bundle
	find := func(name string) {
		directories++
		index, err := s.readIndex(name, ownedIndex{})
		switch {
		case index.indexContents != nil && index.Cluster != name:
			misplaced, cluster = name, index.Cluster
		case index.indexContents != nil || err != nil && !errors.Is(err, errForeign):
			bundles++
		}
	}
	if err := s.eachDirectory(find); err != nil || bundles > 0 {
		return nil, err
	}
	files, _ := fs.Glob(os.DirFS(t.Dir), "*.yaml")
	isEmpty := directories+len(files) == 0
	find(".") // that of a cluster
	switch {
	case cluster != "":
		if root, ok := strings.CutSuffix(filepath.ToSlash(filepath.Join(t.Dir, misplaced)), "/"+cluster); ok {
			hint = "name the directory of the export, " + root
		}
		in := func(dir string) string { return diag.Visible(path.Join(dir, indexFile), diag.MaxText) }
		return refuse(fmt.Sprintf("this is not the directory of an export: a bundle is at %s in it, but belongs at %s", in(misplaced), in(cluster)), hint)
	case !isEmpty:
		return refuse("fleetc did not export this directory: nothing in it has a bundle.json of fleetc", hint)
	}
	return nil, nil
}

// Objects returns the objects of a cluster in the tree without the metadata of
// [fleet.Mark], and with releases that only have a name and stage. It includes the
// Applications of releases that Helm delivers. It returns
// none if the tree does not contain the cluster, and a fault if it contains one of another
// fleet in its place. It takes no lock: during an export it returns the old or the new
// objects, or an error.
func (t *Tree) Objects(cluster string) ([]fleet.Object, error) { return t.objects(cluster, false) }

// Intact returns the objects of a cluster like [Tree.Objects], without those whose files are
// missing or not as the export wrote them.
func (t *Tree) Intact(cluster string) ([]fleet.Object, error) { return t.objects(cluster, true) }

// Layout returns the layout of a cluster's files in the tree; that of a new export if it
// cannot be read, which Objects reports.
func (t *Tree) Layout(cluster string) fleet.Layout {
	s, err := t.Check()
	if err != nil {
		return fleet.PlainLayout
	}
	defer s.Close()
	if index, err := s.readIndex(cluster, ownedIndex{}); err == nil && index.indexContents != nil {
		return cmp.Or(index.Layout, fleet.PlainLayout)
	}
	return fleet.PlainLayout
}

func (t *Tree) objects(cluster string, onlyIntact bool) ([]fleet.Object, error) {
	s, err := t.Check()
	if err != nil {
		return nil, err
	}
	objs, err := s.objects(cluster, onlyIntact)
	return objs, cmp.Or(err, s.Close())
}

// objects returns the objects of a cluster, or only those with intact files.
func (s *Session) objects(cluster string, onlyIntact bool) ([]fleet.Object, error) {
	index, err := s.ownIndex(cluster)
	if index.indexContents == nil || err != nil {
		return nil, err
	}
	releases := map[string]*fleet.Release{}
	var objs []fleet.Object
	var faults diag.List
	all := slices.Clone(index.Objects)
	for _, f := range index.Files {
		if release := ApplicationRelease(cluster, f.File); release != "" {
			all = append(all, listedObject{Release: release, IndexFile: f})
		}
	}
	for _, o := range all {
		u, digest, err := s.object(path.Join(cluster, o.File))
		if onlyIntact && (err != nil || digest != o.Digest) {
			continue
		}
		if err != nil {
			faults.Add(err)
			continue
		}
		r := releases[o.Release]
		if r == nil {
			r = &fleet.Release{Name: o.Release, Stage: o.Stage}
			releases[o.Release] = r
		}
		objs = append(objs, fleet.Object{Unstructured: u, Release: r})
	}
	return objs, faults.Err()
}

// object reads the file of one object, and returns the digest of the file, too.
func (s *Session) object(name string) (u *unstructured.Unstructured, digest string, err error) {
	wrong := func(msg string, cause error) (*unstructured.Unstructured, string, error) {
		return nil, "", &diag.Diag{Code: diag.CodeDamagedExport, At: s.at(name), Msg: msg, Hint: "restore it from version control, or remove the directory of the cluster, then run fleetc export again", Cause: cause}
	}
	info, err := s.lstat(name)
	switch {
	case err != nil:
		return nil, "", err
	case info == nil:
		return wrong("the file is missing, and bundle.json lists it", nil)
	case !info.Mode().IsRegular() || info.Size() > maxObject:
		return wrong("expected a file with one object, got something else", nil)
	}
	data, err := s.readFile(name, info.Size())
	if err != nil {
		return nil, "", err
	}
	u = &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON(data)
	if err == nil {
		err = utiljson.Unmarshal(text, &u.Object)
	}
	if err == nil && u.Object == nil {
		return wrong("the file is empty", nil)
	}
	if err != nil {
		return wrong("the file is not a valid object: "+diag.Brief(err), err)
	}
	return fleet.Unmark(u), digestOf(data), nil
}
