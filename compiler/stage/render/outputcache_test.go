package render

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestCachedMatchesExecuted renders each chart repeatedly, each time with some
// values changed at random, with and without the output cache, and compares
// the results. Values repeat, so that there are cache hits.
func TestCachedMatchesExecuted(t *testing.T) {
	charts, err := filepath.Glob("../../../testdata/charts/*")
	if err != nil || len(charts) < 10 {
		t.Fatalf("%d charts, %v", len(charts), err)
	}
	istio := istio(t)
	for _, name := range []string{"istio-cni", "gateway", "ztunnel"} { // the others have the same helpers
		charts = append(charts, filepath.Join(istio, name))
	}
	for _, dir := range charts {
		if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err != nil {
			continue // the README of our own
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			values := []map[string]any{{}}
			files, _ := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
			for _, f := range files {
				data, err := os.ReadFile(f)
				v := map[string]any{}
				if err == nil {
					err = yaml.Unmarshal(data, &v)
				}
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, v)
			}
			for i, v := range values {
				// The first template of Istio's charts modifies shared state.
				if got := cachedMatchesExecuted(t, loaded(t, dir), v, 24, uint64(i)); got == strings.HasPrefix(dir, istio) {
					t.Errorf("with values %d, recalled: %v", i, got)
				}
			}
		})
	}
}

// cachedMatchesExecuted renders a chart with n changes of its values, and reports
// whether there was a cache hit.
func cachedMatchesExecuted(t testing.TB, ch *fleet.Chart, user map[string]any, n int, seed uint64) bool {
	t.Helper()
	var recalling Charts
	executing := Charts{noCache: true}
	random := rand.New(rand.NewPCG(seed, 1))
	var earlier []map[string]any
	for range n {
		values := fleet.Clone(user).(map[string]any)
		if len(earlier) > 3 && random.IntN(3) == 0 {
			values = earlier[random.IntN(len(earlier))]
		} else {
			for range random.IntN(3) {
				mutate(random, values, defaults(t, ch, values))
			}
			earlier = append(earlier, values)
		}
		tree, err := fleet.TreeOf(values)
		if err != nil {
			t.Fatal(err)
		}
		r := &fleet.Release{Name: "r", Namespace: []string{"a", "b"}[random.IntN(8)/7], Values: tree}
		got, gotErr := recalling.Release(t.Context(), cluster, r, ch, nil)
		want, wantErr := executing.Release(t.Context(), cluster, r, ch, nil)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("%v\nrecalled: %v\nexecuted: %v", values, gotErr, wantErr)
		}
		sameResults(t, got, want, values)
	}
	return hasCacheHit(&recalling, ch)
}

// sameResults compares two results, except for nondeterministic parts.
func sameResults(t testing.TB, got, want Result, values map[string]any) {
	t.Helper()
	if !reflect.DeepEqual(idsOf(got.Nondeterministic), idsOf(want.Nondeterministic)) || got.UsesClock != want.UsesClock {
		t.Errorf("%v\nvolatile %v, want %v", values, got.Nondeterministic, want.Nondeterministic)
	}
	if len(want.Nondeterministic) > 0 {
		return
	}
	for _, of := range [][2][]fleet.Object{{got.Objects, want.Objects}, {got.Hooks, want.Hooks}} {
		if len(of[0]) != len(of[1]) {
			t.Fatalf("%v\n%d objects, want %d", values, len(of[0]), len(of[1]))
		}
		for i, o := range of[0] {
			w := of[1][i]
			if !reflect.DeepEqual(o.Object, w.Object) || o.Template != w.Template || o.CRD != w.CRD || o.Unapplied != w.Unapplied {
				a, _ := yaml.Marshal(o.Object)
				b, _ := yaml.Marshal(w.Object)
				t.Fatalf("%v\n%s of %s: %s", values, o.ID(), o.Template, firstDifference(string(a), string(b)))
			}
		}
	}
}

func idsOf(all []NondeterministicPart) (out []string) {
	for _, v := range all {
		out = append(out, v.ID+" "+strings.Join(v.Path, "."))
	}
	return out
}

// defaults returns the values that the chart's templates see.
func defaults(t testing.TB, ch *fleet.Chart, user map[string]any) map[string]any {
	t.Helper()
	tree, err := fleet.TreeOf(user)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{cluster: cluster, release: &fleet.Release{Name: "r", Namespace: "a", Values: tree}, chart: ch, source: new(Charts).source(ch)}
	in, err := j.input()
	if err != nil {
		return map[string]any{}
	}
	values, _ := asMap(in.values["Values"])
	return values
}

// mutate replaces a random value of the chart by one of the same kind, one of
// another kind, or nothing.
func mutate(random *rand.Rand, user, seen map[string]any) {
	var path []string
	at := any(seen)
	for {
		m, ok := asMap(at)
		if !ok || len(m) == 0 || len(path) > 0 && random.IntN(6) == 0 {
			break
		}
		key := slices.Sorted(maps.Keys(m))[random.IntN(len(m))]
		path, at = append(path, key), m[key]
	}
	if len(path) == 0 {
		return
	}
	var to any
	switch random.IntN(12) {
	case 0:
		to = nil
	case 1:
		to = map[string]any{"extra": "x"}
	case 2:
		to = []any{"x"}
	case 3:
		to = "text"
	default:
		to = sameKind(random, at)
	}
	assign(user, path, to, false)
}

// sameKind returns another value of the same kind.
func sameKind(random *rand.Rand, v any) any {
	switch v := fleet.Clone(v).(type) {
	case bool:
		return !v
	case string:
		return v + []string{"x", "y", "{{ .Release.Name }}"}[random.IntN(3)]
	case float64:
		return v + 1
	case int64:
		return v + 1
	case []any:
		if len(v) > 0 && random.IntN(2) == 0 {
			return v[1:]
		}
		return append(v, map[string]any{"name": "x", "value": "y"})
	case map[string]any:
		v["added"] = "x"
		return v
	}
	return "x"
}
