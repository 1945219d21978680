package deliver

import (
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// DriftSARIFRule is the class of findings in SARIF.
var DriftSARIFRule = diag.Rule{ID: "drift", Summary: "An object in a cluster differs from the fleet."}

// Diags returns the findings for [diag.Report]. Their positions are those of the releases,
// since code scanners reject results without one.
func (r *DriftReport) Diags() []*diag.Diag {
	var out []*diag.Diag
	for _, c := range r.Clusters {
		for _, f := range c.Findings {
			lines := []string{f.details()}
			for _, field := range f.Fields {
				lines = append(lines, field.line())
			}
			out = append(out, &diag.Diag{Code: "", At: []diag.Pos{c.place(f.Release)}, Clusters: []string{c.ID}, Path: f.ID, Msg: strings.Join(lines, "; ")})
		}
	}
	return out
}
