package values

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// misspell returns the key with two adjacent letters in the middle swapped, or
// with one letter replaced when they are equal.
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

// shorten and lengthen return the key with a letter in the middle missing or
// doubled. shorten returns no key when it is too short.
func shorten(key string) string {
	if len(key) < 3 {
		return ""
	}
	i := len(key) / 2
	return key[:i] + key[i+1:]
}

func lengthen(key string) string {
	i := len(key) / 2
	return key[:i] + key[i:i+1] + key[i:]
}

// A share counts misspelt keys, and those that Check detects: because the chart
// does not have the key, because nothing reads the map that contains it, and
// because it is similar to another key.
type share struct{ all, known, unread, slips int }

func (s *share) add(o share) {
	s.all, s.known, s.unread, s.slips = s.all+o.all, s.known+o.known, s.unread+o.unread, s.slips+o.slips
}

func (s share) count() int          { return s.known + s.unread + s.slips }
func (s share) found() float64      { return 100 * float64(s.count()) / float64(s.all) }
func (s share) structural() float64 { return 100 * float64(s.known) / float64(s.all) }

// A typist misspells the keys of a chart.
type typist struct {
	typ         *Type
	wrong       func(key string) string
	last, inner share // of the last segments of paths, and of those before
	missed      []string
}

// try misspells one segment of the path to a value.
func (y *typist) try(path []string, at int, value any) {
	wrong := slices.Clone(path)
	if wrong[at] = y.wrong(path[at]); wrong[at] == "" {
		return
	}
	for _, k := range slices.Backward(wrong) {
		value = map[string]any{k: value}
	}
	one := share{all: 1}
	for _, d := range y.typ.Check(treeFrom(value), nil) {
		switch {
		case d.Msg == "set, but nothing reads it" && strings.HasPrefix(pathText(wrong)+".", d.Path+"."):
			one.unread = 1
		case d.Path != pathText(wrong[:at+1]) || !strings.HasPrefix(d.Msg, "no such value"):
		case strings.Contains(d.Msg, "misspelt"):
			one.slips = 1
		default:
			one.known = 1
		}
	}
	if at < len(path)-1 {
		y.inner.add(one)
		return
	}
	y.last.add(one)
	if one.count() == 0 {
		y.missed = append(y.missed, strings.Join(path, "."))
	}
}

func (y *typist) walk(v map[string]any, path []string) {
	for k, e := range v {
		if k == "" || k == internalDefaults {
			continue
		}
		p := append(slices.Clone(path), k)
		for i := range p {
			y.try(p, i, e)
		}
		if m, ok := e.(map[string]any); ok {
			y.walk(m, p)
		}
	}
}

// typos misspells each segment of the path of every key in the chart's
// values.yaml.
func typos(t testing.TB, ch *fleet.Chart, wrong func(key string) string) *typist {
	t.Helper()
	loaded, err := load(ch)
	if err != nil {
		t.Fatal(err)
	}
	y := &typist{typ: derive(t, ch), wrong: wrong}
	values := loaded.Values
	if inner, ok := values[internalDefaults].(map[string]any); ok {
		values = inner
	}
	y.walk(values, nil)
	slices.Sort(y.missed)
	return y
}

// TestTyposAreFound checks the share of misspelt keys that Check detects, by the
// chart's keys alone and with the search for similar keys. The undetected ones
// are in open maps and are too short or too different from another key.
func TestTyposAreFound(t *testing.T) {
	dirs := append(chartDirs(t), istio(t)...)
	if *chartsDir != ownCharts {
		others, err := filepath.Glob(filepath.Join(*chartsDir, "*", "Chart.yaml"))
		if err != nil || len(others) == 0 {
			t.Fatalf("no charts in %s: %v", *chartsDir, err)
		}
		for i, file := range others {
			others[i] = filepath.Dir(file)
		}
		dirs = others
	}
	for _, slip := range []struct {
		name  string
		wrong func(key string) string
	}{{"swapped", misspell}, {"left out", shorten}, {"typed twice", lengthen}} {
		t.Run(slip.name, func(t *testing.T) {
			var last, inner share
			for _, dir := range dirs {
				y := typos(t, chartAt(t, dir), slip.wrong)
				t.Logf("%-24s last %.1f %% of %d, inner %.1f %% of %d", filepath.Base(dir), y.last.found(), y.last.all, y.inner.found(), y.inner.all)
				if testing.Verbose() {
					t.Logf("    not found: %s", strings.Join(y.missed, " "))
				}
				last.add(y.last)
				inner.add(y.inner)
			}
			t.Logf("all: last %.1f %% of %d, inner %.1f %% of %d; without looks %.1f %% and %.1f %%",
				last.found(), last.all, inner.found(), inner.all, last.structural(), inner.structural())
			if last.all < 1000 || last.found() < 98 || inner.found() < 99 {
				t.Errorf("%.1f %% of %d misspelt keys are found, and %.1f %% of %d inner ones: want 98 and 99", last.found(), last.all, inner.found(), inner.all)
			}
			if last.structural() < 89 || inner.structural() < 95 {
				t.Errorf("without looks %.1f %% and %.1f %%: want 89 and 95", last.structural(), inner.structural())
			}
		})
	}
}
