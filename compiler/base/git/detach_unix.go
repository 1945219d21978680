//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// Detach runs a command in a new session. There it has no terminal, so that ssh
// and other children cannot prompt. When the context ends, the children are
// killed as well; git alone would leave its transport program running.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
