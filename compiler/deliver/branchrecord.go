package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// Decisions change the records of waves on a branch.
type Decisions struct {
	*fleet.Fleet
	order   *fleet.Rollout
	options BranchOptions
	digests map[string]string // of waves, for approvals and aborts
}

// NewDecisions evaluates the fleet, for changes of the records of its waves.
func NewDecisions(ctx context.Context, c *compiler.Compiler, o BranchOptions) (*Decisions, error) {
	f, err := c.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	d := &Decisions{Fleet: f, order: rolloutOf(f.Clusters), options: o}
	if d.order == nil {
		return nil, noRollout()
	}
	if o.Branch == "" {
		d.options.Branch, err = o.Remote.Default(ctx)
	}
	return d, err
}

// Approve records that the clusters of a wave may get the bundles with the digest. Another
// digest than that of the wave is refused.
func (r *BranchRollout) Approve(ctx context.Context, name, digest, reason string) error {
	err := r.checkApproval(name, digest, "see the change with fleetc diff, and the digest with fleetc rollout status"+r.Flags())
	if err == nil {
		_, err = r.Decide(ctx, approval(reason), []string{name})
	}
	return err
}

// Decide is [Decisions.Decide] of a rollout that was read.
func (r *BranchRollout) Decide(ctx context.Context, d Decision, names []string) (DecisionResult, error) {
	digests := map[string]string{}
	for _, w := range r.Waves {
		digests[w.Name] = w.Digest()
	}
	return (&Decisions{r.Fleet.Fleet, r.order, r.options, digests}).Decide(ctx, d, names)
}

// WayBack returns what a user does to go back.
func (r *BranchRollout) WayBack() []string {
	return []string{"revert the change in the files of the fleet, and run fleetc export --rollout" + r.Flags()}
}

// Decide records a decision for the named waves, or for all waves without names, in one commit.
func (d *Decisions) Decide(ctx context.Context, what Decision, names []string) (DecisionResult, error) {
	var recorded DecisionResult
	all := d.order.WaveNames()
	subject := "fleetc: " + what.Command + " all waves"
	if len(names) > 0 {
		subject = fmt.Sprintf("fleetc: %s wave %s", what.Command, names[0])
		if len(names) > 1 {
			subject = fmt.Sprintf("fleetc: %s %d waves", what.Command, len(names))
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return DecisionResult{}, noWave(d.order, name)
		}
	}
	if len(names) == 0 {
		names = all
	}
	ids := map[string][]string{} // of clusters by wave
	for i, clusters := range d.order.Clusters(d.Clusters) {
		ids[all[i]] = fleet.IDs(clusters)
	}
	dir := path.Join(d.options.Path, waveRecordDir)
	write := func(ctx context.Context, top, base string) (export.BranchChange, error) {
		// The first wave may need an approval before the first export.
		if err := d.checkExported(ctx, base, what.Command == "approve" && names[0] == all[0]); err != nil {
			return export.BranchChange{}, err
		}
		recorded = DecisionResult{} // of an attempt that failed
		changed, err := d.writeRecords(top, "git:"+d.options.Branch+":"+path.Join(dir, waveRecordFile), func(records *WaveRecords) {
			for _, wave := range names {
				recorded.add(wave, records.Change(d.Module, wave, func(r *WaveRecord) {
					what.change(r, d.options.RolloutOptions, d.options.By, d.digests[wave], ids[wave])
					r.Cluster = slices.Concat(ids[wave], []string{""})[0]
				}))
			}
		})
		out := export.BranchChange{Message: subject + "\n\nFleetc-Version: " + d.options.Version + "\n"}
		if changed {
			out.Files = []string{waveRecordFile}
		}
		return out, err
	}
	_, err := d.options.Remote.Push(ctx, false, export.BranchUpdate{Branch: d.options.Branch, Path: dir, Existing: true, Write: write})
	if err != nil {
		return DecisionResult{}, err
	}
	return recorded, nil
}

// checkExported returns a fault for a commit without the bundle of a cluster of the fleet. A
// decision there would be recorded, and no export would read it. With isFirst, it returns nil
// if no other branch has such a bundle either.
func (d *Decisions) checkExported(ctx context.Context, commit string, isFirst bool) error {
	listing, err := d.options.Remote.ListCommit(ctx, commit, d.options.Path)
	isExported := func(c *fleet.Cluster) bool { return slices.Contains(listing.Files, export.IndexPath(c.ID)) }
	if err != nil || slices.ContainsFunc(d.Clusters, isExported) {
		return err
	}
	other, err := d.otherBranch(ctx)
	if err != nil || isFirst && other == "" {
		return err
	}
	hint := "correct --branch or --path, or run fleetc export --git --rollout first"
	if other != "" {
		hint = "pass --branch " + diag.Visible(other, diag.MaxText) + ", to which the fleet is exported; a new branch can begin as a copy of it"
	}
	where := "branch " + d.options.Branch + " of " + d.options.Remote.Name
	if d.options.Path != "" {
		where = d.options.Path + " in " + where
	}
	return &diag.Diag{Code: diag.CodeWaveChange, Msg: "no cluster of the fleet is exported to " + where, Hint: hint}
}

// otherBranch returns another branch that has the bundle of a cluster of the fleet; empty for
// none.
func (d *Decisions) otherBranch(ctx context.Context) (string, error) {
	files := diag.Each(d.Clusters, func(c *fleet.Cluster) string { return path.Join(d.options.Path, export.IndexPath(c.ID)) })
	found, err := d.options.Remote.Find(ctx, files, func(name string) bool {
		return name != d.options.Branch && !export.IsReportBranch(name)
	})
	for _, f := range found {
		if export.FleetOf(f.Data) == d.Module {
			return f.Branch, err
		}
	}
	return "", err
}

// writeRecords changes the file with the records in a directory, and reports whether it
// differs.
func (d *Decisions) writeRecords(dir, name string, change func(*WaveRecords)) (bool, error) {
	before, err := readRecords(dir, waveRecordFile, name)
	if err != nil {
		return false, err
	}
	records, err := parseWaveRecords(before, diag.Pos{File: name})
	if err != nil {
		return false, err
	}
	records.Follow(d.Module, d.order, d.Clusters)
	change(records)
	after, err := records.Encode()
	if err != nil || bytes.Equal(before, after) || before == nil && len(records.Fleets) == 0 {
		return false, err
	}
	if err = os.MkdirAll(dir, 0o755); err == nil {
		err = os.WriteFile(filepath.Join(dir, waveRecordFile), after, 0o644)
	}
	if err != nil {
		return false, fmt.Errorf("write the approvals and pauses: %w", err)
	}
	return true, nil
}

// readRecords reads the file with the records in a checkout; nil if it does not exist. title
// names it in faults. A symbolic link in its path is a fault: it could lead to a file without
// the pauses.
func readRecords(dir, name, title string) ([]byte, error) {
	const most = 4 << 20
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the approvals and pauses: %w", err)
	}
	defer root.Close()
	foreign := &diag.Diag{Code: diag.CodeDamagedRecord, At: []diag.Pos{{File: title}}, Msg: "fleetc did not write this file", Hint: "remove it from the branch"}
	for i, part := 0, ""; part != name; i++ {
		part = path.Join(strings.Split(name, "/")[:i+1]...)
		info, err := root.Lstat(filepath.FromSlash(part))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("read the approvals and pauses: %w", err)
		case part != name && !info.IsDir(), part == name && (!info.Mode().IsRegular() || info.Size() > most):
			return nil, foreign
		}
	}
	data, err := root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("read the approvals and pauses: %w", err)
	}
	return data, nil
}
