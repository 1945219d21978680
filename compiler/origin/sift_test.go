package origin

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// manyValues returns values of which a template reads few.
func manyValues() map[string]any {
	out := values()
	for i := range 200 {
		out[fmt.Sprintf("text%d", i)] = "t"
		out[fmt.Sprintf("off%d", i)] = false
		out[fmt.Sprintf("on%d", i)] = true
	}
	return out
}

// Few renderings find the dependencies among many values.
func TestSift(t *testing.T) {
	s := subject(manyValues(), "size")
	n, render := 0, s.Render
	s.Render = func(changes ...Change) (map[string]any, error) { n++; return render(changes...) }
	got, complete, err := s.Dependencies(t.Context())
	if err != nil || !complete || len(got) != 3 || n > 300 {
		t.Errorf("depends on %v, %v, %v, by %d renderings of %d values", got, complete, err, n, len(s.Values))
	}
}

// A value that another one hides is found at any position: behind a switch that
// is off, and behind one that must be off.
func TestHidden(t *testing.T) {
	all := manyValues()
	names := slices.Sorted(maps.Keys(all))
	for _, unless := range names {
		if v, isBool := all[unless].(bool); !isBool || v {
			continue
		}
		s := subject(all, "size")
		of := s.Object
		s.Render = func(changes ...Change) (map[string]any, error) {
			now := maps.Clone(all)
			for _, c := range changes {
				if now[c.Path[0]] = c.Value; c.Value == nil {
					delete(now, c.Path[0])
				}
			}
			out := maps.Clone(of)
			if now["off77"] == true && now[unless] != true {
				out["size"] = int64(1)
			}
			return out, nil
		}
		got, _, err := s.Dependencies(t.Context())
		if want := unless != "off77"; err != nil || want != (len(got) == 1 && got[0].Path[0] == "off77") {
			t.Errorf("hidden by %s, found is %v, %v", unless, got, err)
		}
	}
}
