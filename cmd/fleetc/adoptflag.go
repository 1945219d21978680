package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/spf13/cobra"
)

// adoptFlag adds --adopt.
func adoptFlag(cmd *cobra.Command, o *deliver.ApplyOptions) {
	f := cmd.Flags()
	f.Func("adopt", "take over objects that other tools created; with `from:MANAGER`, only the fields of this manager; may be repeated", func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			name, isManager := strings.CutPrefix(part, "from:")
			switch {
			case part == "all" || part == "true":
				o.Adopt = true
			case part == "false":
				o.Adopt, o.AdoptFrom = false, nil
			case isManager && name != "":
				o.AdoptFrom = append(o.AdoptFrom, name)
			default:
				return fmt.Errorf("%s: name a manager as in from:argocd-controller, or pass --adopt alone", diag.Visible(part, diag.MaxText))
			}
		}
		return nil
	})
	f.Lookup("adopt").NoOptDefVal = "all"
	f.BoolVar(&o.AdoptForget, "adopt-forget", false, "with --adopt, remove Helm's records of releases when fleetc owns all of their objects; the objects stay")
	_ = cmd.RegisterFlagCompletionFunc("adopt", cobra.FixedCompletions([]string{
		"all", "from:argocd-controller", "from:helm", "from:helm-controller", "from:kapp-server", "from:kubectl-client-side-apply", "from:kustomize-controller", "from:Terraform",
	}, cobra.ShellCompDirectiveNoFileComp))
}

// checkForget returns a fault when --adopt-forget is set without --adopt.
func (a *applyOptions) checkForget() error {
	if a.AdoptForget && !a.Adopt && len(a.AdoptFrom) == 0 {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--adopt-forget needs --adopt", Hint: "pass --adopt --adopt-forget"}
	}
	return nil
}

// records returns the results for the records of Helm releases.
func (c *applyCluster) records() []apply.HelmRecord {
	if c.ran && c.result.HelmRecords != nil {
		return c.result.HelmRecords
	}
	if c.Plan == nil {
		return nil
	}
	return c.Plan.HelmRecords
}

// recordNotes returns notes about the records of Helm releases.
func (c *applyCluster) recordNotes() []string {
	const shown = 10
	var lines []string
	for _, r := range c.records() {
		switch {
		case r.Action == apply.Removed:
			lines = append(lines, "removed "+r.String())
		case r.Action == apply.KeepRecord:
			lines = append(lines, "keeps "+r.String()+": "+r.Reason)
		case c.ran:
			lines = append(lines, "keeps "+r.String()+": the apply did not succeed")
		default:
			lines = append(lines, "removes "+r.String()+" when everything is applied: "+diag.JoinFirst(r.Records, shown))
		}
	}
	return lines
}

// checkAdopted adds faults for managers that no object has in any cluster. It
// does nothing if a cluster could not be planned.
func (r *applyReport) checkAdopted() {
	plans := r.plans()
	if len(plans) == 0 {
		return
	}
	for _, name := range plans[0].UnusedAdoptFrom {
		if !slices.ContainsFunc(plans, func(p *apply.Plan) bool { return !slices.Contains(p.UnusedAdoptFrom, name) }) {
			r.addFault(&diag.Diag{
				Code: diag.CodeNoMatch,
				Msg:  "--adopt=from:" + diag.Visible(name, diag.MaxText) + ": no object of the bundle has this manager",
				Hint: "list managers with kubectl get --show-managed-fields; leave out one whose fields were taken over already",
			})
		}
	}
}

// takeoverNotes returns the managers whose fields fleetc takes over, and the
// removed fields.
func takeoverNotes(it apply.Item) []string {
	const shown = 10
	var lines []string
	for _, t := range it.Takeovers {
		line := "takes over " + it.ID + " from " + t.Manager
		if len(t.Removes) > 0 {
			line += ": removes " + diag.JoinFirst(t.Removes, shown)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []string{"takes over " + it.ID}
	}
	return lines
}

// keepNote explains why an object stays that left the bundle.
func keepNote(it apply.Item) string {
	line := "keeps " + it.ID + ": " + it.Reason
	if it.Owner != "" {
		line += "; fleetc forgets it"
	}
	return line
}
