// Package links follows the symbolic links of a repository, as far as its root
// goes.
package links

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a path may have, as Linux has it.
const maxLinks = 40

// ErrLeaves is that of a path that leads out of the root.
var ErrLeaves = errors.New("leads out of the repository")

// Resolve returns a path, which is clean, slash-separated and relative to the
// root, with all symbolic links resolved. It errs when something on the way is
// not there, and when the path leaves the root.
func Resolve(root *os.Root, name string) (string, error) {
	links := 0
	done, rest := ".", name
	for rest != "" && rest != "." {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		if first == ".." {
			if done == "." {
				return "", ErrLeaves
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, first)
		info, err := root.Lstat(filepath.FromSlash(next))
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("has too many symbolic links")
		}
		to, err := root.Readlink(filepath.FromSlash(next))
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) || path.IsAbs(to) {
			return "", ErrLeaves
		}
		// What the link says is not cleaned: x/.. is the parent of what x links to.
		rest = strings.TrimSuffix(strings.Trim(filepath.ToSlash(to), "/")+"/"+rest, "/")
	}
	return done, nil
}
