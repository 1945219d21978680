package importer

import (
	"strings"
	"testing"
)

// Patterns of paths match as in Argo CD, also hostile ones in a short time.
func TestMatchesPath(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"apps/*", "apps/web", true},
		{"apps/*", "apps/web/base", false},
		{"apps/*", "apps", false},
		{"apps/w?b", "apps/web", true},
		{"**", "apps/web/base", true},
		{"apps/**", "apps", true},
		{"apps/**", "apps/web/base", true},
		{"apps/**", "other/web", false},
		{"**/config.json", "config.json", true},
		{"**/config.json", "a/config.json/b/config.json", true},
		{"**/config.json", "a/b/config.yaml", false},
		{"a/**/b/**/c", "a/b/b/x/c", true},
		{"a/**/b/**/c", "a/x/c", false},
		{"a/**/**/b", "a/b", true},
		{strings.Repeat("**/a/", 100) + "b", strings.Repeat("a/", 500) + "c", false},
	} {
		if got, err := matchesPath(test.pattern, test.name); got != test.want || err != nil {
			t.Errorf("%.40s, %.40s: %t, %v", test.pattern, test.name, got, err)
		}
	}
	if _, err := matchesPath("apps/[", "apps/web"); err == nil {
		t.Error("an invalid pattern has no error")
	}
}
