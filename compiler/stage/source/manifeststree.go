package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/git"
)

// stat returns the path and the info of a file after following links.
func (s *manifestTree) stat(name string) (real string, info fs.FileInfo, err error) {
	if real, err = git.ResolveLink(s.root, name); err != nil {
		return "", nil, err
	}
	info, err = s.root.Lstat(filepath.FromSlash(real))
	return real, info, err
}

// entries returns the names of the entries of a directory, sorted.
func entries(root *os.Root, real string) ([]string, error) {
	f, err := root.Open(filepath.FromSlash(real))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
