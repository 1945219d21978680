package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// result is the cost of a process with all its children.
type result struct {
	What     string  `json:"what"`
	Clusters int     `json:"clusters"`
	Wall     float64 `json:"wallSeconds"`
	CPU      float64 `json:"cpuSeconds"` // user and system, of the tree
	Peak     float64 `json:"peakMB"`     // largest sum of resident memory over the tree
	Fault    string  `json:"fault,omitempty"`
}

// sampleEvery is the interval of memory samples, which can miss shorter peaks.
const sampleEvery = 5 * time.Millisecond

// measure runs a command in dir to its end. A failure is part of the result.
func measure(ctx context.Context, dir string, command ...string) result {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = append(os.Environ(), "HELMFILE_UPGRADE_NOTICE_DISABLED=1", "TANKA_NO_VERSION_CHECK=1",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@example.com", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@example.com")
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return result{Fault: err.Error()}
	}
	peak, done := make(chan int64), make(chan struct{})
	go func() {
		var most int64
		for {
			most = max(most, resident(cmd.Process.Pid))
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(sampleEvery):
			}
		}
	}()
	err := cmd.Wait()
	r := result{Wall: time.Since(began).Seconds()}
	close(done)
	r.Peak = float64(max(<-peak, largest(cmd.ProcessState))) / 1e6
	// Both include the children that the process waited for.
	r.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if err != nil {
		text := strings.TrimSpace(stderr.String())
		r.Fault = fmt.Sprintf("%v: %s", err, text[max(0, len(text)-300):])
	}
	return r
}
