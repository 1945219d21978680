package main

import (
	"encoding/json"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// An appliedCluster is a cluster in the JSON report. Its field names must not
// change.
type appliedCluster struct {
	ID         string                `json:"id"`
	Status     string                `json:"status"`
	Wave       string                `json:"wave,omitempty"`  // of the rollout
	Waits      []deliver.Wait        `json:"waits,omitempty"` // why the cluster gets no change now
	Server     string                `json:"server,omitempty"`
	UID        string                `json:"uid,omitempty"`
	Bundle     string                `json:"bundle,omitempty"`
	First      bool                  `json:"first"`
	Fleets     []string              `json:"fleets,omitempty"` // other fleets with objects in a cluster that is new to this one
	Unchanged  int                   `json:"unchanged"`
	Created    int                   `json:"created"`
	Changed    int                   `json:"changed"`
	Replaced   int                   `json:"replaced"`
	Pruned     int                   `json:"pruned"`
	Pending    int                   `json:"pending,omitempty"` // objects whose deletion is not complete
	Hooks      int                   `json:"hooks"`
	Cascaded   int                   `json:"cascaded"`             // objects deleted along with pruned ones
	Revision   int                   `json:"revision,omitempty"`   // current revision, if known
	RollbackTo int                   `json:"rollbackTo,omitempty"` // revision
	Lasting    []apply.LastingEffect `json:"lasting,omitempty"`    // effects that a rollback does not undo
	NotDone    []string              `json:"notDone,omitempty"`    // actions that a rollback skips, because they are not recorded
	Stages     []string              `json:"stages"`
	NotReached []string              `json:"notReached"`
	Objects    []appliedObject       `json:"objects"` // changed objects
	Changes    json.RawMessage       `json:"changes"` // changed fields, in the format of fleetc diff -o json
	Actions    []appliedAction       `json:"actions"`
	Faults     []string              `json:"faults"`

	HelmRecords []apply.HelmRecord `json:"helmRecords,omitempty"` // records of adopted releases
}

type appliedObject struct {
	ID      string `json:"id"`
	Release string `json:"release"`
	Stage   string `json:"stage"`
	Level   int    `json:"level,omitempty"`
	Action  string `json:"action"`
	Reason  string `json:"reason,omitempty"`
	Owner   string `json:"owner,omitempty"` // the tool that manages the object now, so that it is kept

	Deletes   *apply.Cascade   `json:"deletes,omitempty"`   // objects that are deleted along with it
	TakesOver []apply.Takeover `json:"takesOver,omitempty"` // managers whose fields fleetc takes over
}

type appliedAction struct {
	ID      string `json:"id"`
	Stage   string `json:"stage"`
	Release string `json:"release,omitempty"`
	At      string `json:"at"` // before or after
	Does    string `json:"does"`
	Outcome string `json:"outcome,omitempty"` // empty when not reached
}

// printJSON prints the report as one JSON object.
func (r *applyReport) printJSON() error {
	out := struct {
		Clusters []appliedCluster `json:"clusters"`
	}{[]appliedCluster{}}
	for _, c := range r.clusters {
		cluster, err := c.json()
		if err != nil {
			return err
		}
		out.Clusters = append(out.Clusters, cluster)
	}
	return writeJSON(r.cmd.OutOrStdout(), out)
}

func objectJSON(it apply.Item) appliedObject {
	o := appliedObject{it.ID, it.Release, it.Stage, it.Level(), string(it.Action), it.Reason, it.Owner, it.Cascade, it.Takeovers}
	if o.Deletes.String() == "" {
		o.Deletes = nil // it was looked up, and deletes nothing else
	}
	return o
}

func (c *applyCluster) json() (appliedCluster, error) {
	changes, err := diff.ChangesJSON(c.Changes)
	l := appliedCluster{
		ID: c.Cluster.ID, Status: c.status(), Stages: []string{}, NotReached: []string{},
		Objects: []appliedObject{}, Actions: []appliedAction{}, Revision: c.revision(), Changes: changes, Wave: c.Wave, Waits: c.Waits,
	}
	if p := c.Plan; p != nil {
		l.Server, l.UID, l.Bundle, l.First, l.Unchanged = p.Server, p.UID, p.Bundle, p.FirstApply, p.Count(apply.Unchanged)
		l.Fleets, l.Objects = p.Fleets, c.objects()
		for _, a := range p.Actions {
			at, _, _ := strings.Cut(actionMoment(&a.Action), " ")
			l.Actions = append(l.Actions, appliedAction{a.ID(), a.Stage, a.Release, at, apply.DescribeTask(a.Task), string(c.result.Actions[a.ID()])})
		}
	}
	l.Created, l.Changed, l.Replaced, l.Pruned, l.Hooks = c.result.Created, c.result.Changed, c.result.Replaced, c.result.Pruned, c.result.Hooks
	l.Cascaded, l.Pending = c.result.Cascaded, c.pending()
	l.Stages, l.NotReached = append(l.Stages, c.result.Done...), append(l.NotReached, c.result.NotReached...)
	if back := c.rollback; back != nil {
		l.RollbackTo, l.Lasting, l.NotDone = back.To.Number, back.Lasting, back.Actions
	}
	l.Faults, l.HelmRecords = diag.Texts(c.err), c.records()
	return l, err
}
