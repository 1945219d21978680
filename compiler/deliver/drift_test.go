package deliver

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var update = flag.Bool("update", false, "write the expected output")

// testReport returns a report with each reason, an unchecked cluster and hostile texts.
func testReport() *DriftReport {
	r := newDriftReport()
	at := time.Date(2026, 11, 20, 16, 2, 11, 0, time.UTC)
	one := newCluster(&fleet.Cluster{ID: "dev/one", Pos: diag.Pos{File: "environments/dev/one/cluster.cue", Line: 3}, Releases: []*fleet.Release{
		{Name: "api", Pos: diag.Pos{File: "environments/api.cue", Line: 4}}, {Name: "web", Pos: diag.Pos{File: "environments/web.cue", Line: 5}},
	}})
	one.Checked, one.Behind = true, true
	one.Running = &RunningBundle{Revision: 3, Bundle: "5f0c", Commit: "1c6a"}
	one.Findings = []DriftFinding{
		{ID: "Deployment.apps web/web", Release: "web", Reason: DriftConflict, Fields: []DriftField{
			{Path: "spec.replicas", Live: int64(5), Fleet: int64(2), By: []apply.Author{{Manager: "kubectl", Operation: "Update", Subresource: "scale", Time: at}}},
		}},
		{ID: "ConfigMap web/web", Release: "web", Reason: DriftChanged, Fields: []DriftField{
			{Path: "data.page", Live: "<b>|`\n![a](b)", Fleet: "hello", By: []apply.Author{{Manager: "a]]>\x1b", Operation: "Update", Time: at}, {Manager: "fleetc", Operation: "Apply", Time: at}}},
			{Path: "data.gone", Fleet: "x"},
		}},
		{ID: "Secret web/web", Release: "web", Reason: DriftMissing},
		{ID: "Service web/old", Release: "old", Reason: DriftOrphaned},
		{ID: "Deployment.apps web/web", Release: "web", Reason: DriftUnhealthy, Why: "in progress: 0 of 2 pods are available"},
	}
	one.Ignored = []DriftFinding{{ID: "ConfigMap web/other", Release: "web", Reason: DriftChanged, Rule: "drift.ignore.other"}}
	one.sort()
	two := newCluster(&fleet.Cluster{ID: "dev/two", Releases: []*fleet.Release{{Name: "web"}}})
	two.Checked, two.Unlisted = true, []string{"Widget.example.com"}
	three := newCluster(&fleet.Cluster{ID: "dev/three", Pos: diag.Pos{File: "environments/dev/three/cluster.cue", Line: 3}})
	three.fail(&diag.Diag{At: []diag.Pos{three.pos}, Msg: "https://127.0.0.1:1 refuses connections"})
	r.Add(one)
	r.Add(three)
	r.Add(two)
	return r
}

// TestUnfixable tests which findings an apply of the fixable objects leaves.
func TestUnfixable(t *testing.T) {
	for name, c := range map[string]struct {
		findings []DriftFinding
		fixable  int
		want     int
	}{
		"restored and unhealthy": {[]DriftFinding{{ID: "a", Reason: DriftChanged}, {ID: "a", Reason: DriftUnhealthy}}, 1, 0},
		"unhealthy alone":        {[]DriftFinding{{ID: "a", Reason: DriftUnhealthy}, {ID: "b", Reason: DriftMissing}}, 1, 1},
		"orphaned":               {[]DriftFinding{{ID: "a", Reason: DriftOrphaned}}, 0, 1},
		"changed in Helm":        {[]DriftFinding{{ID: "a", Release: "r", Reason: DriftChanged, byHelm: true}}, 0, 1},
		"upgraded by Helm":       {[]DriftFinding{{ID: "a", Release: "r", Reason: DriftChanged, byHelm: true}, {ID: "b", Release: "r", Reason: DriftMissing}}, 1, 0},
	} {
		r := newDriftReport()
		one := newCluster(&fleet.Cluster{ID: "dev/one"})
		one.Checked, one.Findings = true, c.findings
		r.Add(one)
		if got := r.Unfixable(); got != c.want || len(r.Fixable()["dev/one"]) != c.fixable {
			t.Errorf("%s: %d unfixable, %v fixable, want %d and %d", name, got, r.Fixable(), c.want, c.fixable)
		}
	}
}

// Each format shows every finding.
func TestFormats(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *DriftReport) error{
		"text": WriteDriftText, "md": WriteDriftMarkdown, "xml": WriteDriftJUnit,
		"json": func(w io.Writer, r *DriftReport) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(r)
		},
		"sarif": func(w io.Writer, r *DriftReport) error {
			line := func(string, int) (string, bool) { return "", false }
			repository := func(file string) (string, bool) { return file, true }
			of := diag.Report{Err: r.Err(), Files: diag.Files{Line: line, Repository: repository}, Findings: r.Diags(), Rule: DriftSARIFRule}
			return of.Write(w, diag.SARIF)
		},
	} {
		var b bytes.Buffer
		if err := write(&b, testReport()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "report."+name)
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, b.String(), want)
		}
		if name == "xml" {
			var doc junitSuites
			if err := xml.Unmarshal(b.Bytes(), &doc); err != nil || doc.Failures != 2 || doc.Errors != 1 || doc.Tests != 5 {
				t.Errorf("%v: %+v", err, doc)
			}
		}
	}
}

