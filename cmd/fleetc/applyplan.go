package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

const (
	planFormat  = 2
	maxPlanFile = 256 << 20
)

// A planFile is the file of --plan: the plans of clusters and the options that
// they were made with.
type planFile struct {
	Format         int               `json:"format"`
	Fleet          string            `json:"fleet"`
	Stages         []string          `json:"stages,omitempty"`
	Releases       []string          `json:"releases,omitempty"`
	Force          []string          `json:"force,omitempty"`
	Adopt          bool              `json:"adopt,omitempty"`
	AdoptFrom      []string          `json:"adoptFrom,omitempty"`
	AdoptForget    bool              `json:"adoptForget,omitempty"`
	Strict         bool              `json:"strict,omitempty"`
	PruneLimit     *int              `json:"pruneLimit,omitempty"`
	PruneProtected []string          `json:"pruneProtectedKinds,omitempty"`
	Clusters       []apply.SavedPlan `json:"clusters"`
}

// clusters returns the IDs of the clusters in the plan.
func (p *planFile) clusters() []string {
	return diag.Each(p.Clusters, func(f apply.SavedPlan) string { return f.Cluster })
}

// of returns the plan of a cluster.
func (p *planFile) of(id string) (apply.SavedPlan, bool) {
	for _, f := range p.Clusters {
		if f.Cluster == id {
			return f, true
		}
	}
	return apply.SavedPlan{}, false
}

// writePlan writes the plans of all clusters with changes. Clusters with
// faults are not included.
func writePlan(file, fleet string, a *applyOptions, report *applyReport) error {
	p := planFile{
		Format: planFormat, Fleet: fleet, Stages: a.Stages, Releases: a.Releases, Force: a.force, Strict: a.Strict,
		Adopt: a.Adopt, AdoptFrom: a.AdoptFrom, AdoptForget: a.AdoptForget, PruneLimit: a.PruneLimit, PruneProtected: a.protected, Clusters: []apply.SavedPlan{},
	}
	for _, c := range report.clusters {
		if c.err == nil && !c.Plan.IsUpToDate() {
			p.Clusters = append(p.Clusters, c.Plan.Saved())
		}
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	err = os.WriteFile(file, append(text, '\n'), 0o600)
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "write" {
		if info, statErr := os.Stat(file); statErr == nil && info.Mode().IsRegular() {
			err = errors.Join(err, os.Remove(file)) // it is incomplete
		}
	}
	return err
}

// readPlan reads a plan and sets the options that it was made with.
func readPlan(file string, a *applyOptions) (*planFile, error) {
	in, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.Diag{Code: diag.CodeFileSystem, Msg: file + " does not exist", Hint: "name a plan that fleetc apply --plan wrote", Cause: err}
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var p planFile
	if err := json.NewDecoder(io.LimitReader(in, maxPlanFile)).Decode(&p); err != nil {
		return nil, &diag.Diag{Code: diag.CodeFlagValue, Msg: file + " is not a plan of fleetc apply", Hint: "write one with --plan", Cause: err}
	}
	if p.Format != planFormat {
		return nil, &diag.Diag{Code: diag.CodeOtherVersion, Msg: fmt.Sprintf("%s has format %d, but this fleetc supports %d", file, p.Format, planFormat), Hint: "plan again"}
	}
	if len(p.Clusters) == 0 {
		return nil, &diag.Diag{Code: diag.CodeNoMatch, Msg: "the plan in " + file + " has nothing to do", Hint: "plan again after a change"}
	}
	a.Stages, a.Releases, a.force, a.Adopt = p.Stages, p.Releases, p.Force, p.Adopt
	a.AdoptFrom, a.AdoptForget, a.Strict = p.AdoptFrom, p.AdoptForget, p.Strict
	a.PruneLimit, a.protected = p.PruneLimit, p.PruneProtected
	if a.Force, err = apply.ParseForce(p.Force); err != nil {
		return nil, err
	}
	if a.PruneProtected, err = apply.ParseProtected(p.PruneProtected); err != nil {
		return nil, err
	}
	return &p, nil
}
