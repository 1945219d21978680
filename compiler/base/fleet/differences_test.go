package fleet

import "testing"

func TestPathPattern(t *testing.T) {
	for _, test := range []struct {
		pattern string
		keys    []string
		want    bool
	}{
		{"web", []string{"web"}, true},
		{"web", []string{"web", "a", "b"}, true},
		{"web.a", []string{"web"}, false},
		{"web.a", []string{"web", "b"}, false},
		{"*", []string{"web", "a"}, true},
		{"*.a", []string{"web", "a", "b"}, true},
		{"*.a", []string{"web", "b", "a"}, false},
		{"web-*.a?", []string{"web-1", "ab"}, true},
		{"web-*.a?", []string{"web", "ab"}, false},
		{`web."a.b".c`, []string{"web", "a.b", "c"}, true},
		{`web.a\*`, []string{"web", "ab"}, false},
	} {
		p, ok := ParsePathPattern(test.pattern)
		if !ok {
			t.Errorf("%s is no pattern", test.pattern)
		}
		if got := p.Matches(test.keys...); got != test.want {
			t.Errorf("%s matches %q: %v", test.pattern, test.keys, got)
		}
	}
	for _, bad := range []string{"", "a..b", ".a", "a.", `"a`, `a.b\`} {
		if p, ok := ParsePathPattern(bad); ok {
			t.Errorf("%q is the pattern %q", bad, p)
		}
	}
}

func TestDifferenceRule(t *testing.T) {
	r := DifferenceRule{Name: "prod-alike", Between: []string{"prod/*", "dev/"}}
	for id, want := range map[string]bool{"prod/a": true, "prod/a/b": true, "prod": false, "dev/a": true, "staging": false} {
		if got := r.About(id); got != want {
			t.Errorf("the rule is about %s: %v", id, got)
		}
	}
	if got := r.Path("between"); got != `differences."prod-alike".between` {
		t.Errorf("its path is %s", got)
	}
}
