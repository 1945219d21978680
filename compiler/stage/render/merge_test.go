package render

import (
	"bytes"
	"fmt"
	"log"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// logging serialises uses of the captured standard logger.
var logging sync.Mutex

// captureLog calls f and returns the lines that were written to the standard
// logger meanwhile.
func captureLog(f func()) []string {
	logging.Lock()
	defer logging.Unlock()
	var buf bytes.Buffer
	out, flags, prefix := log.Writer(), log.Flags(), log.Prefix()
	log.SetOutput(&buf)
	log.SetFlags(0)
	log.SetPrefix("")
	defer func() {
		log.SetOutput(out)
		log.SetFlags(flags)
		log.SetPrefix(prefix)
	}()
	f()
	return strings.FieldsFunc(buf.String(), func(r rune) bool { return r == '\n' })
}

// helmValues is [templateValues] with Helm's own functions. It also returns the
// lines that they log.
func helmValues(c *chart.Chart, r *fleet.Release, user map[string]any, caps *chartutil.Capabilities) (values chartutil.Values, lines []string, err error) {
	options := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	lines = captureLog(func() {
		if err = chartutil.ProcessDependenciesWithMerge(c, user); err == nil {
			values, err = chartutil.ToRenderValuesWithSchemaValidation(c, user, options, caps, true)
		}
	})
	return values, lines, err
}

// helmLosses are the lines that Helm logs for a loss, as formats with its key.
var helmLosses = map[fleet.LostValue]string{
	{Why: fleet.NoGlobalMap}:            `Conflict: cannot merge map onto non-map for %q. Skipping.`,
	{Why: fleet.IsGlobalMap}:            `key %s is table. Skipping`,
	{Why: fleet.NoGlobals}:              `warning: skipping globals because source global is not a table.`,
	{Why: fleet.NoGlobals, Below: true}: `warning: skipping globals because destination global is not a table.`,
}

// sameMerge merges with our functions and with Helm's, and compares the
// values, the remaining dependencies, the lost values, and which maps are
// shared.
func sameMerge(t *testing.T, c *chart.Chart, user map[string]any) (merged, lossy bool) {
	t.Helper()
	r := &fleet.Release{Name: "r", Namespace: "n"}
	mine, its := instance(c), instance(c)
	given := fleet.Clone(user).(map[string]any)
	got, lost, err := templateValues(mine, r, given, chartutil.DefaultCapabilities)
	want, lines, wantErr := helmValues(its, r, fleet.Clone(user).(map[string]any), chartutil.DefaultCapabilities)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("%v, Helm has %v", err, wantErr)
	}
	if !reflect.DeepEqual(given, fleet.Clone(user).(map[string]any)) {
		t.Errorf("the user's values are modified: %v", given)
	}
	if err != nil || wantErr != nil {
		return false, len(lost) > 0
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("values\n%v\nHelm's\n%v", got, want)
	}
	if got, want := sharedMaps(got["Values"]), sharedMaps(want["Values"]); !slices.Equal(got, want) {
		t.Errorf("maps that are one: %v, Helm's %v", got, want)
	}
	if got, want := chartsOf(mine), chartsOf(its); got != want {
		t.Errorf("charts\n%s\nHelm's\n%s", got, want)
	}
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return !strings.HasPrefix(line, "Conflict: ") && !strings.HasPrefix(line, "key ") && !strings.HasPrefix(line, "warning: skipping globals")
	})
	var ours []string
	for _, l := range lost {
		line := helmLosses[fleet.LostValue{Why: l.Why, Below: l.Below}]
		if l.Key != "" {
			line = fmt.Sprintf(line, l.Key)
		}
		ours = append(ours, line)
	}
	slices.Sort(lines)
	slices.Sort(ours)
	if !slices.Equal(ours, lines) {
		t.Errorf("lost %q, Helm logs %q", ours, lines)
	}
	return true, len(lost) > 0
}

// sharedMaps returns the paths of maps that occur at several paths.
func sharedMaps(v any) (out []string) {
	first := map[uintptr]string{}
	var walk func(v any, path string)
	walk = func(v any, path string) {
		m, ok := asMap(v)
		if !ok {
			return
		}
		at := reflect.ValueOf(m).Pointer()
		if other, met := first[at]; met {
			out = append(out, other+" = "+path)
			return
		}
		first[at] = path
		for _, k := range keysOf(m, nil) {
			walk(m[k], path+"."+k)
		}
	}
	walk(v, "")
	return out
}

