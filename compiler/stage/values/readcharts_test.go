package values

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

const ownCharts = "../../../testdata/charts"

var chartsDir = flag.String("charts", ownCharts, "a directory of unpacked charts for the mutation tests")

// A specimen is a chart with the sets of values to render it with.
type specimen struct {
	name  string
	files []*loader.BufferedFile
	sets  map[string]map[string]any
	reads *Read
	keys  []defaultKey
}

// A defaultKey is a path in the chart's own values, or in those of its
// dependencies.
type defaultKey struct {
	path  []string
	value any
	leaf  bool
}

func (k defaultKey) String() string { return strings.Join(k.path, ".") }

func specimens(t testing.TB) []*specimen {
	t.Helper()
	dirs, err := os.ReadDir(*chartsDir)
	if err != nil {
		t.Fatal(err)
	}
	var all []*specimen
	for _, d := range dirs {
		if d.IsDir() {
			all = append(all, newSpecimen(t, filepath.Join(*chartsDir, d.Name())))
		}
	}
	if len(all) == 0 {
		t.Fatalf("no charts in %s", *chartsDir)
	}
	return all
}

func newSpecimen(t testing.TB, dir string) *specimen {
	t.Helper()
	loaded, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	s := &specimen{name: filepath.Base(dir), sets: map[string]map[string]any{"defaults": {}}}
	for _, f := range loaded.Raw {
		s.files = append(s.files, &loader.BufferedFile{Name: f.Name, Data: f.Data})
	}
	for _, pattern := range []string{filepath.Join(dir, "ci", "*.yaml"), filepath.Join("../../../testdata/realcharts/values", s.name+"-*.yaml")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]any{}
			if err := yaml.Unmarshal(data, &values); err != nil {
				t.Logf("%s: %v", file, err)
				continue
			}
			s.sets[filepath.Base(file)] = values
		}
	}
	s.reads = Reads(s.load(t))
	s.keys = defaultKeys(nil, chartDefaults(s.load(t)))
	return s
}

func (s *specimen) load(t testing.TB) *chart.Chart {
	t.Helper()
	c, err := loader.LoadFiles(s.files)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return c
}

// render returns the rendered files. An error is one of them.
func (s *specimen) render(t testing.TB, user map[string]any) map[string]string {
	t.Helper()
	c := s.load(t)
	user = clone(user).(map[string]any)
	fail := func(err error) map[string]string { return map[string]string{"error": err.Error()} }
	if err := chartutil.ProcessDependenciesWithMerge(c, user); err != nil {
		return fail(err)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.APIVersions = append(caps.APIVersions, "monitoring.coreos.com/v1", "cert-manager.io/v1", "gateway.networking.k8s.io/v1")
	options := chartutil.ReleaseOptions{Name: "release", Namespace: "space", Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(c, user, options, caps, true)
	if err != nil {
		return fail(err)
	}
	files, err := engine.Engine{}.Render(c, values)
	if err != nil {
		return fail(err)
	}
	return files
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, kid := range v {
			m[key] = clone(kid)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, kid := range v {
			l[i] = clone(kid)
		}
		return l
	}
	return v
}

// chartDefaults returns the chart's values merged over those of its
// dependencies.
func chartDefaults(c *chart.Chart) map[string]any {
	m, _ := clone(c.Values).(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	for _, sub := range subcharts(c) {
		if sub.chart == nil {
			continue
		}
		own, ok := m[sub.name].(map[string]any)
		if !ok && m[sub.name] != nil {
			continue
		}
		m[sub.name] = overlay(chartDefaults(sub.chart), own)
	}
	return m
}

func overlay(m, over map[string]any) map[string]any {
	for key, v := range over {
		a, ok := m[key].(map[string]any)
		b, both := v.(map[string]any)
		if ok && both {
			m[key] = overlay(a, b)
		} else {
			m[key] = v
		}
	}
	return m
}

func defaultKeys(above []string, m map[string]any) []defaultKey {
	var all []defaultKey
	for _, key := range slices.Sorted(maps.Keys(m)) {
		path := append(slices.Clone(above), key)
		below, _ := m[key].(map[string]any)
		all = append(all, defaultKey{path, m[key], len(below) == 0})
		all = append(all, defaultKeys(path, below)...)
	}
	return all
}

// mutated returns a different value of the same type.
func mutated(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case string:
		return v + "-mutated"
	case int:
		return v + 1
	case float64:
		return v + 1
	case []any:
		return append(slices.Clone(v), "mutated")
	case map[string]any:
		return overlay(clone(v).(map[string]any), map[string]any{"mutated": "mutated"})
	}
	return "mutated"
}

// with returns a copy of the values with v at the path.
func with(values map[string]any, path []string, v any) map[string]any {
	for i := len(path) - 1; i > 0; i-- {
		v = map[string]any{path[i]: v}
	}
	return overlay(clone(values).(map[string]any), clone(map[string]any{path[0]: v}).(map[string]any))
}
