package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// Environment variables that set limits for evaluations.
const (
	timeVariable   = "FLEETC_CUE_TIME"
	memoryVariable = "FLEETC_CUE_MEMORY"
)

// limitsOf reads the limits of evaluations from the environment.
func limitsOf(getenv func(string) string) (par.Limits, error) {
	var l par.Limits
	if text := getenv(timeVariable); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return l, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%s does not accept %q", timeVariable, diag.Visible(text, diag.MaxText)), Hint: "write a duration, as in 5m"}
		}
		l.Time = d
	}
	if text := getenv(memoryVariable); text != "" {
		n, ok := parseBytes(text)
		if !ok {
			return l, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%s does not accept %q", memoryVariable, diag.Visible(text, diag.MaxText)), Hint: "write a size, as in 4GiB or 512MiB"}
		}
		l.Memory = n
	}
	return l, nil
}

// parseBytes parses a size such as 4GiB.
func parseBytes(text string) (uint64, bool) {
	for suffix, unit := range map[string]uint64{"MiB": 1 << 20, "GiB": 1 << 30} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseUint(digits, 10, 64)
			return n * unit, err == nil && n > 0 && n <= math.MaxInt64/unit/8
		}
	}
	return 0, false
}
