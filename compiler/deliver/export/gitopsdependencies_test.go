package export

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestPinnedDependenciesAreNotDelivered refuses a chart with pinned dependencies,
// because Flux and Argo CD would resolve other versions.
func TestPinnedDependenciesAreNotDelivered(t *testing.T) {
	r := &fleet.Release{Name: "app"}
	pin := fleet.ChartRef{Git: fleet.GitRef{URL: "https://h/r.git", Ref: strings.Repeat("0", 40)}}
	check := func(who string, deliver func(fleet.ChartRef) error) {
		t.Helper()
		if err := deliver(pin); err != nil {
			t.Error(err)
		}
		with := pin
		with.Dependencies = "https://h/db@1.0.0 sha256:0\n"
		if err := deliver(with); err == nil || !strings.Contains(err.Error(), who+" fetches the dependencies of the chart by itself") {
			t.Errorf("%s: %v", who, err)
		}
	}
	check("Flux", func(ref fleet.ChartRef) error {
		_, _, err := fluxSource(r, ref, fleet.Flux{})
		return err
	})
	check("Argo CD", func(ref fleet.ChartRef) error {
		_, err := Layouter{}.argoChart(r, ref)
		return err
	})
}
