package main

import (
	"slices"
	"strings"
	"testing"
)

// TestRead checks that a failed test is listed once: by its subtests, or itself.
func TestRead(t *testing.T) {
	got, err := read(strings.NewReader(`{"Action":"output","Package":"github.com/fleetc/fleetc/a","Test":"TestX/one","Output":"text"}
{"Action":"fail","Package":"github.com/fleetc/fleetc/a","Test":"TestX/one"}
{"Action":"fail","Package":"github.com/fleetc/fleetc/a","Test":"TestX"}
{"Action":"fail","Package":"github.com/fleetc/fleetc/a"}
{"Action":"pass","Package":"github.com/fleetc/fleetc/b","Test":"TestY"}
{"Action":"fail","Package":"github.com/fleetc/fleetc/c"}
`))
	if want := []string{"a TestX/one", "c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := read(strings.NewReader(`{"Action":"build-fail","ImportPath":"x"}`)); err == nil {
		t.Error("a copy that does not compile is not an error")
	}
}

// TestCompare checks that a listed test that passes and an unlisted one that fails are
// errors.
func TestCompare(t *testing.T) {
	var listed []string
	for line := range strings.Lines(differences) {
		if name, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			listed = append(listed, name+"/sub")
		}
	}
	if err := compare(listed); err != nil {
		t.Error(err)
	}
	if err := compare(listed[1:]); err == nil || !strings.Contains(err.Error(), "passes") {
		t.Errorf("a listed test passes: %v", err)
	}
	if err := compare(append(listed, "a TestZ")); err == nil || !strings.Contains(err.Error(), "a TestZ fails") {
		t.Errorf("an unlisted test fails: %v", err)
	}
}

// TestRewrite rewrites imports, moved names and renamed functions.
func TestRewrite(t *testing.T) {
	src := `package p

import (
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	helmtime "helm.sh/helm/v3/pkg/time"
)

var (
	_ = chartutil.ProcessDependenciesWithMerge
	_ = chartutil.GlobalKey
	_ = helmtime.Now
	_ = time.Now
)
`
	want := `package p

import (
	"time"

	helmcommon "helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

var (
	_ = chartutil.ProcessDependencies
	_ = helmcommon.GlobalKey
	_ = time.Now
	_ = time.Now
)
`
	got, err := rewrite("p.go", []byte(src))
	if err != nil || string(got) != want {
		t.Errorf("got\n%s\n%v, want\n%s", got, err, want)
	}
}
