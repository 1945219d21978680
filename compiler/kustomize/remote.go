package kustomize

import (
	"regexp"
	"strings"
)

// scp is the beginning of what kustomize takes for an SSH address of git's.
var scp = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// remote reports whether kustomize may take a path for an address of a server:
// it would make a request, or let git clone it. It says so of some paths that
// kustomize takes for files, and misses no address.
func remote(name string) bool {
	lower := strings.ToLower(name)
	if strings.Contains(lower, "://") || scp.MatchString(name) {
		return true
	}
	// A URL may have a scheme and no host.
	for _, prefix := range []string{"git::", "github.com/", "github.com:", "http:", "https:"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	return false
}
