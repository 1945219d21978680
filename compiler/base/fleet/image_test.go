package fleet

import (
	"errors"
	"strings"
	"testing"
)

func TestNewest(t *testing.T) {
	for _, test := range []struct {
		rule          TagRule
		present, tags string
		want          string // empty if no tag fits
	}{
		// Without a rule: the newest release of the same form.
		{present: "1.2.0", tags: "1.2.0 1.10.1 1.9.9 2.0.0-rc.1 v3.0.0 1.11 latest", want: "1.10.1"},
		{present: "v1.2.0", tags: "1.3.0 v1.2.5 v1.3 v2", want: "v1.2.5"},
		{present: "1.27-alpine", tags: "1.28-alpine 1.29 1.29-alpine3.20 1.28.1-alpine", want: "1.28-alpine"},
		{present: "1.27.0-alpine3.19", tags: "1.27.1-alpine3.19 1.27.1-alpine3.20 1.27.1-alpine 1.27.2-slim", want: "1.27.1-alpine3.20"},
		{present: "7.0.1-debian-12-r3", tags: "7.0.1-debian-12-r11 7.0.1-debian-12-r9", want: "7.0.1-debian-12-r11"},
		{present: "17", tags: "16 18 18.1 20260101", want: "18"},
		{present: "2.0.0", tags: "1.0.0 2.0.0-beta1", want: "2.0.0"},
		{present: "2.0.0-rc.1", tags: "1.9.0 2.0.0-rc.2", want: "2.0.0-rc.1"},
		{present: "2.0.0-rc.1", tags: "1.9.0 2.0.0-rc.2 2.0.0", want: "2.0.0"},
		{present: "2.0.0-rc1-alpine", tags: "2.0.0 2.0.0-alpine 2.1.0-rc1-alpine", want: "2.0.0-alpine"},
		{present: "2025.2.1", tags: "2025.10.0 2024.12.5", want: "2025.10.0"},
		{present: "2024.11.15", tags: "2025.01.20 2025.01.03 3.0.0", want: "2025.01.20"},
		{present: "24.10", tags: "26.04 25.04 2026.04", want: "26.04"},
		{present: "1.27", tags: "2024.10 1.28", want: "1.28"},
		{present: "1.2.3", tags: "99999999999999999999999.0.0 1.2.4", want: "1.2.4"},
		{present: "1.2.3", tags: "1.2.4\x1b[2J 1.2.5$(reboot) -1.2.6 1.2.4 1.2." + strings.Repeat("9", 200), want: "1.2.4"},
		{present: "9.9.9", tags: "1.0.0", want: "9.9.9"},
		{present: "1.2.0-arm32v7", tags: "1.3.0-arm64v8 1.3.0-arm32v7", want: "1.3.0-arm32v7"},
		{present: "1.2.0-x86_64", tags: "1.3.0-x86_32 1.3.0-amd64", want: "1.2.0-x86_64"},
		{present: "1.2.0-alpine3.19-i386", tags: "1.3.0-alpine3.20-i686 1.2.1-alpine3.20-i386", want: "1.2.1-alpine3.20-i386"},
		{present: "1.2.0-sha256", tags: "1.3.0-sha512", want: "1.2.0-sha256"},
		{present: "1.2.0-abc1234", tags: "1.3.0-abc5678 1.3.0-1234567", want: "1.2.0-abc1234"},
		{present: "1.2.0-1234567", tags: "1.3.0-7654321", want: "1.2.0-1234567"},
		{present: "1.2.0-jammy-20240101", tags: "1.3.0-jammy-20250101", want: "1.3.0-jammy-20250101"},
		{present: "1.2.3-dev", tags: "1.3.0 1.2.4-dev 1.3.0-test", want: "1.2.4-dev"},
		{present: "1.2.3-nightly", tags: "1.3.0 1.3.0-edge", want: "1.2.3-nightly"},
		{present: "1.2.3", tags: "1.3.0-dev 1.3.0-dev.5", want: "1.2.3"},
		// Ranges.
		{TagRule{Semver: ">=1.2 <2"}, "1.2.0", "1.9.0 1.10.0 2.0.0 1.11.0-rc1", "1.10.0"},
		{TagRule{Semver: ">=1.2-0 <2"}, "1.2.0", "1.9.0 1.10.0-rc.9 1.10.0-rc.10", "1.10.0-rc.10"},
		{TagRule{Semver: ">=24"}, "24.04", "26.04 25.10", "26.04"},
		{TagRule{Semver: "~1.2"}, "v1.2.0-alpine", "v1.2.3 v1.2.4-alpine v1.3.0-alpine", "v1.2.4-alpine"},
		{TagRule{Semver: "^1"}, "latest", "v1.2.3 1.2 1.2.3-alpine", "v1.2.3"},
		{TagRule{Semver: "^5"}, "1.2.3", "1.2.3 1.3.0", ""},
		{TagRule{Semver: "<2"}, "2.1.0", "1.9.0 2.2.0", ""},
		{TagRule{Semver: ">=1"}, "2.0.0-rc.3", "1.9.0 2.0.0-rc.4", ""},
		{TagRule{Semver: ">=1"}, "2.0.0-rc.3", "1.9.0 2.0.0", "2.0.0"},
		{TagRule{Semver: "<2", Pattern: `^r-(?P<version>.+)$`}, "r-2.1.0", "r-1.9.0", ""},
		{TagRule{Semver: ">=1.2", Pattern: `^release-(?P<version>.+)$`}, "release-1.2", "release-1.3.1 1.9 release-x release-1.10", "release-1.10"},
		// Numbers and texts.
		{TagRule{Pattern: "^main-[0-9a-f]+-(?P<ts>[0-9]+)$", Numerical: "ts"}, "main-aa-9", "main-bb-100 main-cc-99 dev-dd-200 main-ee-x", "main-bb-100"},
		{TagRule{Pattern: "^main-[0-9a-f]+-(?P<ts>[0-9]+)$", Numerical: "ts"}, "main-aa-100", "main-bb-100 main-cc-99", "main-aa-100"},
		{TagRule{Pattern: "^(?P<n>.*)$", Numerical: "n"}, "x", "a b", ""},
		{TagRule{Pattern: `^RELEASE\.(?P<date>.+)$`, Alphabetical: "date"}, "RELEASE.2025-01-01T00", "RELEASE.2025-03-01T00 RELEASE.2025-02-01T00 latest", "RELEASE.2025-03-01T00"},
	} {
		p, err := CompileTagRule(test.rule)
		if err != nil {
			t.Fatalf("%v: %v", test.rule, err)
		}
		if got, ok := p.Newest(test.present, strings.Split(test.tags, " ")); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: newest of %q after %s is %q, want %q", p, test.tags, test.present, got, test.want)
		}
	}
}

