//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package export

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a directory, and reports false if another process has locked it. The lock
// ends with the process and needs no file.
func tryLock(root *os.Root) (unlock func() error, ok bool, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, false, fmt.Errorf("open %s: %w", root.Name(), err)
	}
	for {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return dir.Close, true, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, false, dir.Close()
	}
	return nil, false, errors.Join(fmt.Errorf("lock %s: %w", root.Name(), err), dir.Close())
}
