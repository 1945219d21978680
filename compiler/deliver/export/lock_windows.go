package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// tryLock locks a directory, and reports false if another process has locked it. It opens an
// exclusive file in it that is deleted with its handle, because directories cannot be locked
// on Windows.
func tryLock(root *os.Root) (unlock func() error, ok bool, err error) {
	file := filepath.Join(root.Name(), stagingArea+".lock")
	name, err := windows.UTF16PtrFromString(file)
	if err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", file, err)
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.DELETE, 0, nil, windows.OPEN_ALWAYS,
		windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	switch {
	case err == nil:
		return func() error { return windows.CloseHandle(h) }, true, nil
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION), errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return nil, false, nil // locked, or about to be deleted
	}
	return nil, false, fmt.Errorf("lock %s: %w", file, err)
}
