package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// resident returns the resident memory of a process and its descendants in
// bytes. Shared pages count several times.
func resident(pid int) int64 {
	var sum int64
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil {
		if fields := strings.Fields(string(data)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			sum = pages * int64(os.Getpagesize())
		}
	}
	// The children of a thread are those that it started.
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range threads {
		data, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(field); err == nil {
				sum += resident(child)
			}
		}
	}
	return sum
}

// largest returns the kernel's maximum of the resident memory of the process or
// one of its children, including peaks between samples.
func largest(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss * 1024
}
