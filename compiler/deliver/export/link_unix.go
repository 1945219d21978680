//go:build darwin || linux

package export

import (
	"os"

	"golang.org/x/sys/unix"
)

// hardLink links a file, or a symbolic link itself, into another folder below
// root.
func hardLink(_ *os.Root, from, to *folder, name string) error {
	for {
		err := unix.Linkat(int(from.file.Fd()), name, int(to.file.Fd()), name, 0)
		if err != unix.EINTR {
			return err
		}
	}
}