// A table that does not fit says how many rows it leaves out.
func TestMarkdownLimit(t *testing.T) {
	r := newDriftReport()
	c := newCluster(&fleet.Cluster{ID: "dev/one"})
	c.Checked = true
	for range 3000 {
		c.Findings = append(c.Findings, DriftFinding{ID: "ConfigMap web/web", Release: "web", Reason: DriftMissing})
	}
	r.Add(c)
	var b strings.Builder
	if err := WriteDriftMarkdown(&b, r); err != nil {
		t.Fatal(err)
	}
	if b.Len() > maxMarkdown || !strings.HasSuffix(b.String(), " rows left out\n") {
		t.Errorf("%d bytes, and ends with %q", b.Len(), b.String()[b.Len()-50:])
	}
}

// A rule without fields ignores all findings of the objects that it matches.
func TestWholeRules(t *testing.T) {
	object := func(name string) *unstructured.Unstructured { return objectOf("ConfigMap web/" + name) }
	compared := &apply.Comparison{Objects: []apply.ObjectDiff{
		{ID: "ConfigMap web/a", Release: "web", Finding: apply.Missing, After: object("a")},
		{ID: "ConfigMap web/b", Release: "web", Finding: apply.Same, Health: kube.HealthVerdict{State: kube.HealthFailed, Reason: "it failed"}},
		{ID: "ConfigMap web/c", Release: "web", Finding: apply.Orphaned, Before: object("c")},
		{ID: "ConfigMap web/d", Release: "web", Finding: apply.InConflict, Why: "kubectl created it", Before: object("d"), After: object("d")},
		{ID: "Secret web/e", Finding: apply.Unknown, Why: "the user is not allowed to get secrets in web"},
		{ID: "Secret web/f", Finding: apply.Unknown, Why: "it is broken"},
	}}
	for _, test := range []struct {
		rules          []fleet.IgnoreRule
		found, ignored string
	}{
		{nil, "missing a, unhealthy b, orphaned c, conflict d, orphaned e", ""},
		{[]fleet.IgnoreRule{{Of: fleet.OfDrift, Name: "all"}}, "", "missing a, unhealthy b, orphaned c, conflict d, orphaned e"},
		{[]fleet.IgnoreRule{{Of: fleet.OfDrift, Name: "b", Match: fleet.Selector{Names: []string{"b"}}}}, "missing a, orphaned c, conflict d, orphaned e", "unhealthy b"},
		{[]fleet.IgnoreRule{{Of: fleet.OfDrift, Name: "db", Release: "db"}}, "missing a, unhealthy b, orphaned c, conflict d", "orphaned e"},
		{[]fleet.IgnoreRule{{Of: fleet.OfDiff, Name: "diff"}}, "missing a, unhealthy b, orphaned c, conflict d, orphaned e", ""},
	} {
		c := newCluster(&fleet.Cluster{ID: "dev/one"})
		err := c.addFindings(compared, nil, test.rules)
		if err == nil || !strings.Contains(err.Error(), "1 object could not be read: the user is not allowed to get secrets in web") {
			t.Errorf("an unreadable object is not a fault: %v", err)
		}
		for _, d := range diag.All(err) {
			if isRight := strings.Contains(d.Msg, "not allowed"); strings.Contains(d.Hint, "rights") != isRight || (d.Code == diag.CodeRights) != isRight {
				t.Errorf("the hint of %q is %q, and its code %s", d.Msg, d.Hint, d.Code)
			}
		}
		c.addOrphans([]apply.LabelledObject{{ID: "ConfigMap web/e", Release: "db"}}, test.rules)
		text := func(findings []DriftFinding) string {
			var out []string
			for _, f := range findings {
				out = append(out, string(f.Reason)+" "+f.ID[len("ConfigMap web/"):])
			}
			return strings.Join(out, ", ")
		}
		c.Releases = nil
		sortByID(c)
		if found, ignored := text(c.Findings), text(c.Ignored); found != test.found || ignored != test.ignored {
			t.Errorf("%v: found %q and ignored %q, want %q and %q", test.rules, found, ignored, test.found, test.ignored)
		}
	}
}

// sortByID sorts the findings by ID alone.
func sortByID(c *DriftCluster) {
	for _, findings := range [][]DriftFinding{c.Findings, c.Ignored} {
		for i := range findings {
			findings[i].Release = ""
		}
	}
	c.sort()
}
