//go:build !linux

package clusters

import (
	"errors"
	"os"
	"syscall"
)

// supported returns an error, since only Linux ends a child together with its
// parent.
func supported() error { return errUnsupported }

var errUnsupported = errors.New("clusters run on Linux only")

func attributes() *syscall.SysProcAttr           { return nil }
func nodeAttributes() *syscall.SysProcAttr       { return nil }
func kill(*os.Process) error                     { return errUnsupported }
func pause(*os.Process) error                    { return errUnsupported }
func resume(*os.Process) error                   { return errUnsupported }
func killGroup(*os.Process) error                { return errUnsupported }
func lowerPriority(*os.Process) error            { return errUnsupported }
func tryLock(string) (func() error, bool, error) { return nil, false, errUnsupported }
