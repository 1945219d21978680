package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/apply"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/diff"
)

// An applyReport is what apply says about clusters.
type applyReport struct {
	cmd      *cobra.Command
	json     bool
	clusters []*applyCluster
}

// An applyCluster is one cluster of a report.
type applyCluster struct {
	*compiler.Planned
	err    error // what is wrong with the plan, or went wrong
	ran    bool
	result apply.Result
}

func (r *applyReport) add(p *compiler.Planned) {
	r.clusters = append(r.clusters, &applyCluster{Planned: p, err: p.Faults()})
}

// checkFrozen adds the faults of clusters that are not as a plan has them.
func (r *applyReport) checkFrozen(frozen *planFile) {
	if frozen == nil {
		return
	}
	for _, c := range r.clusters {
		if c.Plan == nil {
			continue
		}
		f, ok := frozen.of(c.Cluster.ID)
		if !ok {
			c.err = diag.In(c.Cluster.ID, &diag.Diag{Msg: "the plan does not have this cluster"})
			continue
		}
		if err := f.Check(c.Plan); err != nil {
			c.err = diag.In(c.Cluster.ID, err)
		}
	}
}

// ready returns the clusters that have something to do, and nothing against it.
func (r *applyReport) ready() []*applyCluster {
	var out []*applyCluster
	for _, c := range r.clusters {
		if c.err == nil && !c.Plan.Nothing() {
			out = append(out, c)
		}
	}
	return out
}

// run applies, and notes how it went.
func (r *applyReport) run(jobs int, exact bool, ready []*applyCluster) {
	plans := make([]*compiler.Planned, len(ready))
	for i, c := range ready {
		plans[i] = c.Planned
	}
	i := 0
	for result, err := range compiler.Run(r.cmd.Context(), plans, jobs, exact, tell(r.cmd.ErrOrStderr())) {
		ready[i].ran, ready[i].result, ready[i].err = true, result, err
		i++
	}
}

// faults returns what is wrong with all clusters.
func (r *applyReport) faults() error {
	var faults diag.List
	for _, c := range r.clusters {
		faults.Add(c.err)
	}
	return faults.Err()
}

// planned ends an apply that was only to plan.
func (r *applyReport) planned(differences bool) error {
	if r.json {
		if err := r.printJSON(); err != nil {
			return err
		}
	}
	if err := r.faults(); err != nil {
		return err
	}
	if differences && len(r.ready()) > 0 {
		return errDifferences
	}
	return nil
}

// end says how it went.
func (r *applyReport) end() error {
	if r.json {
		if err := r.printJSON(); err != nil {
			return err
		}
		return r.faults()
	}
	for _, c := range r.clusters {
		if _, err := fmt.Fprintf(r.cmd.OutOrStdout(), "%s: %s\n", c.Cluster.ID, c.summary()); err != nil {
			return err
		}
	}
	return r.faults()
}

// status says in a word how it went.
func (c *applyCluster) status() string {
	switch {
	case !c.Reached:
		return "unreachable"
	case c.ran && c.err != nil:
		return "failed"
	case c.err != nil:
		return "refused"
	case c.ran:
		return "applied"
	case c.Plan.Nothing():
		return "unchanged"
	}
	return "planned"
}

func (c *applyCluster) summary() string {
	status := c.status()
	switch status {
	case "unreachable", "refused":
		return status + ", nothing was written"
	case "unchanged":
		return "runs its bundle, nothing was written"
	}
	parts := []string{fmt.Sprintf("%d created, %d changed, %d pruned", c.result.Created, c.result.Changed, c.result.Pruned)}
	if c.result.Hooks > 0 {
		parts = append(parts, plural(c.result.Hooks, "hook", "hooks")+" run")
	}
	if len(c.result.NotReached) > 0 {
		parts = append(parts, "not reached: "+strings.Join(c.result.NotReached, ", "))
	}
	return status + ": " + strings.Join(parts, "; ")
}

