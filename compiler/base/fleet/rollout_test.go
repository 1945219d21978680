package fleet

import "testing"

func TestAtATime(t *testing.T) {
	for _, c := range []struct {
		wave    Wave
		n, want int
	}{
		{Wave{}, 7, 7}, {Wave{}, 0, 1}, {Wave{Parallel: 2}, 7, 2}, {Wave{Share: 25}, 7, 2}, {Wave{Share: 25}, 8, 2}, {Wave{Share: 1}, 7, 1}, {Wave{Share: 100}, 7, 7},
	} {
		if got := c.wave.AtATime(c.n); got != c.want {
			t.Errorf("%+v of %d clusters: %d at a time, want %d", c.wave, c.n, got, c.want)
		}
	}
}

// A freeze holds on its first and last day, except for the clusters that it leaves out.
func TestFrozenBy(t *testing.T) {
	internal := &Cluster{ID: "a", Labels: map[string]string{"tier": "internal"}}
	other := &Cluster{ID: "b"}
	r := &Rollout{Freezes: []Freeze{
		{From: "2026-12-20", To: "2027-01-04", Except: &ClusterSelector{Labels: []ClusterChoice{{Key: "tier", Text: "internal"}}}},
		{From: "2027-03-01", To: "2027-03-01"},
	}}
	for day, want := range map[string][2]bool{
		"2026-12-19": {}, "2026-12-20": {false, true}, "2026-12-31": {false, true}, "2027-01-04": {false, true}, "2027-01-05": {},
		"2027-02-28": {}, "2027-03-01": {true, true}, "2027-03-02": {},
	} {
		if got := [2]bool{r.FrozenBy(internal, day) != nil, r.FrozenBy(other, day) != nil}; got != want {
			t.Errorf("on %s, clusters are frozen: %v, want %v", day, got, want)
		}
	}
}
