package jsonnet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/google/go-jsonnet"

	"github.com/fleetc/fleetc/compiler/links"
)

const (
	maxFile = 16 << 20 // bytes of one file
	maxCode = 4 << 20  // bytes of one that is evaluated: parsing takes a hundred times as much
)

// files are the files of a fleet, each read once. The zero value is ready for
// use.
type files struct {
	mu     sync.Mutex
	root   *os.Root // nil until the first file
	loaded map[string]*file
}

// A file is the content of a file, or why there is none.
type file struct {
	contents jsonnet.Contents
	missing  bool
	err      error // why it cannot be read, as a clause

	once   sync.Once
	nested error // why it is not parsed
}

// load returns a file by its slash-separated path from the root dir, a clean
// one.
func (s *files) load(dir, name string) *file {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.loaded[name]; f != nil {
		return f
	}
	f := &file{}
	data, err := s.read(dir, name)
	switch {
	case err == nil:
		f.contents = jsonnet.MakeContentsRaw(data)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		f.missing = true
	default:
		f.err = err
	}
	if s.loaded == nil {
		s.loaded = map[string]*file{}
	}
	s.loaded[name] = f
	return f
}

// read reads a regular file. Links are followed as long as they stay inside of the
// root and out of .git.
func (s *files) read(dir, name string) ([]byte, error) {
	if s.root == nil {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		s.root = root
	}
	real, err := links.Resolve(s.root, name)
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return nil, p.Err
	} else if err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	// A pipe would block the opening.
	info, err := s.root.Lstat(real)
	switch {
	case err != nil:
		return nil, clause(err)
	case info.IsDir():
		return nil, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	f, err := s.root.Open(real)
	if err != nil {
		return nil, clause(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, clause(err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return data, nil
}

// clause returns what is wrong with a path, without the path.
func clause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (s *files) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// parsable returns why the content is not given to the parser; nil when it may
// be.
func (f *file) parsable() error {
	f.once.Do(func() {
		data := f.contents.Data()
		if len(data) > maxCode {
			f.nested = fmt.Errorf("it is larger than %d MiB, too much for code; take data by std.parseJson(importstr ...)", maxCode>>20)
			return
		}
		f.nested = nesting(data)
	})
	return f.nested
}
