package export

import (
	"cmp"
	"errors"
	"path"
	"slices"

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

// MayBeExport reports whether the tree has a bundle of any fleet, or no directories, as
// before the first export.
func (t *Tree) MayBeExport() (bool, error) {
	s, err := t.Check()
	if err != nil || s.root == nil {
		return true, err
	}
	directories, bundles := 0, 0
	err = s.eachDirectory(func(name string) {
		directories++
		if index, err := s.readIndex(name, ownedIndex{}); index.indexContents != nil || err != nil && !errors.Is(err, errForeign) {
			bundles++
		}
	})
	return directories == 0 || bundles > 0, cmp.Or(err, s.Close())
}

// Objects returns the objects of a cluster in the tree without the metadata of
// [fleet.Mark], and with releases that only have a name and stage. It returns
// none if the tree does not contain the cluster. It takes no lock: during an
// export it returns the old or the new objects, or an error.
func (t *Tree) Objects(cluster string) ([]fleet.Object, error) { return t.objects(cluster, false) }

// Intact returns the objects of a cluster like [Tree.Objects], without those whose files are
// missing or not as the export wrote them.
func (t *Tree) Intact(cluster string) ([]fleet.Object, error) { return t.objects(cluster, true) }

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
	index, err := s.readIndex(cluster, ownedIndex{})
	if index.indexContents == nil || err != nil {
		return nil, err
	}
	releases := map[string]*fleet.Release{}
	var objs []fleet.Object
	var faults diag.List
	for _, o := range index.Objects {
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
		return nil, "", &diag.Diag{Code: diag.CodeDamagedExport, At: s.at(name), Msg: msg, Hint: "restore it from version control, or run fleetc export", Cause: cause}
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
