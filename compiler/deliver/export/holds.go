package export

import (
	"maps"
	"path"
	"slices"
)

// A Holding is what the directory of a cluster has, when that is whole.
type Holding struct {
	Digest string // of its bundle.json, which has those of all other files; empty when the directory is not whole
	Files  int    // how many it lists
}

// Holds returns what the directory of a cluster has. It is not whole when a file
// that its bundle.json lists is not there as that says, or when anything is
// in the way of an export: Stage says what. It changes nothing, and may be called
// by several goroutines at once, before anything is staged.
func (s *Session) Holds(id string) Holding {
	if s.root == nil || !legalID(id) {
		return Holding{}
	}
	old, err := s.ownIndex(id)
	if err != nil || old.contents == nil {
		return Holding{}
	}
	w := walker{open: s.folder}
	defer func() { w.close() }()
	owned := old.owned()
	for _, name := range slices.Sorted(maps.Keys(owned)) {
		if name == indexFile {
			continue
		}
		if _, has := w.content(path.Join(id, name), owned[name]); !has {
			return Holding{}
		}
	}
	return Holding{Digest: old.digest, Files: len(owned)}
}

// content returns the content of a file, if that has the given digest. It is there
// until the next call.
func (w *walker) content(name, digest string) (data []byte, has bool) {
	in, err := w.to(name)
	if err != nil {
		return nil, false
	}
	info, err := in.lstat(path.Base(name))
	if err != nil || info == nil || !info.Mode().IsRegular() || info.Size() > maxObject {
		return nil, false
	}
	data, err = w.read(path.Base(name), info.Size())
	return data, err == nil && int64(len(data)) == info.Size() && digest == digestOf(data)
}

// Keep is in place of Stage for a cluster of which an export would write nothing: its
// files, so many, are as they would be. It does not look at them.
func (s *Session) Keep(id string, files int) error {
	p, err := s.claim(id)
	if err == nil {
		p.Unchanged = files
	}
	_, err = s.add(p, err)
	return err
}

// AroundClusters returns the directories that have directories of clusters in them,
// when a tree has the files, sorted. One that is a cluster too has what is left of
// others, which are gone.
func AroundClusters(files []string) []string {
	around := map[string]bool{}
	for _, f := range files {
		if path.Base(f) != indexFile {
			continue
		}
		for d := path.Dir(path.Dir(f)); d != "." && !around[d]; d = path.Dir(d) {
			around[d] = true
		}
	}
	return slices.Sorted(maps.Keys(around))
}
