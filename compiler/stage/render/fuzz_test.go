package render

import (
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FuzzEngine compares the engine with Helm's: the output or the message must
// be the same for any template and value. It ignores renderings that exceed
// our limits, which Helm does not have.
func FuzzEngine(f *testing.F) {
	for _, s := range engineTemplates() {
		f.Add(s, "word: w")
	}
	f.Fuzz(func(t *testing.T, template, value string) {
		ch := chartOf(aChart + "-- templates/test.yaml --\n" + template + "\n")
		r := releaseOf(t, "")
		r.Values.Fields["t"] = &fleet.Tree{Scalar: value}
		s := new(Charts).source(ch)
		if s.err != nil {
			return
		}
		caps, err := capabilities(cluster, nil)
		if err != nil {
			t.Fatal(err)
		}
		user, _ := r.Values.Value().(map[string]any)
		mine := instance(s.chart)
		values, _, err := templateValues(mine, r, user, caps)
		if err != nil {
			return
		}
		all := renderables(mine, values)
		e, err := s.engine(t.Context(), limits{steps: 500_000, made: 8 << 20, output: 1 << 20}, newEntropy(clock(s)), all)
		if err == nil {
			if _, err = e.render(all, nil, nil); err != nil && e.stopErr != nil {
				return
			}
		}
		sameEngines(t, cluster, r, ch)
	})
}
