package manifests

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links a path may have, as Linux has it.
const maxLinks = 40

// A tree is the fleet's root, which cannot be left.
type tree struct {
	root *os.Root
}

// errLeaves is that of a path that leads out of the root.
var errLeaves = errors.New("leads out of the repository")

// real returns the path, which is clean and below the root, with all symbolic
// links resolved.
func (t tree) real(name string) (string, error) {
	links := 0
	done, rest := ".", name
	for rest != "" && rest != "." {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		if first == ".." {
			if done == "." {
				return "", errLeaves
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, first)
		info, err := t.root.Lstat(filepath.FromSlash(next))
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
		to, err := t.root.Readlink(filepath.FromSlash(next))
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) || path.IsAbs(to) {
			return "", errLeaves
		}
		// What the link says is not cleaned: x/.. is the parent of what x links to.
		rest = strings.TrimSuffix(strings.Trim(filepath.ToSlash(to), "/")+"/"+rest, "/")
	}
	return done, nil
}

// stat returns where a file is and what it is, with links followed.
func (t tree) stat(name string) (real string, info fs.FileInfo, err error) {
	if real, err = t.real(name); err != nil {
		return "", nil, err
	}
	info, err = t.root.Lstat(filepath.FromSlash(real))
	return real, info, err
}

// read returns the content of a file, of which real is the path.
func (t tree) read(real string) ([]byte, error) {
	f, err := t.root.Open(filepath.FromSlash(real))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("is larger than %d MiB", maxFile>>20)
	}
	return data, nil
}

// names returns what a directory has, sorted.
func (t tree) names(real string) ([]string, error) {
	f, err := t.root.Open(filepath.FromSlash(real))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// reason is why a file cannot be read, as what follows its name.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + e.Err.Error()
	}
	return err.Error()
}
