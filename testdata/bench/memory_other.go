//go:build !linux

package main

import "os"

// resident returns 0, since there is no /proc.
func resident(int) int64 { return 0 }

// largest returns 0, since the unit differs between systems.
func largest(*os.ProcessState) int64 { return 0 }
