package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// A folder is a directory that is open. An os.Root opens every directory on the
// way to a file, each time: what is done to files that lie together is done in
// their folder, by their last names. A nil folder is one that is not there.
type folder struct {
	*os.Root
	file *os.File // the same, for what an os.Root alone does not do
	name string   // below Dir
}

// folder opens the directory with the name below Dir, nil when there is none. It
// is a fault when something else is in its place, or in that of one above it.
func (s *Session) folder(name string) (*folder, error) {
	if err := s.directories(name); err != nil || s.root == nil {
		return nil, err
	}
	root, err := s.root.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var file *os.File
		if file, err = root.Open("."); err == nil {
			return &folder{root, file, name}, nil
		}
		_ = root.Close()
	}
	return nil, fmt.Errorf("open %s: %w", s.at(name)[0].File, err)
}

// staging makes and opens a directory of the staging area.
func (s *Session) staging(name string) (*folder, error) {
	if err := s.root.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("make the staging area: %w", err)
	}
	f, err := s.folder(name)
	if f == nil && err == nil {
		err = fmt.Errorf("open the staging area: %w", fs.ErrNotExist)
	}
	return f, err
}

// close closes the folder, which nothing can be lost by: it was only read.
func (f *folder) close() {
	if f != nil {
		_ = f.file.Close()
		_ = f.Close()
	}
}

// lstat returns what is in the folder by the name, nil when nothing is.
func (f *folder) lstat(name string) (fs.FileInfo, error) {
	if f == nil {
		return nil, nil
	}
	return lstat(f.Root, name)
}

// entries returns what is in the folder, sorted by name.
func (f *folder) entries() ([]fs.DirEntry, error) {
	if f == nil {
		return nil, nil
	}
	return fs.ReadDir(f.FS(), ".")
}

// A walker goes from file to file, and keeps the folder open that it is in.
type walker struct {
	open func(dir string) (*folder, error)
	dir  string
	at   *folder
	err  error
	data []byte
}

// to returns the folder that a file of the given name is in.
func (w *walker) to(name string) (*folder, error) {
	if dir := path.Dir(name); dir != w.dir {
		w.close()
		w.dir = dir
		w.at, w.err = w.open(dir)
	}
	return w.at, w.err
}

// read returns the content of a regular file of the folder that the walker is in,
// which has the given size, or one byte more of a larger one. It is there until the
// next call.
func (w *walker) read(name string, size int64) ([]byte, error) {
	if int64(cap(w.data)) <= size {
		w.data = make([]byte, size+1)
	}
	return readInto(w.data[:size+1], w.at.Root, name)
}

func (w *walker) close() { w.at.close() }

// readInto reads a file into data, which is one byte longer than it should be, and
// shows by that whether it has grown.
func readInto(data []byte, root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, err := io.ReadAtLeast(file, data, max(1, len(data)-1)) // mostly a single read
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// lstat returns what is at the path below the root, nil when nothing is.
func lstat(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}
