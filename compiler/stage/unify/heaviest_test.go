package unify

import (
	"errors"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// TestExcessOfDepth checks that the text is not searched after a stack
// overflow.
func TestExcessOfDepth(t *testing.T) {
	root, _, instances := loaded(t, "-- eu.cue --\nimport \"list\"\n_x: [for i in list.Range(0, 3000000, 1) {i}]\n")
	for of, line := range map[par.Resource]int{par.Memory: 3, par.Depth: 0} {
		err := Excess(root, "prod/eu", instances[len(instances)-1], &par.Excess{Of: of})
		if d, ok := errors.AsType[*diag.Diag](err); !ok || d.At[0].Line != line {
			t.Errorf("%d: got %v", of, err)
		}
	}
}
