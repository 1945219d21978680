package query

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A ReportSummary has the numbers of a report.
type ReportSummary struct {
	Clusters, Releases, Installed int // clusters, names of releases, releases in clusters
	Outdated, Differs, Waived     int // cells
	Changed                       int // cells with changes since the state of Against
	Found                         int // cells with findings of running clusters
	Drifted, Unhealthy, Behind    int // running clusters
	Unchecked                     int // running clusters that could not be checked
}

// Summary counts the facts.
func (r *Report) Summary() ReportSummary {
	s := ReportSummary{Clusters: len(r.Clusters), Releases: len(r.ReleaseNames())}
	for _, c := range r.Clusters {
		for _, cell := range c.Releases {
			s.Installed += btoi(!cell.Missing)
			s.Outdated += btoi(cell.Newest != "")
			s.Differs += btoi(cell.Differs > 0)
			s.Waived += btoi(cell.Waivers > 0)
			s.Changed += btoi(len(cell.Changes) > 0)
			s.Found += btoi(len(cell.Findings) > 0)
		}
		if l := c.Live; l != nil {
			s.Drifted += btoi(l.Drifted > 0)
			s.Unhealthy += btoi(l.Unhealthy > 0)
			s.Behind += btoi(l.Behind)
			s.Unchecked += btoi(!l.Checked)
		}
	}
	return s
}

// ReleaseNames returns the sorted names of the releases of all clusters.
func (r *Report) ReleaseNames() []string {
	var names []string
	for _, c := range r.Clusters {
		for _, cell := range c.Releases {
			names = append(names, cell.Release)
		}
	}
	return diag.Distinct(names)
}

// String returns the numbers as one sentence.
func (s ReportSummary) String() string {
	return fmt.Sprintf("%s, %s: %d outdated, %s, %d with waivers",
		diag.Count(s.Clusters, "cluster", "clusters"), diag.Count(s.Installed, "release", "releases"), s.Outdated,
		diag.Count(s.Differs, "differs from its environment", "differ from their environment"), s.Waived)
}

// WriteReportText writes the matrix as a table, a line for each release in a cluster.
func WriteReportText(w io.Writer, r *Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "CLUSTER\tRELEASE\tVERSION\tPINNED BY\tNOTES")
	for _, c := range r.Clusters {
		for _, cell := range c.Releases {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", c.ID, cell.Release, cmp.Or(cell.Version, "-"),
				cmp.Or(cell.PinnedAt.String(), "-"), cmp.Or(strings.Join(r.notes(cell), ", "), "-"))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.Summary())
	return err
}

// String returns the place as file:line; empty for no place.
func (p *ReportPlace) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// notes returns the notes on a cell.
func (r *Report) notes(cell ReportCell) []string {
	var out []string
	if cell.Missing {
		out = append(out, "not installed, but in most clusters of the environment")
	} else if cell.Differs > 0 {
		out = append(out, "differs in "+diag.Count(cell.Differs, "field", "fields"))
	}
	if cell.Newest != "" {
		out = append(out, "outdated: "+cell.Newest)
	}
	if cell.Waivers > 0 {
		out = append(out, diag.Count(cell.Waivers, "waiver", "waivers"))
	}
	if n := len(cell.Changes); n > 0 {
		out = append(out, diag.Count(n, "changed object", "changed objects"))
	}
	if n := len(cell.Findings); n > 0 {
		out = append(out, diag.Count(n, "live difference", "live differences"))
	}
	return out
}
