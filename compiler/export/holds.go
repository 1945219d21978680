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
		if name != indexFile && !w.has(path.Join(id, name), owned[name]) {
			return Holding{}
		}
	}
	return Holding{Digest: old.digest, Files: len(owned)}
}

// has reports whether a file is there with the given digest.
func (w *walker) has(name, digest string) bool {
	in, err := w.to(name)
	if err != nil {
		return false
	}
	info, err := in.lstat(path.Base(name))
	if err != nil || info == nil || !info.Mode().IsRegular() || info.Size() > maxObject {
		return false
	}
	data, err := w.read(path.Base(name), info.Size())
	return err == nil && int64(len(data)) == info.Size() && digest == digestOf(data)
}

// Keep is in place of Stage for a cluster whose directory has already what an
// export would write.
func (s *Session) Keep(id string, h Holding) error {
	p, err := s.claim(id)
	if err == nil {
		p.Unchanged = h.Files
	}
	_, err = s.add(p, err)
	return err
}
