package edit

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// memoryDir creates a private directory in a file system in memory.
func memoryDir(getenv func(string) string) (string, error) {
	for _, parent := range []string{getenv("XDG_RUNTIME_DIR"), "/dev/shm"} {
		var fs unix.Statfs_t
		if parent == "" || unix.Statfs(parent, &fs) != nil || fs.Type != unix.TMPFS_MAGIC && fs.Type != unix.RAMFS_MAGIC {
			continue
		}
		if dir, err := os.MkdirTemp(parent, "fleetc-"); err == nil { // mode 0700
			return dir, nil
		}
	}
	return "", &diag.Diag{
		Code: diag.CodeFileSystem,
		Msg:  "no in-memory file system is available for the plain text: neither XDG_RUNTIME_DIR nor /dev/shm is a tmpfs",
		Hint: "set single values with fleetc secret set, which needs no file",
	}
}
