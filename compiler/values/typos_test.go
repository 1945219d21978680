package values

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// misspell returns the key with one letter changed: two neighbours swapped in
// the middle, or one letter replaced when they are equal.
func misspell(key string) string {
	b := []byte(key)
	i := len(b) / 2
	if i > 0 && b[i-1] != b[i] {
		b[i-1], b[i] = b[i], b[i-1]
		return string(b)
	}
	b[i] = 'q'
	return string(b)
}

// typos counts, for every key of the chart's values.yaml, whether Check finds
// it misspelt: in the last segment of its path, and in each inner one.
func typos(t testing.TB, ch *fleet.Chart) (last, lastFound, inner, innerFound int, missed []string) {
	t.Helper()
	loaded, err := load(ch)
	if err != nil {
		t.Fatal(err)
	}
	typ := derive(t, ch)
	found := func(path []string, at int, leaf any) bool {
		wrong := slices.Clone(path)
		wrong[at] = misspell(path[at])
		v := leaf
		for _, k := range slices.Backward(wrong) {
			v = map[string]any{k: v}
		}
		for _, d := range typ.Check(treeFrom(v), nil) {
			if d.Path == pathText(wrong[:at+1]) && strings.HasPrefix(d.Msg, "no such value") {
				return true
			}
		}
		return false
	}
	var walk func(v map[string]any, path []string)
	walk = func(v map[string]any, path []string) {
		for k, e := range v {
			if k == "" || k == internalDefaults {
				continue
			}
			p := append(slices.Clone(path), k)
			last++
			if found(p, len(p)-1, e) {
				lastFound++
			} else {
				missed = append(missed, strings.Join(p, "."))
			}
			for i := range len(p) - 1 {
				inner++
				if found(p, i, e) {
					innerFound++
				}
			}
			if m, ok := e.(map[string]any); ok {
				walk(m, p)
			}
		}
	}
	values := loaded.Values
	if inner, ok := values[internalDefaults].(map[string]any); ok {
		values = inner
	}
	walk(values, nil)
	slices.Sort(missed)
	return last, lastFound, inner, innerFound, missed
}

// TestTyposAreFound holds the share of misspelt keys that are found. What is
// not found stands in maps that the chart passes on as a whole.
func TestTyposAreFound(t *testing.T) {
	var last, lastFound, inner, innerFound int
	for _, dir := range append(chartDirs(t), istio(t)...) {
		l, lf, i, inf, missed := typos(t, chartAt(t, dir))
		t.Logf("%-24s last %d of %d, inner %d of %d", filepath.Base(dir), lf, l, inf, i)
		if testing.Verbose() {
			t.Logf("    not found: %s", strings.Join(missed, " "))
		}
		last, lastFound, inner, innerFound = last+l, lastFound+lf, inner+i, innerFound+inf
	}
	lastShare, innerShare := 100*float64(lastFound)/float64(last), 100*float64(innerFound)/float64(inner)
	t.Logf("all: last %.1f %% of %d, inner %.1f %% of %d", lastShare, last, innerShare, inner)
	if last < 1000 || lastShare < 82 || innerShare < 95 {
		t.Errorf("of %d misspelt keys %.1f %% are found, of %d inner ones %.1f %%: want 82 and 95", last, lastShare, inner, innerShare)
	}
}
