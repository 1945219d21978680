//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// Alone runs a command in a session of its own. It has no terminal there, so
// that nothing it starts, ssh for one, can ask a question; and what it starts
// ends with it when its context does, where git alone would leave behind the
// program that talks to the server.
func Alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
