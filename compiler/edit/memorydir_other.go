//go:build !linux

package edit

import "github.com/fleetc/fleetc/compiler/base/diag"

// memoryDir returns a fault: plain text is written to a file system in memory alone.
func memoryDir(func(string) string) (string, error) {
	return "", &diag.Diag{Code: diag.CodeFileSystem, Msg: "this system has no in-memory file system for the plain text", Hint: "set single values with fleetc secret set, which needs no file"}
}
