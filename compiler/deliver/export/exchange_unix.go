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

// exchange swaps two directories in one step. The error is
// [errors.ErrUnsupported] where the file system cannot do that.
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

// inode names a directory for as long as it exists, whatever it is called;
// empty where directories have no such name.
func inode(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(stat.Ino, 10)
	}
	return ""
}
