//go:build !unix

package git

import "os/exec"

// Detach does nothing: this system has no sessions.
func Detach(*exec.Cmd) {}
