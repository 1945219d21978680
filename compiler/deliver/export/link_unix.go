//go:build darwin || linux

package export

import (
	"os"

	"golang.org/x/sys/unix"
)

// hardLink gives a file a second name: the same, in another folder below root. A
// symbolic link gets one itself.
func hardLink(_ *os.Root, from, to *folder, name string) error {
	for {
		err := unix.Linkat(int(from.file.Fd()), name, int(to.file.Fd()), name, 0)
		if err != unix.EINTR {
			return err
		}
	}
}
