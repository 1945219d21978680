package export

import (
	"maps"
	"path"
	"slices"
)

// A DirectoryState identifies the content of a cluster's complete directory.
type DirectoryState struct {
	Digest string // of bundle.json, which contains the digests of all other files; empty for an incomplete directory
	Files  int    // number of listed files
}

// DirectoryState returns the state of a cluster's directory. It is incomplete
// if a listed file is missing or differs, or if something prevents an export.
// It changes nothing, and may be called by several goroutines before anything
// is staged.
func (s *Session) DirectoryState(id string) DirectoryState {
	if s.root == nil || !legalID(id) {
		return DirectoryState{}
	}
	old, err := s.ownIndex(id)
	if err != nil || old.indexContents == nil {
		return DirectoryState{}
	}
	w := walker{open: s.directory}
	defer w.close()
	owned := old.owned()
	for _, name := range slices.Sorted(maps.Keys(owned)) {
		if name == indexFile {
			continue
		}
		if _, ok := w.content(path.Join(id, name), owned[name]); !ok {
			return DirectoryState{}
		}
	}
	return DirectoryState{Digest: old.digest, Files: len(owned)}
}

// content returns the content of a file if it has the given digest. It is
// valid until the next call.
func (w *walker) content(name, digest string) (data []byte, ok bool) {
	in, err := w.to(name)
	if err != nil {
		return nil, false
	}
	info, err := lstat(in, path.Base(name))
	if err != nil || info == nil || !info.Mode().IsRegular() || info.Size() > maxObject {
		return nil, false
	}
	data, err = w.read(path.Base(name), info.Size())
	return data, err == nil && int64(len(data)) == info.Size() && digest == digestOf(data)
}

// MarkUnchanged replaces Stage for a cluster whose files are known to be up to
// date. It does not check the files.
func (s *Session) MarkUnchanged(id string, files int) error {
	p, err := s.claim(id)
	if err == nil {
		p.Unchanged = files
	}
	_, err = s.add(p, err)
	return err
}

// ClusterParents returns the sorted directories that contain directories of
// clusters. files are the files of a tree. Parents may be clusters themselves.
func ClusterParents(files []string) []string {
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