// printPlan shows what is to be done.
func (r *applyReport) printPlan() error {
	if r.json {
		return nil
	}
	w := r.cmd.OutOrStdout()
	var g diff.Grouper
	for _, c := range r.clusters {
		if c.Plan != nil {
			g.Add(c.Cluster.ID, c.Changes)
		}
	}
	if result := g.Result(); !result.Summary.Empty() {
		if err := diff.WriteText(w, result, diff.Style{Colour: isTerminal(w)}); err != nil {
			return err
		}
	}
	for _, c := range r.clusters {
		if c.Plan != nil {
			if err := c.printNotes(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// printNotes shows what a comparison of objects does not.
func (c *applyCluster) printNotes(w io.Writer) error {
	var lines []string
	first := 0
	if c.Plan.First {
		lines = append(lines, fmt.Sprintf("is new to fleetc: it is %s, UID %s", c.Plan.Server, c.Plan.UID))
	}
	for _, it := range c.Plan.Items {
		switch it.Action {
		case apply.Hook:
			lines = append(lines, "runs hook "+it.ID+" (release "+it.Release+")")
		case apply.Keep:
			lines = append(lines, "keeps "+it.ID+": "+it.Reason)
		case apply.Create, apply.Change:
			if it.Adopts {
				lines = append(lines, "takes over "+it.ID)
			}
			switch {
			case it.First:
				first++
			case it.Forced:
				lines = append(lines, it.ID+" "+it.Reason)
			case it.Reason != "":
				lines = append(lines, "has not tried out "+it.ID+": "+it.Reason)
			}
		case apply.Conflict:
			for _, f := range it.Fields {
				lines = append(lines, c.contested(it.ID, f.Path, f.Manager))
			}
		}
	}
	if first > 0 {
		lines = append(lines, "has not tried out "+plural(first, "object", "objects")+" whose namespace or CRD is not there yet")
	}
	if c.err == nil && !c.Plan.Nothing() && len(c.Changes) == 0 {
		lines = append(lines, "has no object to change; the record of stages is brought up to date")
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(w, "%s: %s\n", c.Cluster.ID, line); err != nil {
			return err
		}
	}
	return nil
}

func (c *applyCluster) contested(id, path, manager string) string {
	text := fmt.Sprintf("%s: %s is %s's", id, strings.TrimPrefix(path, "."), manager)
	for _, it := range c.Plan.Items {
		for _, f := range it.Fields {
			if it.ID != id || f.Path != path {
				continue
			}
			if v, ok := c.Contested(id, f); ok {
				return fmt.Sprintf("%s, who has %s; the bundle has %s", text, appliedText(v.Was, v.HasWas), appliedText(v.Is, v.HasIs))
			}
		}
	}
	return text
}

func appliedText(v any, has bool) string {
	if !has {
		return "none"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return diag.Visible(string(text), diag.MaxText)
}

// printJSON prints the report as one JSON object.
func (r *applyReport) printJSON() error {
	type object struct {
		ID      string `json:"id"`
		Release string `json:"release"`
		Stage   string `json:"stage"`
		Action  string `json:"action"`
		Reason  string `json:"reason,omitempty"`
	}
	type cluster struct {
		ID         string   `json:"id"`
		Status     string   `json:"status"`
		Server     string   `json:"server,omitempty"`
		UID        string   `json:"uid,omitempty"`
		Bundle     string   `json:"bundle,omitempty"`
		First      bool     `json:"first"`
		Unchanged  int      `json:"unchanged"`
		Created    int      `json:"created"`
		Changed    int      `json:"changed"`
		Pruned     int      `json:"pruned"`
		Hooks      int      `json:"hooks"`
		Stages     []string `json:"stages"`
		NotReached []string `json:"notReached"`
		Objects    []object `json:"objects"` // those that are not unchanged
		Faults     []string `json:"faults"`
	}
	out := struct {
		Clusters []cluster `json:"clusters"`
	}{[]cluster{}}
	for _, c := range r.clusters {
		l := cluster{ID: c.Cluster.ID, Status: c.status(), Stages: []string{}, NotReached: []string{}, Objects: []object{}, Faults: []string{}}
		if p := c.Plan; p != nil {
			l.Server, l.UID, l.Bundle, l.First, l.Unchanged = p.Server, p.UID, p.Bundle, p.First, p.Count(apply.Unchanged)
			for _, it := range p.Items {
				if it.Action != apply.Unchanged {
					l.Objects = append(l.Objects, object{it.ID, it.Release, it.Stage, string(it.Action), it.Reason})
				}
			}
		}
		l.Created, l.Changed, l.Pruned, l.Hooks = c.result.Created, c.result.Changed, c.result.Pruned, c.result.Hooks
		l.Stages, l.NotReached = append(l.Stages, c.result.Done...), append(l.NotReached, c.result.NotReached...)
		for _, d := range diag.All(c.err) {
			l.Faults = append(l.Faults, d.Error())
		}
		out.Clusters = append(out.Clusters, l)
	}
	enc := json.NewEncoder(r.cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
