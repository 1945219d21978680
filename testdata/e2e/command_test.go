package e2e

import (
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A runningCommand is a running fleetc. It writes its messages to a small pipe, so
// that it stops soon after nothing reads from it.
type runningCommand struct {
	*exec.Cmd
	p       *place
	stdout  strings.Builder
	pipe    *os.File
	output  strings.Builder // messages read so far
	drained chan struct{}   // nil until readAll is called
}

// pipeSize is the smallest capacity of a pipe: about a hundred messages.
const pipeSize = 4096

// begin starts fleetc.
func (p *place) begin(args ...string) *runningCommand {
	p.Helper()
	r := &runningCommand{Cmd: p.command(args...), p: p}
	pipe, end, err := os.Pipe()
	if err != nil {
		p.Fatal(err)
	}
	defer end.Close()
	p.Cleanup(func() { pipe.Close() })
	if _, err := unix.FcntlInt(end.Fd(), unix.F_SETPIPE_SZ, pipeSize); err != nil {
		p.Fatal(err)
	}
	r.pipe, r.Stdout, r.Stderr = pipe, &r.stdout, end
	if err := r.Start(); err != nil {
		p.Fatal(err)
	}
	return r
}

// readUntil reads until the text has occurred the given number of times.
func (r *runningCommand) readUntil(text string, times int) {
	r.p.Helper()
	for b := make([]byte, 1); strings.Count(r.output.String(), text) < times; {
		if _, err := r.pipe.Read(b); err != nil {
			r.p.Fatalf("fleetc ends, and has not said %q:\n%s", text, r.output.String())
		}
		r.output.Write(b)
	}
}

// readAll reads all further messages.
func (r *runningCommand) readAll() {
	r.drained = make(chan struct{})
	go func() {
		defer close(r.drained)
		for b := make([]byte, pipeSize); ; {
			n, err := r.pipe.Read(b)
			r.output.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
}

// end waits for the end of the command and returns the result.
func (r *runningCommand) end() result {
	r.p.Helper()
	if r.drained == nil {
		r.readAll()
	}
	<-r.drained
	_ = r.Wait() // the status has the result
	return result{strings.Join(r.Args[1:], " "), r.stdout.String(), r.output.String(), r.ProcessState.ExitCode()}
}

// kill kills the command after some time in which it may run.
func (r *runningCommand) kill(after time.Duration) {
	r.p.Helper()
	r.readAll()
	time.Sleep(after)
	if err := r.Process.Kill(); err != nil {
		r.p.Fatal(err)
	}
	r.end()
	// Otherwise the next command would wait for its lease.
	r.p.kubectl("one", "-n", "fleetc-system", "delete", "lease", "apply", "--ignore-not-found")
}
