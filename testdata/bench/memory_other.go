//go:build !linux

package main

import "os"

// resident knows nothing where there is no /proc.
func resident(int) int64 { return 0 }

// largest knows nothing: systems differ in the unit that they count in.
func largest(*os.ProcessState) int64 { return 0 }
