package render

import (
	"maps"
	"slices"
	"strings"
	"testing"

	helmengine "helm.sh/helm/v3/pkg/engine"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// engines renders a chart with our engine and with Helm's, and returns what
// the files are or why there are none.
func engines(t testing.TB, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart) (ours, helms map[string]string, ourErr, helmErr error) {
	t.Helper()
	s := new(Charts).source(ch)
	if s.err != nil {
		t.Fatal(s.err)
	}
	caps, err := capabilities(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	user, _ := r.Values.Value().(map[string]any)
	mine, its := instance(s.chart), instance(s.chart)
	myValues, _, err := coalesce(mine, r, user, caps)
	if err != nil {
		t.Fatal(err)
	}
	itsValues, _, err := coalesce(its, r, user, caps)
	if err != nil {
		t.Fatal(err)
	}
	ours, ourErr = newEngine(t.Context(), new(Charts).most(), s, newLuck(clock(s))).render(renderables(mine, myValues))
	helms, helmErr = helmengine.Engine{}.Render(its, itsValues)
	return ours, helms, ourErr, helmErr
}

// sameEngines reports where the two engines differ.
func sameEngines(t testing.TB, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart) {
	t.Helper()
	ours, helms, ourErr, helmErr := engines(t, c, r, ch)
	if (ourErr == nil) != (helmErr == nil) {
		t.Errorf("ours: %v\nHelm's: %v", ourErr, helmErr)
		return
	}
	if ourErr != nil {
		if want := spoken(helmErr); ourErr.Error() != want {
			t.Errorf("ours:\n%v\nHelm's:\n%v", ourErr, want)
		}
		return
	}
	if a, b := slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(helms)); !slices.Equal(a, b) {
		t.Errorf("files %v, Helm's %v", a, b)
	}
	_, again, _, _ := engines(t, c, r, ch)
	for name, text := range ours {
		mine, its, other := strings.Split(text, "\n"), strings.Split(helms[name], "\n"), strings.Split(again[name], "\n")
		for i := range its {
			if i < len(mine) && i < len(other) && its[i] != other[i] {
				mine[i] = its[i] // chance
			}
		}
		if got := strings.Join(mine, "\n"); got != helms[name] {
			t.Errorf("%s: %s", name, firstDifference(got, helms[name]))
		}
	}
}

// spoken is the message of Helm's engine without the words that repeat what
// faults say anyway.
func spoken(err error) string {
	msg := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "execution error at "), "template: ")
	if rest, ok := strings.CutPrefix(msg, "("); ok {
		if at, what, ok := strings.Cut(rest, "): "); ok {
			msg = at + ": " + what
		}
	}
	return shorten(msg)
}