// chartsOf returns the chart with its remaining dependencies as text.
func chartsOf(c *chart.Chart) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v:", c.ChartFullPath(), c.Metadata.Dependencies == nil)
	for _, d := range c.Metadata.Dependencies {
		fmt.Fprintf(&b, " %+v", *d)
	}
	fmt.Fprintf(&b, " %v\n", c.Values)
	for _, d := range c.Dependencies() {
		b.WriteString(chartsOf(d))
	}
	return b.String()
}

// TestSameMerge merges values of random charts, with the same random numbers
// in every run.
func TestSameMerge(t *testing.T) {
	merged, lossy := 0, 0
	for seed := range uint64(1500) {
		r := &maker{rand.New(rand.NewPCG(seed, 1))}
		c, user := r.chart("app", 2), r.table(3)
		ok, lost := sameMerge(t, c, user)
		if ok {
			merged++
		}
		if lost {
			lossy++
		}
		if t.Failed() {
			t.Fatalf("values %v of\n%s", user, chartsOf(c))
		}
	}
	if merged < 500 || lossy < 50 {
		t.Errorf("%d merged, %d lost something", merged, lossy)
	}
}

// TestSameMergeReal does the same for real charts, with values similar to
// their own.
func TestSameMergeReal(t *testing.T) {
	dirs, err := filepath.Glob("../../../testdata/charts/*/Chart.yaml")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d charts, %v", len(dirs), err)
	}
	more, err := filepath.Glob(filepath.Join(istio(t), "*", "Chart.yaml"))
	if err != nil || len(more) < 5 {
		t.Fatalf("%d charts, %v", len(more), err)
	}
	for _, file := range append(dirs, more...) {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s := new(Charts).source(loaded(t, dir))
			sameMerge(t, s.chart, map[string]any{})
			for seed := range uint64(20) {
				r := &maker{rand.New(rand.NewPCG(seed, 2))}
				sameMerge(t, s.chart, r.like(s.chart.Values))
			}
		})
	}
}

// A maker makes random charts and values.
type maker struct{ *rand.Rand }

func (r *maker) pick(from ...string) string { return from[r.IntN(len(from))] }

// key returns one of a few keys, so that charts have keys in common.
func (r *maker) key() string {
	return r.pick("global", "global", "tags", "sub", "lib", "other", "a", "b", "exports", "data", "enabled")
}

func (r *maker) value(depth int) any {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.pick("x", "y", "")
	case 3:
		return []any{r.pick("x", "y"), map[string]any{"a": nil}}
	}
	if depth == 0 {
		return float64(r.IntN(3))
	}
	return r.table(depth - 1)
}

func (r *maker) table(depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(6) {
		m[r.key()] = r.value(depth)
	}
	return m
}

func (r *maker) chart(name string, depth int) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "1.0.0"}, Values: r.table(3)}
	if r.IntN(10) == 0 {
		c.Values = nil
	}
	if depth == 0 {
		return c
	}
	for _, dep := range []string{"sub", "lib", "idle"} {
		if r.IntN(3) == 0 {
			continue
		}
		c.AddDependency(r.chart(dep, depth-1))
		for range r.IntN(3) {
			d := &chart.Dependency{Name: dep, Version: r.pick("1.0.0", "1.0.0", ">0", "2"), Alias: r.pick("", "", "other", "more")}
			d.Condition = r.pick("", "enabled", "sub.enabled, enabled", "tags.a,b.enabled", "other.enabled,global.enabled")
			for range r.IntN(3) {
				d.Tags = append(d.Tags, r.pick("a", "b", "enabled"))
			}
			for range r.IntN(3) {
				d.ImportValues = append(d.ImportValues, []any{
					"data", "a",
					map[string]any{"child": r.pick("a", "global", "exports.data", "data.a"), "parent": r.pick(".", "a", "global.b", "sub.a", "b.data")},
					map[string]any{"child": "a"},
					1.0,
				}[r.IntN(5)])
			}
			c.Metadata.Dependencies = append(c.Metadata.Dependencies, d)
		}
	}
	return c
}

// like returns values that a user may set for a chart: some of its keys, other
// keys, nulls, and maps in place of other values.
func (r *maker) like(values map[string]any) map[string]any {
	m := map[string]any{}
	for _, k := range keysOf(values, map[string]any{"global": nil, "tags": nil}) {
		table, isTable := values[k].(map[string]any)
		switch n := r.IntN(10); {
		case isTable && n < 7:
			m[k] = r.like(table)
		case n == 0:
			m[k] = nil
		case n == 1:
			m[k] = r.value(2)
		}
	}
	return m
}