// A policy that allows only lower tags does not go back to them.
func TestHasLower(t *testing.T) {
	p, _ := CompileTagRule(TagRule{Semver: "<2"})
	if !p.HasLower("2.1.0", []string{"1.9.0"}) || p.HasLower("1.0.0", []string{"1.9.0"}) || p.HasLower("2.1.0", []string{"2.2.0", "latest"}) {
		t.Error("lower tags of the policy are not found")
	}
}

// Tags that are not versions have no newest tag without a rule.
func TestApplies(t *testing.T) {
	p, _ := CompileTagRule(TagRule{})
	for tag, want := range map[string]bool{
		"1.2.3": true, "v1": true, "1.2-alpine": true, "latest": false, "": false, "20260101": false, "2026.01.02": true, "4f5a6b7": false, "1234567": false,
		"sha-4f5a6b7": false, "1.2.3.4": false, "main": false,
	} {
		if p.Applies(tag) != want {
			t.Errorf("%q: applies is %t", tag, !want)
		}
	}
	never, _ := CompileTagRule(TagRule{Never: "waits"})
	if never.Applies("1.2.3") {
		t.Error("a rule that keeps the tag applies")
	}
}

func TestCompileFaults(t *testing.T) {
	for _, test := range []struct {
		rule  TagRule
		field string
		want  string
	}{
		{TagRule{Semver: "latest-ish"}, "semver", "not a valid version range"},
		{TagRule{Pattern: "(", Semver: "1"}, "pattern", "invalid regular expression"},
		{TagRule{Pattern: "^(?P<time>.*)$", Numerical: "tims"}, "numerical", "did you mean time?"},
		{TagRule{Numerical: "ts"}, "numerical", "has no pattern"},
		{TagRule{Pattern: "^x-(.*)$", Semver: "1"}, "pattern", "(?P<version>...)"},
	} {
		_, err := CompileTagRule(test.rule)
		wrong, ok := errors.AsType[*TagRuleError](err)
		if !ok || wrong.Field != test.field || !strings.Contains(wrong.Msg+" "+wrong.Hint, test.want) {
			t.Errorf("%v: %v, want %q at %s", test.rule, err, test.want, test.field)
		}
	}
}

func TestReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]bool{
		"nginx:1.27": true, "nginx@" + digest: true, "r.example:5000/a/b:1@" + digest: true, "ghcr.io/a_b/c-d:v1": true,
		"nginx": false, "nginx:": false, "a b:1": false, "oci://r.example/a:1": false, "nginx@sha256:00": false, "a/B:1": false, "r.example/a:" + strings.Repeat("1", 129): false,
		"r.example/a:1\n": false, "/a:1": false, "": false,
	} {
		if IsPinnedImage(text) != want {
			t.Errorf("%q: pinned is %t", text, !want)
		}
	}
	for text, want := range map[string]string{
		"nginx": "docker.io/library/nginx", "docker.io/nginx": "docker.io/library/nginx", "index.docker.io/a/b": "docker.io/a/b", "a/b": "docker.io/a/b",
		"localhost/a": "localhost/a", "r:5000/a": "r:5000/a", "ghcr.io/a/b": "ghcr.io/a/b",
	} {
		if got := FullImageName(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func FuzzNewest(f *testing.F) {
	f.Add("1.2.3-alpine", "1.2.4-alpine3", "^1")
	f.Fuzz(func(t *testing.T, present, tag, constraint string) {
		for _, rule := range []TagRule{{}, {Semver: constraint}, {Pattern: "(?P<a>.*)", Numerical: "a"}} {
			p, err := CompileTagRule(rule)
			if err != nil {
				continue
			}
			got, ok := p.Newest(present, []string{tag})
			if again, _ := p.Newest(got, []string{tag, present}); ok && rule.Semver == "" && again != got {
				t.Errorf("%q after %q is %q, and %q after it", tag, present, got, again)
			}
		}
	})
}
