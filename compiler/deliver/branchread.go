package deliver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// read compiles all clusters, stages them in a session of the tree, and reads the state of
// the waves at the commit base.
func (r *BranchRollout) read(ctx context.Context, tree *export.Tree, session *export.Session, base string) error {
	if err := r.stage(ctx, tree, session); err != nil {
		return err
	}
	records, err := r.records(tree.Dir)
	if err != nil {
		return err
	}
	history, err := r.options.Remote.History(ctx, base, r.options.Path)
	if err != nil {
		return err
	}
	if !r.options.NoProgress {
		err = r.readProgress(ctx, history)
	}
	if err != nil {
		return err
	}
	r.Waves = nil
	place := r.Flags()
	for i, clusters := range r.order.Clusters(r.Fleet.Clusters) {
		w := &Wave{Wave: &r.order.Waves[i], Place: place}
		w.Record = records.Fleets[r.Fleet.Module][w.Name]
		for _, c := range clusters {
			follower := r.followers[c.ID]
			one := &WaveCluster{Cluster: c, Frozen: r.order.FrozenBy(c, r.options.day()), Target: follower.target}
			one.State, one.Since = follower.state()
			if one.State == TargetNeverApplied && keepsRandom(c) {
				one.Target = "new" // its bundle has new random values in each run
			}
			w.Clusters = append(w.Clusters, one)
		}
		r.Waves = append(r.Waves, w)
	}
	return nil
}

// stage compiles all clusters and compares them with their directories.
func (r *BranchRollout) stage(ctx context.Context, tree *export.Tree, session *export.Session) error {
	r.Fleet.KeepLast(r.Layout, tree.Objects)
	r.Fleet.Exported = tree.Intact
	r.followers = map[string]*follower{}
	var mu sync.Mutex
	take := func(b *fleet.Bundle) error {
		result, err := session.Stage(b)
		if err != nil {
			return err
		}
		expected, err := expectedOf(b)
		mu.Lock()
		defer mu.Unlock()
		r.followers[b.Cluster.ID] = &follower{target: b.Digest, result: result, expected: expected}
		return err
	}
	var faults diag.List
	for _, err := range Exports(ctx, r.Fleet, r.Layout, r.Fleet.Clusters, r.options.Actions.AllowExec, take) {
		faults.Add(err)
	}
	faults.Add(session.Retire(r.isRetired))
	return cmp.Or(ctx.Err(), faults.Err())
}

// expectedOf returns the Kustomizations or Applications of a bundle.
func expectedOf(b *fleet.Bundle) ([]export.GitOpsTarget, error) {
	var out []export.GitOpsTarget
	for _, f := range b.Files {
		object, err := objectIn(b, f)
		if err != nil {
			return nil, err
		}
		if w, ok := export.GitOpsTargetOf(object); ok {
			out = append(out, w)
		}
	}
	return out, nil
}

// objectIn decodes the object in an additional file of a bundle.
func objectIn(b *fleet.Bundle, f fleet.File) (object map[string]any, err error) {
	text, err := yaml.YAMLToJSON(f.Data)
	if err == nil {
		err = utiljson.Unmarshal(text, &object) // numbers as a client of the API server reads them
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", f.Name, b.Cluster.ID, err)
	}
	return object, nil
}

// records reads the file with the records of waves.
func (r *BranchRollout) records(dir string) (*WaveRecords, error) {
	name := waveRecordDir + "/" + waveRecordFile
	data, err := readRecords(dir, name, r.inBranch(name))
	if err != nil {
		return nil, err
	}
	records, err := parseWaveRecords(data, diag.Pos{File: r.inBranch(name)})
	if err == nil {
		records.Follow(r.Fleet.Module, r.order, r.Fleet.Clusters)
	}
	return records, err
}

// state returns the state of the cluster, and since when it is healthy with its target.
func (f *follower) state() (TargetState, time.Time) {
	switch {
	case f.result.Before == "":
		return TargetNeverApplied, time.Time{}
	case f.err != nil && f.isLost:
		return TargetUnreachable, time.Time{}
	case f.err != nil:
		return TargetFailed, time.Time{}
	case f.result.Changes() > 0:
		return TargetBehind, time.Time{}
	case f.verdict.State == export.GitOpsFailed:
		return TargetUnhealthy, time.Time{}
	case f.verdict.State == export.GitOpsReady && f.verdict.Since.After(f.changed):
		return TargetDone, f.verdict.Since
	case f.verdict.State == export.GitOpsReady:
		return TargetDone, f.changed
	}
	return TargetSyncing, time.Time{}
}

// readProgress reads how far the clusters are with their directories.
func (r *BranchRollout) readProgress(ctx context.Context, h *export.BranchHistory) error {
	longest := r.options.ReportAge // the time of an older change does not matter
	for _, w := range r.order.Waves {
		longest = max(longest, w.Soak)
	}
	var there []*fleet.Cluster
	var dirs []string
	for _, c := range r.Fleet.Clusters {
		if r.followers[c.ID].result.Before != "" {
			there, dirs = append(there, c), append(dirs, c.ID)
		}
	}
	changes, err := h.LastChanges(ctx, dirs, r.options.now().Add(-longest))
	if err != nil {
		return err
	}
	for id, change := range changes {
		f := r.followers[id]
		f.commit, f.changed = change.Commit, change.Time
	}
	read := r.readClusters
	if r.options.Reports != nil {
		read = r.readReports
	}
	if err := read(ctx, there); err != nil {
		return err
	}
	for _, c := range there {
		f := r.followers[c.ID]
		if f.err != nil || f.result.Changes() > 0 {
			continue
		}
		current, err := h.Tree(ctx, h.Tip, c.ID)
		if err != nil {
			return err
		}
		if r.options.Reports != nil && f.reported.Before(f.changed) {
			f.verdict = export.GitOpsVerdict{State: export.GitOpsSyncing, Texts: []string{"it has pushed no report since the change"}}
			continue
		}
		f.verdict, err = export.JudgeGitOps(f.expected, r.Fleet.Module, f.objects, func(commit string) (bool, error) {
			tree, err := h.Tree(ctx, commit, c.ID)
			return tree != "" && tree == current, err
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Flags returns the flags of commands about this branch, each with a space before it.
func (r *BranchRollout) Flags() string {
	out := " --git " + r.options.Remote.Name + " --branch " + r.options.Branch
	if r.options.Path != "" {
		out += " --path " + r.options.Path
	}
	isSafe := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(" @:/._+-", r)
	}
	if strings.ContainsFunc(out, func(r rune) bool { return !isSafe(r) }) || strings.Contains(r.options.Remote.Name, " ") {
		return " --git ..." // the user would have to quote it
	}
	return out
}
