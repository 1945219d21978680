package cache

import (
	"testing"
)

// TestAccepted checks values in two runs. Accepted values are checked once, the others every
// time.
func TestAccepted(t *testing.T) {
	store := &Cache{Dir: t.TempDir()}
	checks := map[string]int{}
	for range 2 {
		a := &AcceptedValues{cache: store, key: "chart"}
		for _, v := range []string{"right", "wrong", "right", "wrong"} {
			a.Remember([]byte(v), func() bool { checks[v]++; return v == "right" })
		}
		a.Save()
	}
	if checks["right"] != 1 || checks["wrong"] != 4 {
		t.Errorf("checked %v, want the right value once and the wrong one 4 times", checks)
	}
}
