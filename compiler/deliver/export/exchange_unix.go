//go:build darwin || linux

package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// exchange swaps two directories atomically. It returns
// [errors.ErrUnsupported] if the file system does not support it.
func exchange(root *os.Root, a, b string) error {
	dirA, err := root.Open(path.Dir(a))
	if err != nil {
		return err
	}
	defer dirA.Close()
	dirB, err := root.Open(path.Dir(b))
	if err != nil {
		return err
	}
	defer dirB.Close()
	err = swap(int(dirA.Fd()), path.Base(a), int(dirB.Fd()), path.Base(b))
	for _, refusal := range []error{unix.ENOSYS, unix.EINVAL, unix.ENOTSUP, unix.EOPNOTSUPP, unix.EPERM} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
	}
	return err
}

// inode returns the inode number of a directory as text, or an empty string if
// there is none.
func inode(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(stat.Ino, 10)
	}
	return ""
}
