package results

import (
	"testing"

	"github.com/fleetc/fleetc/compiler/base/cache"
)

// TestAccepted asks for values in two runs: those that are accepted are checked
// once, the others every time.
func TestAccepted(t *testing.T) {
	kept := &cache.Cache{Dir: t.TempDir()}
	checks := map[string]int{}
	for range 2 {
		a := &AcceptedValues{cache: kept, key: "chart"}
		for _, v := range []string{"right", "wrong", "right", "wrong"} {
			a.Remember([]byte(v), func() bool { checks[v]++; return v == "right" })
		}
		a.Keep()
	}
	if checks["right"] != 1 || checks["wrong"] != 4 {
		t.Errorf("checked %v, want what is right once and what is wrong 4 times", checks)
	}
}
