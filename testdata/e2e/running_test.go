package e2e

import (
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A running is a fleetc that has not ended. It writes its messages to a pipe that
// holds few of them: as long as nobody reads on, it comes no further than that,
// however fast it is.
type running struct {
	*exec.Cmd
	p       *place
	stdout  strings.Builder
	pipe    *os.File
	said    strings.Builder // messages that were read
	drained chan struct{}   // nil as long as goOn was not called
}

// pipeSize is what a pipe holds at least: about a hundred messages.
const pipeSize = 4096

// begin starts fleetc.
func (p *place) begin(args ...string) *running {
	p.Helper()
	r := &running{Cmd: p.command(args...), p: p}
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

// until reads until it has said the text so many times, and no further.
func (r *running) until(text string, times int) {
	r.p.Helper()
	for b := make([]byte, 1); strings.Count(r.said.String(), text) < times; {
		if _, err := r.pipe.Read(b); err != nil {
			r.p.Fatalf("fleetc ends, and has not said %q:\n%s", text, r.said.String())
		}
		r.said.Write(b)
	}
}

// goOn reads all that it says from now on.
func (r *running) goOn() {
	r.drained = make(chan struct{})
	go func() {
		defer close(r.drained)
		for b := make([]byte, pipeSize); ; {
			n, err := r.pipe.Read(b)
			r.said.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
}

// end waits for its end, and returns what it did.
func (r *running) end() done {
	r.p.Helper()
	if r.drained == nil {
		r.goOn()
	}
	<-r.drained
	_ = r.Wait() // the status says how it ended
	return done{strings.Join(r.Args[1:], " "), r.stdout.String(), r.said.String(), r.ProcessState.ExitCode()}
}

// kill kills it, after some time in which it may go on.
func (r *running) kill(after time.Duration) {
	r.p.Helper()
	r.goOn()
	time.Sleep(after)
	if err := r.Process.Kill(); err != nil {
		r.p.Fatal(err)
	}
	r.end()
	// Its lease would be waited for.
	r.p.kubectl("one", "-n", "fleetc-system", "delete", "lease", "apply", "--ignore-not-found")
}
