package export

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	// GitOpsReportFile is the name of the report in its branch.
	GitOpsReportFile = "report.json"

	// MaxGitOpsReport limits the size of a report, in bytes.
	MaxGitOpsReport = 256 << 10

	reportFormat = "fleetc.report/v1"
	maxSkew      = 2 * time.Minute // how far a report may be in the future
)

// GitOpsReport has the states of a cluster's Kustomizations or Applications.
type GitOpsReport struct {
	Format  string         `json:"format"` // fleetc.report/v1
	Cluster string         `json:"cluster"`
	Time    time.Time      `json:"time"`
	Objects []GitOpsObject `json:"objects"`
}

// NewGitOpsReport returns the report of a cluster.
func NewGitOpsReport(id string, now time.Time, objects []GitOpsObject) GitOpsReport {
	return GitOpsReport{Format: reportFormat, Cluster: id, Time: now.UTC().Truncate(time.Second), Objects: append([]GitOpsObject{}, objects...)}
}

// Encode returns the text of the report.
func (r GitOpsReport) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil && len(data) >= MaxGitOpsReport {
		err = &diag.Diag{
			Code: diag.CodeClusterReport, Clusters: []string{r.Cluster},
			Msg:  fmt.Sprintf("the report would have more than %d KiB", MaxGitOpsReport>>10),
			Hint: "look for Kustomizations and Applications with long messages, or too many of them",
		}
	}
	return append(data, '\n'), err
}

// GitOpsReportBranch returns the branch of a cluster's report.
func GitOpsReportBranch(prefix, id string) string { return path.Join(prefix, id) + reportSuffix }

// reportSuffix ends the names of branches with reports.
const reportSuffix = ".report"

// IsReportBranch reports whether a branch has the name of one with a report.
func IsReportBranch(name string) bool { return strings.HasSuffix(name, reportSuffix) }

// ParseGitOpsReport parses the report of a cluster. It does not trust it: a report about another
// cluster, from the future, or in another format is a fault.
func ParseGitOpsReport(data []byte, id string, now time.Time) (GitOpsReport, error) {
	var r GitOpsReport
	fault := func(msg string, args ...any) (GitOpsReport, error) {
		return GitOpsReport{}, &diag.Diag{
			Code: diag.CodeClusterReport, Clusters: []string{id},
			Msg:  "its report " + fmt.Sprintf(msg, args...),
			Hint: "find out what pushes to the branch of the report; fleetc rollout report writes a new one",
		}
	}
	if len(data) == 0 {
		return fault("has no file %s, or more than %d KiB", GitOpsReportFile, MaxGitOpsReport>>10)
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
		case GitOpsReady, GitOpsFailed, GitOpsSyncing, GitOpsSuspended:
		default:
			return fault("has the unknown state %q", diag.Visible(string(o.State), diag.MaxText))
		}
	}
	return r, nil
}
