package manifests

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/git"
)

// stat returns the path and the info of a file after following links.
func (s *source) stat(name string) (real string, info fs.FileInfo, err error) {
	if real, err = git.ResolveLink(s.root, name); err != nil {
		return "", nil, err
	}
	info, err = s.root.Lstat(filepath.FromSlash(real))
	return real, info, err
}

// names returns the entries of a directory, sorted.
func (s *source) names(real string) ([]string, error) {
	f, err := s.root.Open(filepath.FromSlash(real))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// reason returns the error of reading a file as a clause that follows its name.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + e.Err.Error()
	}
	return err.Error()
}
