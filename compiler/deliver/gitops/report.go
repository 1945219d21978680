package gitops

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	// ReportFile is the name of the report in its branch.
	ReportFile = "report.json"

	// MaxReport limits the size of a report, in bytes.
	MaxReport = 256 << 10

	reportFormat = "fleetc.report/v1"
	maxSkew      = 2 * time.Minute // how far a report may be in the future
)

// Report has the states of a cluster's Kustomizations or Applications.
type Report struct {
	Format  string    `json:"format"` // fleetc.report/v1
	Cluster string    `json:"cluster"`
	Time    time.Time `json:"time"`
	Objects []Object  `json:"objects"`
}

// NewReport returns the report of a cluster.
func NewReport(id string, now time.Time, objects []Object) Report {
	return Report{Format: reportFormat, Cluster: id, Time: now.UTC().Truncate(time.Second), Objects: append([]Object{}, objects...)}
}

// Encode returns the text of the report.
func (r Report) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil && len(data) >= MaxReport {
		err = &diag.Diag{
			Code: diag.CodeClusterReport, Clusters: []string{r.Cluster},
			Msg:  fmt.Sprintf("the report would have more than %d KiB", MaxReport>>10),
			Hint: "look for Kustomizations and Applications with long messages, or too many of them",
		}
	}
	return append(data, '\n'), err
}

// ReportBranch returns the branch of a cluster's report.
func ReportBranch(prefix, id string) string { return path.Join(prefix, id) + reportSuffix }

// reportSuffix ends the names of branches with reports.
const reportSuffix = ".report"

// IsReportBranch reports whether a branch has the name of one with a report.
func IsReportBranch(name string) bool { return strings.HasSuffix(name, reportSuffix) }

// ParseReport parses the report of a cluster. It does not trust it: a report about another
// cluster, from the future, or in another format is a fault.
func ParseReport(data []byte, id string, now time.Time) (Report, error) {
	var r Report
	fault := func(msg string, args ...any) (Report, error) {
		return Report{}, &diag.Diag{
			Code: diag.CodeClusterReport, Clusters: []string{id},
			Msg:  "its report " + fmt.Sprintf(msg, args...),
			Hint: "find out what pushes to the branch of the report; fleetc rollout report writes a new one",
		}
	}
	if len(data) == 0 {
		return fault("has no file %s, or more than %d KiB", ReportFile, MaxReport>>10)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return fault("cannot be read: %s", diag.Brief(err))
	}
	switch {
	case r.Format != reportFormat:
		return fault("has the format %q, and not %s", diag.Visible(r.Format, diag.MaxText), reportFormat)
	case r.Cluster != id:
		return fault("is about the cluster %q", diag.Visible(r.Cluster, diag.MaxText))
	case r.Time.After(now.Add(maxSkew)):
		return fault("is from the future: %s", r.Time.UTC().Format(time.RFC3339))
	}
	for i := range r.Objects {
		o := &r.Objects[i]
		o.Message = message("", o.Message)
		if o.Since.IsZero() || o.Since.After(r.Time) {
			o.Since = r.Time
		}
		switch o.State {
		case Ready, Failed, Syncing, Suspended:
		default:
			return fault("has the unknown state %q", diag.Visible(string(o.State), diag.MaxText))
		}
	}
	return r, nil
}
