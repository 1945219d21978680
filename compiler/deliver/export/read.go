package export

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxObject is how many bytes of one object's file are read. Kubernetes takes
// far less.
const maxObject = 16 << 20

// Clusters returns the IDs of the fleet's clusters that the tree has, sorted;
// none when Dir is not there. One whose bundle.json cannot be read is among them:
// Objects says what is wrong with it.
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
		case err != nil, index.contents != nil && index.Fleet == t.Fleet && index.Cluster == name:
			ids = append(ids, name)
		}
	})
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	slices.Sort(ids)
	return ids, err
}

// Objects returns the objects of a cluster that the tree has, without their marks
// (see [fleet.Mark]) and with the names of their releases and nothing else of them; none when the tree
// does not have the cluster. It takes no lock: while an export writes, they are
// the old or the new ones of a cluster, or an error says that they changed.
func (t *Tree) Objects(cluster string) ([]fleet.Object, error) {
	s, err := t.Check()
	if err != nil {
		return nil, err
	}
	objs, err := s.objects(cluster)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return objs, err
}

func (s *Session) objects(cluster string) ([]fleet.Object, error) {
	index, err := s.readIndex(cluster, ownedIndex{})
	if index.contents == nil || err != nil {
		return nil, err
	}
	releases := map[string]*fleet.Release{}
	var objs []fleet.Object
	var faults diag.List
	for _, o := range index.Objects {
		u, err := s.object(path.Join(cluster, o.File))
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

// object reads the file of one object.
func (s *Session) object(name string) (*unstructured.Unstructured, error) {
	wrong := func(msg string, cause error) error {
		return &diag.Diag{At: s.at(name), Msg: msg, Hint: "restore it from version control, or run fleetc export", Cause: cause}
	}
	info, err := s.lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return nil, wrong("the file is missing, and bundle.json lists it", nil)
	case !info.Mode().IsRegular() || info.Size() > maxObject:
		return nil, wrong("this is no file of an object", nil)
	}
	data, err := s.readFile(name, info.Size())
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON(data)
	if err == nil {
		err = utiljson.Unmarshal(text, &u.Object)
	}
	if err != nil || u.Object == nil {
		return nil, wrong(fmt.Sprintf("the file has no object: %v", err), err)
	}
	return fleet.Unmark(u), nil
}
