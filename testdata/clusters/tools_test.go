package clusters

import "testing"

// A cluster can have the versions that the server emulates.
func TestEmulate(t *testing.T) {
	tools := &Tools{Kubernetes: "v1.37.1"}
	for version, want := range map[string]string{"": "", "1.37": "", "1.36": "1.36", "1.34": "1.34"} {
		if got, err := tools.emulate(version); got != want || err != nil {
			t.Errorf("%q: %q, %v", version, got, err)
		}
	}
	for _, version := range []string{"1.33", "1.38", "2.36", "36", "1.", "1.36.1", "x"} {
		if got, err := tools.emulate(version); err == nil {
			t.Errorf("%q is emulated as %q", version, got)
		}
	}
}
