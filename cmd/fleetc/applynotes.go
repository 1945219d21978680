package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// firstNote describes a cluster that is applied to for the first time.
func (c *applyCluster) firstNote() string {
	text := "is new to fleetc"
	switch n := len(c.Plan.Fleets); {
	case n == 1:
		text = "is new to this fleet, and has objects of the fleet " + c.Plan.Fleets[0]
	case n > 1:
		text = "is new to this fleet, and has objects of the fleets " + strings.Join(c.Plan.Fleets, ", ")
	}
	return fmt.Sprintf("%s: it is %s, UID %s", text, c.Plan.Server, c.Plan.UID)
}

// notes returns information that a comparison of objects does not show.
func (c *applyCluster) notes() []string {
	lines, first := c.backNotes(), 0
	if c.Plan.FirstApply && !c.destroys() {
		lines = append(lines, c.firstNote())
	}
	if newer := c.Plan.Newer; newer != nil && c.rollback == nil && !c.destroys() {
		lines = append(lines, "has "+newer.Title()+", which the history of these files does not contain: pull the changes, or the apply may undo them")
	}
	for _, a := range c.Plan.Actions {
		lines = append(lines, "runs action "+a.ID()+" "+actionMoment(&a.Action)+": "+apply.DescribeTask(a.Task))
	}
	for _, it := range c.Plan.Items {
		if it.Action == apply.Pending {
			lines = append(lines, "still deletes "+it.ID+": "+it.Reason)
			continue
		}
		if it.IsHelm() && it.Action != apply.Keep {
			lines = append(lines, helmNotes(it)...)
			continue
		}
		lines = append(lines, cascadeNotes(it)...)
		switch it.Action {
		case apply.Hook:
			lines = append(lines, "runs hook "+it.ID+" (release "+it.Release+")")
		case apply.Keep:
			lines = append(lines, keepNote(it))
		case apply.Replace:
			lines = append(lines, "replaces "+it.ID+", which is deleted and recreated: "+it.Reason)
		case apply.Create, apply.Change:
			if it.Adopts {
				lines = append(lines, takeoverNotes(it)...)
			}
			switch {
			case it.WaitsForBase:
				first++
			case it.Forced:
				lines = append(lines, it.ID+" "+it.Reason)
			case it.Reason != "":
				lines = append(lines, "made no dry run of "+it.ID+": "+it.Reason)
			}
		case apply.Conflict:
			for _, f := range it.Fields {
				lines = append(lines, c.contested(it.ID, f))
			}
		}
	}
	if first > 0 {
		lines = append(lines, "made no dry run of "+diag.Count(first, "object", "objects")+" whose namespace or CRD does not exist yet")
	}
	lines = append(lines, c.recordNotes()...)
	if c.err == nil && !c.Plan.IsApplied() && len(c.Changes) == 0 && !c.destroys() && !slices.ContainsFunc(c.Plan.Items, func(it apply.Item) bool { return it.IsHelm() && helmNotes(it) != nil }) {
		lines = append(lines, "has no object to change; the record of stages is brought up to date")
	}
	return lines
}

// helmNotes describes the work of Helm.
func helmNotes(it apply.Item) []string {
	verb, ok := map[apply.Action]string{apply.Create: "installs ", apply.Change: "upgrades ", apply.Prune: "uninstalls "}[it.Action]
	if !ok {
		return nil
	}
	line := verb + it.ID
	if it.Adopts {
		line += ", which another tool created"
	}
	if it.Reason != "" {
		line += ": " + it.Reason
	}
	lines := []string{line}
	for _, part := range it.Parts {
		switch {
		case part.Action == apply.Keep:
			lines = append(lines, keepNote(part))
		case part.Action == apply.Change && part.Reason != "":
			lines = append(lines, "made no dry run of "+part.ID+": "+part.Reason)
		}
		lines = append(lines, cascadeNotes(part)...)
	}
	return lines
}
