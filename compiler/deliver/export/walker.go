package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// directory opens a directory below Dir, and returns nil if it does not exist. It returns a
// fault if the path, or one above it, is not a directory.
func (s *Session) directory(name string) (*os.Root, error) {
	if err := s.directories(name); err != nil || s.root == nil {
		return nil, err
	}
	dir, err := s.root.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.at(name)[0].File, err)
	}
	return dir, nil
}

// staging creates and opens a directory of the staging area.
func (s *Session) staging(name string) (*os.Root, error) {
	if err := s.root.MkdirAll(name, 0o755); err != nil {
		return nil, s.stagingError(err)
	}
	dir, err := s.root.OpenRoot(name)
	if err != nil {
		return nil, s.stagingError(err)
	}
	return dir, nil
}

// entries returns the entries of a directory below Dir, sorted by name; none if it does not
// exist. It returns a fault as directory does.
func (s *Session) entries(name string) ([]fs.DirEntry, error) {
	dir, err := s.directory(name)
	if dir == nil || err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := fs.ReadDir(dir.FS(), ".")
	return all, s.fileError("read", name, err)
}

// A walker visits files in order, and keeps the current directory open, so that files are
// accessed by their base names: an os.Root opens all parent directories for each operation.
type walker struct {
	open func(dir string) (*os.Root, error)
	dir  string
	at   *os.Root // nil if it does not exist
	err  error
	data []byte
}

// to returns the directory of a file.
func (w *walker) to(name string) (*os.Root, error) {
	if dir := path.Dir(name); dir != w.dir {
		w.close()
		w.dir = dir
		w.at, w.err = w.open(dir)
	}
	return w.at, w.err
}

// read returns the content of a regular file in the current directory. It reads
// at most one byte more than size. The result is valid until the next call.
func (w *walker) read(name string, size int64) ([]byte, error) {
	if int64(cap(w.data)) <= size {
		w.data = make([]byte, size+1)
	}
	return readInto(w.data[:size+1], w.at, name)
}

// close closes the directory. Errors cannot lose data, since it is only read.
func (w *walker) close() {
	if w.at != nil {
		_ = w.at.Close()
	}
}

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

// lstat returns the file info of a path below the root, or nil if it or the root does not
// exist.
func lstat(root *os.Root, name string) (fs.FileInfo, error) {
	if root == nil {
		return nil, nil
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}
