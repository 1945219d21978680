package fleet

import (
	"slices"
	"testing"
)

func TestApplySteps(t *testing.T) {
	c := &Cluster{Stages: []string{"base", "empty", "apps"}, Releases: []*Release{
		{Name: "api", Stage: "apps", Level: 2}, {Name: "crds", Stage: "base"}, {Name: "db", Stage: "apps"}, {Name: "web", Stage: "apps", Level: 1},
	}}
	want := []ApplyStep{{"base", 0}, {"empty", 0}, {"apps", 0}, {"apps", 1}, {"apps", 2}}
	if got := c.ApplySteps(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := c.StepsOf("apps"); !slices.Equal(got, want[2:]) {
		t.Errorf("got %v, want %v", got, want[2:])
	}
	for i, a := range want {
		for j, b := range want {
			if got := c.CompareSteps(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%v and %v compare as %d", a, b, got)
			}
		}
	}
	if got := c.Releases[0].ApplyStep(); got != want[4] {
		t.Errorf("api is in %v", got)
	}
}
