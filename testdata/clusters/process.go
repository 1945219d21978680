package clusters

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// starter starts processes from one dedicated thread: the kernel ends a child with
// the thread that started it, and Go ends other threads at any time.
type starter struct{ work chan func() }

func newStarter() *starter {
	s := &starter{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range s.work {
			f()
		}
	}()
	return s
}

// stop ends the thread. All processes must have ended.
func (s *starter) stop() { close(s.work) }

// process is a part of a control plane.
type process struct {
	name    string // "kube-apiserver of prod"
	log     string // log file
	cmd     *exec.Cmd
	ended   chan struct{}
	stopped atomic.Bool // kill was called
}

// start starts a program that writes to a log file.
func (s *starter) start(name, log string, cmd *exec.Cmd) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = attributes()
	}
	started := make(chan error)
	s.work <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, log: log, cmd: cmd, ended: make(chan struct{})}
	go func() {
		cmd.Wait() // the process state has the result
		close(p.ended)
	}()
	return p, nil
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// err returns an error with the end of the log when the process ended unexpectedly;
// otherwise nil.
func (p *process) err() error {
	if p == nil || p.running() || p.stopped.Load() {
		return nil
	}
	return fmt.Errorf("%s ended: %s\n%s", p.name, p.cmd.ProcessState, p.tail())
}

// kill ends the process and waits for its end. It may be paused.
func (p *process) kill() error {
	if p == nil {
		return nil
	}
	p.stopped.Store(true)
	if !p.running() {
		return nil
	}
	if err := kill(p.cmd.Process); err != nil {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(30 * time.Second):
		return fmt.Errorf("%s (process %d) was killed and is still there", p.name, p.cmd.Process.Pid)
	}
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for i, line := range lines {
		if len(line) > 500 {
			lines[i] = line[:500]
		}
	}
	return string(bytes.Join(lines[max(0, len(lines)-12):], []byte("\n")))
}

// portTaken reports whether the process ended because its port is taken.
func (p *process) portTaken() bool {
	return !p.running() && bytes.Contains([]byte(p.tail()), []byte("address already in use"))
}

// environ returns the environment of a part. It takes only necessary variables from
// the caller, so that a kubeconfig or a proxy there has no effect. Temporary files
// are in home as well: kustomize-controller deletes those of other instances when
// it starts.
func environ(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "HOME=" + home}
}

// ports allocates ports of 127.0.0.1 below the kernel's range for clients, so that
// a port is still free when a killed server returns.
type ports struct {
	mu    sync.Mutex
	given map[int]bool
}

func (p *ports) next() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 1000 {
		port := 20000 + rand.IntN(10000)
		if p.given[port] {
			continue
		}
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, err
		}
		if p.given == nil {
			p.given = map[int]bool{}
		}
		p.given[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("no free port between 20000 and 30000")
}
