package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// A folder is an open directory. An os.Root opens all parent directories for
// each file operation, so files in one directory are accessed by their base
// names in the folder. A nil folder does not exist.
type folder struct {
	*os.Root
	file *os.File // the same directory, for operations that os.Root does not have
	name string   // path below Dir
}

// folder opens a directory below Dir, and returns nil if it does not exist. It
// returns a fault if the path, or one above it, is not a directory.
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

// staging creates and opens a directory of the staging area.
func (s *Session) staging(name string) (*folder, error) {
	if err := s.root.MkdirAll(name, 0o755); err != nil {
		return nil, s.stagingError(err)
	}
	f, err := s.folder(name)
	if f == nil && err == nil {
		err = fmt.Errorf("open the staging area: %w", fs.ErrNotExist)
	}
	return f, err
}

// close closes the folder. Errors cannot lose data, since it is only read.
func (f *folder) close() {
	if f != nil {
		_ = f.file.Close()
		_ = f.Close()
	}
}

// lstat returns the file info of a name, or nil if it does not exist.
func (f *folder) lstat(name string) (fs.FileInfo, error) {
	if f == nil {
		return nil, nil
	}
	return lstat(f.Root, name)
}

// entries returns the entries of the folder, sorted by name.
func (f *folder) entries() ([]fs.DirEntry, error) {
	if f == nil {
		return nil, nil
	}
	return fs.ReadDir(f.FS(), ".")
}

// A walker visits files in order, and keeps the current folder open.
type walker struct {
	open func(dir string) (*folder, error)
	dir  string
	at   *folder
	err  error
	data []byte
}

// to returns the folder of a file.
func (w *walker) to(name string) (*folder, error) {
	if dir := path.Dir(name); dir != w.dir {
		w.close()
		w.dir = dir
		w.at, w.err = w.open(dir)
	}
	return w.at, w.err
}

// read returns the content of a regular file in the current folder. It reads
// at most one byte more than size. The result is valid until the next call.
func (w *walker) read(name string, size int64) ([]byte, error) {
	if int64(cap(w.data)) <= size {
		w.data = make([]byte, size+1)
	}
	return readInto(w.data[:size+1], w.at.Root, name)
}

func (w *walker) close() { w.at.close() }

// readInto reads a file into data, which is one byte longer than expected to
// detect a file that has grown.
func readInto(data []byte, root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, err := io.ReadAtLeast(file, data, max(1, len(data)-1)) // usually a single read
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// lstat returns the file info of a path below the root, or nil if it does not
// exist.
func lstat(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}
