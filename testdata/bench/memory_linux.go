package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// resident returns the bytes of resident memory of a process and of all that
// descend from it. Pages that several share count once for each.
func resident(pid int) int64 {
	var sum int64
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil {
		if fields := strings.Fields(string(data)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			sum = pages * int64(os.Getpagesize())
		}
	}
	// A thread's children are those that it started.
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

// largest returns the most that the process or one of its children had
// resident, as the kernel kept it: what samples cannot miss.
func largest(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss * 1024
}
