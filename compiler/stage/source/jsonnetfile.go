package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/google/go-jsonnet"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/base/par"
)

const (
	maxJsonnetFile = 16 << 20 // bytes of a file
	maxJsonnetCode = 4 << 20  // bytes of a file that is parsed, which takes a hundred times as much memory
)

// jsonnetFiles reads each file of a fleet once. The zero value is ready for use.
type jsonnetFiles struct {
	once    sync.Once
	root    *os.Root // nil until the first file
	rootErr error
	loaded  par.Memo[string, *jsonnetFile]
}

// A jsonnetFile has the content of a file, or the error of reading it.
type jsonnetFile struct {
	contents jsonnet.Contents
	missing  bool
	err      error      // read error, as a clause
	notUTF8  *diag.Diag // nil for text

	once     sync.Once
	parseErr error // why the file is not parsed
}

// load returns a file by its clean, slash-separated path relative to dir, the
// root.
func (s *jsonnetFiles) load(dir, name string) *jsonnetFile {
	return s.loaded.Get(name, func() *jsonnetFile {
		switch data, err := s.read(dir, name); {
		case err == nil:
			return &jsonnetFile{contents: jsonnet.MakeContentsRaw(data), notUTF8: diag.NotUTF8(diag.CodeJsonnet, name, data)}
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			return &jsonnetFile{missing: true}
		default:
			return &jsonnetFile{err: err}
		}
	})
}

// read reads a regular file. Links may not leave the root and may not lead into
// .git.
func (s *jsonnetFiles) read(dir, name string) ([]byte, error) {
	s.once.Do(func() { s.root, s.rootErr = os.OpenRoot(dir) })
	if s.rootErr != nil {
		return nil, s.rootErr
	}
	real, err := git.ResolveLink(s.root, name)
	if err != nil {
		return nil, clause(err)
	}
	// Opening a pipe would block.
	info, err := s.root.Lstat(real)
	switch {
	case err != nil:
		return nil, clause(err)
	case info.IsDir():
		return nil, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	data, err := git.ReadFile(s.root, real, maxJsonnetFile)
	if err != nil {
		return nil, clause(err)
	}
	return data, nil
}

// clause returns the cause of a path error, without the path, and another error as a clause
// about the file.
func clause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return fmt.Errorf("it %w", err)
}

func (s *jsonnetFiles) close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// checkParse returns an error if the content is too large or nested too deep
// for the parser.
func (f *jsonnetFile) checkParse() error {
	f.once.Do(func() {
		data := f.contents.Data()
		if len(data) > maxJsonnetCode {
			f.parseErr = fmt.Errorf("it is larger than %d MiB, too much for code", maxJsonnetCode>>20)
			return
		}
		f.parseErr = nesting(data)
	})
	return f.parseErr
}
