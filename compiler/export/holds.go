package export

import (
	"io"
	"os"
	"path"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A Holding is what the directory of a cluster has, when that is whole.
type Holding struct {
	Digest string // of its bundle.json, which has those of all other files; empty when the directory is not whole
	files  int
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
	if err != nil || old.Index == nil {
		return Holding{}
	}
	root, err := s.root.OpenRoot(id)
	if err != nil {
		return Holding{}
	}
	defer root.Close()
	r := reader{root: root, dirs: map[string]bool{".": true}}
	owned := old.owned()
	for name, digest := range owned {
		if name != indexFile && !r.has(name, digest) {
			return Holding{}
		}
	}
	return Holding{Digest: old.digest, files: len(owned)}
}

// A reader compares files with digests.
type reader struct {
	root *os.Root
	dirs map[string]bool // whether they are directories
	data []byte
}

// has reports whether a file is there with the given digest.
func (r *reader) has(name, digest string) bool {
	dir := path.Dir(name)
	for ; dir != "."; dir = path.Dir(dir) {
		is, known := r.dirs[dir]
		if !known {
			info, err := r.root.Lstat(dir)
			is = err == nil && info.IsDir()
			r.dirs[dir] = is
		}
		if !is {
			return false
		}
	}
	info, err := r.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxObject {
		return false
	}
	file, err := r.root.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	// One byte more shows that the file has grown.
	if size := info.Size() + 1; int64(cap(r.data)) < size {
		r.data = make([]byte, size)
	}
	n, err := io.ReadFull(file, r.data[:info.Size()+1])
	if err != io.ErrUnexpectedEOF && err != io.EOF || int64(n) != info.Size() {
		return false
	}
	return digest == digestOf(r.data[:n])
}

// Keep is in place of Stage for a cluster whose directory has already what an
// export would write.
func (s *Session) Keep(id string, h Holding) error {
	if err := s.claim(id); err != nil {
		err = diag.In(id, err)
		s.faults.Add(err)
		return err
	}
	s.plans = append(s.plans, &plan{Result: Result{Cluster: id, Unchanged: h.files}, number: len(s.plans)})
	return nil
}
