package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/query"
)

// The report has the revision, drift and health of running clusters, without values, and
// needs only read access.
func TestReportLive(t *testing.T) {
	p := newWeb(t)
	p.write("environments/other.cue", otherRelease)
	reader := p.reader("one")
	live := func() (*query.ReportLiveState, query.ReportCell) {
		t.Helper()
		r := p.fleetc("report", "--live", "--kubeconfig", reader, "--out", "report.html", "-o", "json").ok(p)
		var out query.Report
		if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
			t.Fatal(err)
		}
		for _, cell := range out.Clusters[0].Releases {
			if cell.Release == "web" {
				return out.Clusters[0].Live, cell
			}
		}
		t.Fatalf("no release web\n%s", r.stdout)
		return nil, query.ReportCell{}
	}
	if state, _ := live(); !state.Checked || state.Revision != 0 || state.Drifted == 0 {
		t.Errorf("of a cluster that was never applied to: %+v", state)
	}
	p.fleetc("apply", "--yes").ok(p)
	if state, cell := live(); !state.Checked || state.Revision != 1 || state.Behind || state.Drifted != 0 || len(cell.Findings) > 0 {
		t.Errorf("of a cluster that runs its bundle: %+v %+v", state, cell.Findings)
	}
	p.kubectl("one", "-n", "web", "patch", "configmap", "web", "--type=merge", "-p", `{"data": {"colour": "changed-by-hand"}}`)
	p.write("environments/other.cue", "package fleet\n")
	state, cell := live()
	if len(cell.Findings) != 1 || cell.Findings[0].Object != "ConfigMap web/web" || strings.Join(cell.Findings[0].By, " ") != "kubectl-patch" {
		t.Errorf("of a changed object: %+v", cell.Findings)
	}
	if !state.Behind || state.Drifted != 2 || len(state.Findings) != 1 || state.Findings[0].Reason != "orphaned" {
		t.Errorf("of a cluster with an orphan: %+v", state)
	}
	page, err := os.ReadFile(filepath.Join(p.dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "r1, behind, 2 drifted") || strings.Contains(string(page), "changed-by-hand") {
		t.Errorf("the page lacks the state, or has a value of the cluster: %v", err)
	}
	// The page is also written if a cluster is unreachable.
	p.fleetc("report", "--live", "--kubeconfig", "missing", "--out", "report.html").exits(p, 2)
	if page, err := os.ReadFile(filepath.Join(p.dir, "report.html")); err != nil || !strings.Contains(string(page), "not checked") {
		t.Errorf("the page does not say that the cluster was not checked: %v", err)
	}
}
