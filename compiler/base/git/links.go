package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is the maximum number of symbolic links in a path, as on Linux.
const maxLinks = 40

// Errors of paths that the compiler must not read.
var (
	ErrLeaves = errors.New("is outside of the fleet's directory")
	ErrGit    = errors.New("is in .git, which may have credentials and is not part of the fleet")
)

// IsDotGit reports whether a slash-separated path is a .git directory or inside
// one. Some file systems ignore case, and accept the name git~1.
func IsDotGit(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}

// Top returns the directory at or above dir that git has as the top of a checkout, where
// .git is a directory or, in a work tree, a file. Without one, it returns dir.
func Top(dir string) string {
	if top, ok := FindTop(dir); ok {
		return top
	}
	return dir
}

// FindTop returns the top of the checkout that contains dir, and false without one.
func FindTop(dir string) (string, bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// A LinkTree contains files, directories and symbolic links; an [os.Root] is one.
type LinkTree interface {
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
}

// ResolveLink resolves all symbolic links in a clean, slash-separated path
// relative to the root. It fails with [fs.ErrNotExist] when a part of the path
// does not exist, with [ErrLeaves] when the path leaves the root, and with
// [ErrGit] when it leads into a .git directory.
func ResolveLink(root LinkTree, name string) (string, error) {
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
		if IsDotGit(first) {
			return "", ErrGit
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
		// The target is not cleaned: x/.. is the parent of the directory that
		// x links to.
		rest = strings.TrimSuffix(strings.Trim(filepath.ToSlash(to), "/")+"/"+rest, "/")
	}
	return done, nil
}

// ReadFile reads a file below the root. It refuses one of more than limit bytes, which are
// whole MiB.
func ReadFile(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("is larger than %d MiB", limit>>20)
	}
	return data, nil
}
