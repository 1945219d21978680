package fleet

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestWithout checks the result, and that the value is not modified.
func TestWithout(t *testing.T) {
	for _, test := range []struct{ value, path, want string }{
		{`{"a":1,"b":2}`, `a`, `{"b":2}`},
		{`{"a":1}`, `b`, `{"a":1}`},
		{`{"a":{"b":{"c":1}},"d":1}`, `a.b.c`, `{"d":1}`},
		{`{"a":{"b":{"c":1},"e":1}}`, `a.b.c`, `{"a":{"e":1}}`},
		{`{"a":{}}`, `a.b`, `{"a":{}}`},
		{`{"a":"text"}`, `a.b`, `{"a":"text"}`},
		{`{"a":"text"}`, `a[b=c]`, `{"a":"text"}`},
		{`{"a":null,"b":1}`, `a`, `{"b":1}`},
		{`{"a":{"b":2,"x/y.z":1}}`, `a."x/y.z"`, `{"a":{"b":2}}`},
		{`{"a":[{"n":"x","v":1},{"n":"y","v":2}]}`, `a[n=x]`, `{"a":[{"n":"y","v":2}]}`},
		{`{"a":[{"n":"x","v":1},{"n":"y","v":2}]}`, `a[n=x].v`, `{"a":[{"n":"x"},{"n":"y","v":2}]}`},
		{`{"a":[{"n":"x"}],"b":1}`, `a[n=x]`, `{"b":1}`},
		{`{"a":[{"n":1,"v":1},{"n":1,"v":2}]}`, `a[n=1].v`, `{"a":[{"n":1},{"n":1}]}`},
		{`{"a":[1,2],"b":1}`, `a`, `{"b":1}`},
	} {
		var v any
		if err := json.Unmarshal([]byte(test.value), &v); err != nil {
			t.Fatal(err)
		}
		path, ok := ParseSteps(test.path)
		if !ok {
			t.Fatal(test.path)
		}
		got, err := json.Marshal(Without(v, path))
		if err != nil {
			t.Fatal(err)
		}
		same, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want || string(same) != test.value {
			t.Errorf("%s without %s is %s, want %s; the value is now %s", test.value, test.path, got, test.want, same)
		}
	}
}

func TestIgnoreRulePath(t *testing.T) {
	for _, test := range []struct {
		rule IgnoreRule
		want string
	}{
		{IgnoreRule{Name: "checksums"}, "diff.ignore.checksums"},
		{IgnoreRule{Of: OfDrift, Name: "scale"}, "drift.ignore.scale"},
		{IgnoreRule{Name: "a b", Release: "my-app"}, `releases."my-app".diff.ignore."a b".match`},
	} {
		field := []string{}
		if test.rule.Release != "" {
			field = append(field, "match")
		}
		if got := test.rule.Path(field...); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// A rule holds until the end of its last day.
func TestDriftRules(t *testing.T) {
	c := &Cluster{
		Ignore:      []IgnoreRule{{Of: OfDiff, Name: "diff"}},
		DriftIgnore: []IgnoreRule{{Of: OfDrift, Name: "always"}, {Of: OfDrift, Name: "until", Until: "2026-11-30"}},
		Releases:    []*Release{{Name: "web", DriftIgnore: []IgnoreRule{{Of: OfDrift, Name: "web", Release: "web"}}}},
	}
	for day, want := range map[string]string{
		"":           "always until web diff",
		"2026-11-30": "always until web diff",
		"2026-12-01": "always web diff",
	} {
		var names []string
		for _, r := range c.DriftRules(day) {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("on %q: %s, want %s", day, got, want)
		}
	}
}
