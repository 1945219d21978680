//go:build !darwin && !linux

package export

import (
	"errors"
	"io/fs"
	"os"
)

// exchange is not supported: directories are replaced by two renames.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }

func inode(fs.FileInfo) string { return "" }
