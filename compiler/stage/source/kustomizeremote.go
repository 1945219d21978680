package source

import (
	"regexp"
	"slices"
	"strings"
)

// scp matches the beginning of a git address for SSH.
var scp = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// remote reports whether kustomize could treat a path as an address. It has
// false positives, but no false negatives.
func remote(name string) bool {
	lower := strings.ToLower(name)
	if strings.Contains(lower, "://") || scp.MatchString(name) {
		return true
	}
	// A URL may have a scheme without a host.
	return slices.ContainsFunc([]string{"git::", "github.com/", "github.com:", "http:", "https:"}, func(prefix string) bool { return strings.HasPrefix(lower, prefix) })
}
