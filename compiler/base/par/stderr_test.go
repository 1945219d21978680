package par

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSilence holds Silence to dropping output, and to putting os.Stderr back, also
// after a panic.
func TestSilence(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	real := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = real }()
	if err := SilenceStderr(func() { fmt.Fprint(os.Stderr, "dropped") }); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = SilenceStderr(func() { panic("no") })
	}()
	UseStderr(func() { fmt.Fprint(os.Stderr, "printed") })
	got, err := os.ReadFile(file.Name())
	if err != nil || string(got) != "printed" {
		t.Errorf("printed %q, %v", got, err)
	}
}

// TestUse holds Use to waiting for the end of Silence.
func TestUse(t *testing.T) {
	real, begun, used := os.Stderr, make(chan struct{}), make(chan struct{})
	go func() {
		<-begun
		UseStderr(func() {
			if os.Stderr != real {
				t.Error("os.Stderr is silenced in Use")
			}
		})
		close(used)
	}()
	err := SilenceStderr(func() {
		close(begun)
		select {
		case <-used:
			t.Error("Use did not wait")
		default:
		}
	})
	<-used
	if err != nil {
		t.Fatal(err)
	}
}

// TestCrash is about a crash while os.Stderr is silenced, which has to be seen.
func TestCrash(t *testing.T) {
	if os.Getenv("FLEETC_CRASH") != "" {
		_ = SilenceStderr(func() {
			done := make(chan struct{})
			go func() { panic("crashed here") }()
			<-done
		})
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess(self, []string{self, "-test.run=^TestCrash$"}, &os.ProcAttr{Env: append(os.Environ(), "FLEETC_CRASH=1"), Files: []*os.File{nil, nil, w}})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	var out strings.Builder
	for buf := make([]byte, 4096); ; {
		n, err := r.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break
		}
	}
	state, err := p.Wait()
	if err != nil || state.Success() || !strings.Contains(out.String(), "panic: crashed here") {
		t.Errorf("a crash prints %q, %v", out.String(), err)
	}
}
