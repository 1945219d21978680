//go:build !unix

package git

import "os/exec"

// Alone leaves the command as it is: there are no sessions on this system.
func Alone(*exec.Cmd) {}
