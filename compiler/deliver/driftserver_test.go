package deliver

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// page returns the status and the body of a page, without metrics of the process.
func page(t *testing.T, s *driftServer, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for line := range strings.Lines(string(body)) {
		if path != "/metrics" || strings.HasPrefix(line, "fleetc_") {
			own = append(own, line)
		}
	}
	return w.Result().StatusCode, strings.Join(own, "")
}

// A failed check keeps the drift that was found before, and forgets no cluster. A cluster
// that left the fleet is forgotten.
func TestState(t *testing.T) {
	s := &driftServer{state: newCollector()}
	if status, _ := page(t, s, "/readyz"); status != 503 {
		t.Errorf("ready before a round: %d", status)
	}
	if status, text := page(t, s, "/healthz"); status != 200 || text != "ok\n" {
		t.Errorf("healthz: %d %s", status, text)
	}
	if _, text := page(t, s, "/metrics"); text != "" {
		t.Errorf("before a round:\n%s", text)
	}
	if status, _ := page(t, s, "/"); status != 404 {
		t.Errorf("another page: %d", status)
	}
	at := time.Unix(1800000000, 0)
	one := &DriftCluster{
		ID: "dev/one", Checked: true, Wave: "canary", Position: 1, Running: &RunningBundle{Revision: 3, Bundle: "5f0c", Commit: "1c6a"},
		Findings: []DriftFinding{
			{ID: "a", Release: "web", Reason: DriftMissing},
			{ID: "b", Release: "web", Reason: DriftMissing},
			{ID: "b", Release: "web", Reason: DriftUnhealthy},
			{ID: "c", Release: "a\"\n\xff", Reason: DriftConflict},
		},
	}
	s.state.set(one, at)
	s.state.set(&DriftCluster{ID: "dev/two", Wave: "canary", Position: 1}, at)
	s.state.loaded(true)
	found := `fleetc_bundle_info{cluster="dev/one",commit="1c6a",digest="5f0c",revision="3"} 1
fleetc_drift_check_success{cluster="dev/one"} 1
fleetc_drift_check_success{cluster="dev/two"} 0
fleetc_drift_last_success_timestamp_seconds{cluster="dev/one"} 1.8e+09
fleetc_drift_last_success_timestamp_seconds{cluster="dev/two"} 0
fleetc_drift_load_success 1
fleetc_drift_objects{cluster="dev/one",reason="conflict",release="a\"\n?"} 1
fleetc_drift_objects{cluster="dev/one",reason="missing",release="web"} 2
fleetc_drift_objects{cluster="dev/one",reason="unhealthy",release="web"} 1
fleetc_rollout_wave{position="1",state="failed",wave="canary"} 1
fleetc_rollout_wave{position="1",state="never applied",wave="canary"} 1
`
	if _, text := page(t, s, "/metrics"); text != found {
		t.Errorf("got\n%s\nwant\n%s", text, found)
	}
	s.state.set(&DriftCluster{ID: "dev/one", Findings: one.Findings[:1]}, at.Add(time.Hour))
	failed := strings.NewReplacer(`success{cluster="dev/one"} 1`, `success{cluster="dev/one"} 0`,
		`state="failed",wave="canary"} 1`, `state="failed",wave="canary"} 2`, `fleetc_rollout_wave{position="1",state="never applied",wave="canary"} 1`+"\n", "")
	if _, text := page(t, s, "/metrics"); text != failed.Replace(found) {
		t.Errorf("after a failed check:\n%s", text)
	}
	one.Findings, one.Running = nil, nil
	s.state.set(one, at)
	s.state.failAll()
	s.state.loaded(false)
	s.state.removeOthers(&DriftReport{Clusters: []*DriftCluster{one}})
	want := `fleetc_drift_check_success{cluster="dev/one"} 0
fleetc_drift_last_success_timestamp_seconds{cluster="dev/one"} 1.8e+09
fleetc_drift_load_success 0
fleetc_rollout_wave{position="1",state="failed",wave="canary"} 1
`
	if _, text := page(t, s, "/metrics"); text != want {
		t.Errorf("without drift, and after the fleet broke:\n%s", text)
	}
}
