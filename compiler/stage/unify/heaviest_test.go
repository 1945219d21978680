package unify

import (
	"errors"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/bounded"
	"github.com/fleetc/fleetc/compiler/base/diag"
)

// TestExcessOfDepth checks that the text is not searched after a stack
// overflow.
func TestExcessOfDepth(t *testing.T) {
	root, _, instances := loaded(t, "-- eu.cue --\nimport \"list\"\n_x: [for i in list.Range(0, 3000000, 1) {i}]\n")
	for of, line := range map[bounded.Resource]int{bounded.Memory: 3, bounded.Depth: 0} {
		err := Excess(root, "prod/eu", instances[len(instances)-1], &bounded.Excess{Of: of})
		if d, ok := errors.AsType[*diag.Diag](err); !ok || d.At[0].Line != line {
			t.Errorf("%d: got %v", of, err)
		}
	}
}
