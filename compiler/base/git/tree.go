package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// write writes files of the commit into a directory.
func (c *commit) write(ctx context.Context, dir string, files map[string]file) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// Links come last, so that no file is written through a link.
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		link := func(name string) int {
			if files[name].mode == linkMode {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(link(a), link(b)), strings.Compare(a, b))
	})
	var ids strings.Builder
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return &diag.Diag{
				Code: diag.CodeGitLimits,
				Msg:  fmt.Sprintf("%s has a file with a name that this system does not allow: %q", c.ref, diag.Visible(name, diag.MaxText)),
				Hint: "rename the file in the repository",
			}
		}
		ids.WriteString(files[name].id + "\n")
	}
	made := map[string]bool{}
	err = c.git().Stream(ctx, strings.NewReader(ids.String()), func(r io.Reader) error {
		in := bufio.NewReaderSize(r, 1<<16)
		for _, name := range names {
			if parent := path.Dir(name); !made[parent] {
				made[parent] = true
				if err := root.MkdirAll(filepath.FromSlash(parent), 0o700); err != nil {
					return fmt.Errorf("check out %s: %w", c.ref, err)
				}
			}
			if err := c.writeFile(root, filepath.FromSlash(name), files[name], in); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", "--batch")
	if Failed(err) != nil {
		return c.incomplete(err)
	}
	return err
}

// writeFile writes the next file of the output of git cat-file: "<id> blob
// <size>", the content, and a line end.
func (c *commit) writeFile(root *os.Root, name string, f file, in *bufio.Reader) (err error) {
	header, err := in.ReadString('\n')
	switch want := fmt.Sprintf("%s blob %d\n", f.id, f.size); {
	case err != nil:
		return io.ErrUnexpectedEOF
	case header != want:
		return c.incomplete(fmt.Errorf("git has %q", strings.TrimSpace(header)))
	}
	content := io.LimitReader(in, f.size)
	if f.mode == linkMode {
		target, err := io.ReadAll(content)
		if err == nil {
			err = root.Symlink(string(target), name)
		}
		if err != nil {
			return fmt.Errorf("check out %s: %w", c.ref, err)
		}
	} else if err := writeNew(root, name, content, f); err != nil {
		return fmt.Errorf("check out %s: %w", c.ref, err)
	}
	_, err = in.Discard(1)
	return err
}

// writeNew creates a file. It fails for an existing file, which happens when
// the system considers two names the same.
func writeNew(root *os.Root, name string, content io.Reader, f file) error {
	size := f.size
	if f.crlf {
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if !bytes.ContainsAny(data, "\r\x00") && int64(len(data)) == size {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
			size = int64(len(data))
		}
		content = bytes.NewReader(data)
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, content)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, out.Close())
}

// compare returns the paths of files below a directory that differ from the
// given files.
func compare(ctx context.Context, dir string, files map[string]file) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var changed []string
	seen := map[string]bool{}
	err = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case e.Name() == ".git" && e.IsDir():
			return fs.SkipDir
		case e.IsDir() || e.Name() == ".git":
			return nil
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if f, ok := files[name]; ok {
			seen[name] = true
			same, err := equal(root, name, e, f)
			if same || err != nil {
				return err
			}
		}
		changed = append(changed, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name := range files {
		if !seen[name] {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// equal reports whether a file in the working tree equals the file of the
// commit.
func equal(root *os.Root, name string, e fs.DirEntry, f file) (bool, error) {
	if f.outer {
		in, err := os.Open(filepath.Join(root.Name(), filepath.FromSlash(name)))
		if err != nil {
			return false, nil // the link leads elsewhere now
		}
		defer in.Close()
		return f.hasContent(in), nil
	}
	isLink := e.Type() == fs.ModeSymlink
	if isLink != (f.mode == linkMode) || !isLink && !e.Type().IsRegular() {
		return false, nil
	}
	if isLink {
		target, err := root.Readlink(filepath.FromSlash(name))
		if err != nil {
			return false, err
		}
		target = filepath.ToSlash(target)
		return int64(len(target)) == f.size && f.hasContent(strings.NewReader(target)), nil
	}
	if f.crlf {
		data, err := root.ReadFile(filepath.FromSlash(name))
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		return int64(len(data)) == f.size && f.hasContent(bytes.NewReader(data)), err
	}
	info, err := e.Info()
	if err != nil || info.Size() != f.size {
		return false, err
	}
	in, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return false, err
	}
	defer in.Close()
	return f.hasContent(in), nil
}

// hasContent reports whether the file has this content, by git's object ID.
func (f file) hasContent(content io.Reader) bool {
	var h hash.Hash
	if len(f.id) == 2*sha1.Size {
		h = sha1.New()
	} else {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", f.size)
	_, err := io.Copy(h, content)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == f.id
}
