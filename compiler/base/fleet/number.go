package fleet

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Float returns a number as a float of 64 bits. exact is false for an integer
// that the float cannot represent with the same digits, and for a number that is
// too large for a float.
func Float(n json.Number) (f float64, exact bool) {
	f, err := n.Float64()
	if err != nil {
		return f, false
	}
	text := string(n)
	return f, strings.ContainsAny(text, ".eE") || strconv.FormatFloat(f, 'f', -1, 64) == text || text == "-0"
}

// KubernetesNumber reports whether Kubernetes, which stores integers of 64 bits
// and floats, stores a number with the same digits.
func KubernetesNumber(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}
	_, exact := Float(n)
	return exact
}

// InexactNumber returns the message of a fault for a number that Kubernetes does
// not store with the same digits. The hint is to make it a string.
func InexactNumber(n string) string {
	if strings.ContainsAny(n, ".eE") {
		return "Kubernetes cannot store the number " + n + ": its numbers have 64 bits"
	}
	return "Kubernetes cannot store the number " + n + " exactly: its integers end at 9223372036854775807"
}
