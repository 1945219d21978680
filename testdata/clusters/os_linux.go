package clusters

import (
	"errors"
	"os"
	"syscall"
)

func supported() error { return nil }

// attributes make the kernel kill a child together with the thread that started it,
// and keep a Ctrl-C in the terminal from the child.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// nodeAttributes are attributes of the first process of a node, in new namespaces.
func nodeAttributes() *syscall.SysProcAttr {
	a := attributes()
	a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	return a
}

func kill(p *os.Process) error   { return signal(p, syscall.SIGKILL) }
func pause(p *os.Process) error  { return signal(p, syscall.SIGSTOP) }
func resume(p *os.Process) error { return signal(p, syscall.SIGCONT) }

func signal(p *os.Process, s syscall.Signal) error {
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// killGroup kills a child and the processes that it started.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// lowerPriority gives other processes of the machine precedence.
func lowerPriority(p *os.Process) error { return syscall.Setpriority(syscall.PRIO_PROCESS, p.Pid, 10) }

// tryLock creates and locks a file until unlock is called or the process ends.
func tryLock(path string) (unlock func() error, ok bool, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return file.Close, true, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return nil, false, file.Close()
	}
	return nil, false, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, file.Close())
}
