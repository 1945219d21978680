//go:build !darwin && !linux

package export

import (
	"os"
	"path"
)

// hardLink links a file into another folder below root.
func hardLink(root *os.Root, from, to *folder, name string) error {
	return root.Link(path.Join(from.name, name), path.Join(to.name, name))
}
