package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/spf13/cobra"
)

const exportLong = `export compiles clusters and writes their objects to a directory (--out), to a
branch of a git repository (--git), or to a registry (--oci).

--out and --git write these files:

  DIR/<cluster ID>/<release>/<kind>-[namespace-]name.yaml
  DIR/<cluster ID>/bundle.json

bundle.json lists the objects with their digests, the charts, and the digest of
the bundle. The same fleet and the same fleetc write the same bytes on every run
and every machine.

export removes files that fleetc wrote and that are no longer part of a bundle.
It does not touch unchanged files and files that it did not write. Without a
cluster pattern, it also removes the directories of deleted clusters. If any
cluster has a fault, export writes nothing. It replaces the directory of a
cluster as a whole: after an interruption you have the old or the new one.

--layout flux and --layout argocd write files for Flux or Argo CD: the objects,
and the resources that set their order, health checks and pruning. Configure
them with the field gitops of a layer.

A Secret with readable values is a fault, unless its release allows it.

--git makes one commit and pushes it. If nothing changed, it does neither. If
the branch moves in the meantime, export tries again on the new commit, so
several exports can push to a branch. --pr-branch pushes to branches for pull
requests instead: one branch for each value of {environment}, {cluster} or
{labels.KEY} in the name. git supplies the credentials, the author and the
signing key.

--oci pushes one artifact for each cluster, REGISTRY/PATH/<cluster ID>:TAG, with
the ID in lower case. Flux reads it as an OCIRepository. The same bundle has the
same digest, and export does not push an artifact that the registry already has.
Credentials come from docker login.

--shard 1/4 takes the first of four parts of the clusters, to divide the work
between machines.

--rollout, with --git, writes only the clusters whose turn it is in the waves of
the rollout. The directories of the others stay as they are. export reads how
far the clusters are from Flux or Argo CD, through the contexts of the
kubeconfig; with --reports, from reports that the clusters push. It does not
wait: run it again, or on a schedule, to continue. The exit status is 0 when all
clusters run their bundles, 1 when some do not yet, and 2 when something has
failed. Without --rollout, export ignores waves, approvals and freezes.

--check writes nothing, and exits with status 1 if an export would change
something.`

const exportExample = `  fleetc export --out ../clusters
  fleetc export --out ../clusters 'prod/*'
  fleetc export --out ../clusters --check
  fleetc export --out ../clusters --layout flux

  fleetc export --git https://github.com/example/clusters --path clusters
  fleetc export --git git@github.com:example/clusters --pr-branch 'fleetc/{environment}'
  fleetc export --git https://github.com/example/clusters --path clusters --rollout

  fleetc export --oci oci://ghcr.io/example/clusters:main --shard 1/4`

type exportOptions struct {
	out, layout      string
	check, allowExec bool
	git              gitOptions
	oci              ociOptions
	rollout          rolloutExport

	shard func() (fleet.Shard, error)
}

func newExportCommand(o *options) *cobra.Command {
	var e exportOptions
	cmd := &cobra.Command{
		Use:     "export [CLUSTER...]",
		Short:   "Write the objects of clusters to files, git or a registry",
		Long:    exportLong,
		Example: exportExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := e.checkFlags(cmd, o); err != nil {
				return err
			}
			return runExport(cmd, o, &e, patterns)
		},
	}
	cmd.Flags().StringVar(&e.out, "out", "", "`directory` to write to")
	layoutFlag(cmd, &e.layout, fleet.PlainLayout, "`layout` of the files: plain, flux or argocd")
	cmd.Flags().BoolVar(&e.check, "check", false, "write nothing; exit with status 1 if something would change")
	allowExecFlag(cmd, &e.allowExec)
	_ = cmd.MarkFlagDirname("out")
	e.git.flags(cmd)
	e.oci.flags(cmd)
	e.rollout.flags(cmd)
	e.shard = shardFlag(cmd)
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

// checkFlags returns a fault unless exactly one destination is set, with flags
// that belong to it.
func (e *exportOptions) checkFlags(cmd *cobra.Command, o *options) error {
	places := []string{"out", "git", "oci"}
	var to []string
	for _, name := range places {
		if cmd.Flags().Changed(name) {
			to = append(to, "--"+name)
		}
	}
	switch {
	case len(to) == 0:
		return &diag.Diag{Code: diag.CodeArguments, Msg: "export needs a destination", Hint: "name a directory with --out, a git repository with --git, or a registry with --oci"}
	case len(to) > 1:
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "export writes to one destination, but the flags name " + strings.Join(to, " and "), Hint: "run it once for each"}
	case to[0] == "--out" && e.out == "":
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: "--out is empty", Hint: "name one, which may be ."}
	}
	onlyWith := func(place string, names ...string) error {
		if place == to[0] {
			return nil
		}
		return flagsNeed(cmd, place, fmt.Sprintf("leave it out, or export with %s instead of %s", place, to[0]), names...)
	}
	if err := cmp.Or(onlyWith("--git", "branch", "path", "pr-branch", "rollout"), onlyWith("--oci", "source", "revision"), e.rollout.check(cmd)); err != nil {
		return err
	}
	if o.offline && to[0] != "--out" {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: to[0] + " needs the network, but --offline is set", Hint: "leave --offline out, or export with --out"}
	}
	return nil
}

// An exportRun is an export in progress.
type exportRun struct {
	*exportOptions
	cmd       *cobra.Command
	o         *options
	layout    fleet.Layout
	fleet     *compiler.Fleet
	ids       []string             // IDs of all clusters of the fleet
	isRetired func(id string) bool // selects the clusters to remove; nil for none
}

func runExport(cmd *cobra.Command, o *options, e *exportOptions, patterns []string) error {
	x := &exportRun{exportOptions: e, cmd: cmd, o: o}
	var err error
	if x.layout, err = layoutOf(e.layout); err != nil {
		return err
	}
	c := o.compiler()
	if c.Shard, err = e.shard(); err != nil {
		return err
	}
	// Loading the fleet reports its faults.
	if x.ids, err = c.ClusterIDs(); err == nil && len(patterns) == 0 {
		x.isRetired = func(id string) bool { return c.Shard.Has(id) && !slices.Contains(x.ids, id) }
	}
	if cmd.Flags().Changed("out") {
		return x.toDirectory(cmd.Context(), c, patterns)
	}
	if e.rollout.on {
		return x.toRollout(cmd.Context(), c, patterns)
	}
	if cmd.Flags().Changed("git") {
		return x.toGit(cmd.Context(), c, patterns)
	}
	return x.toRegistry(cmd.Context(), c, patterns)
}

// toDirectory exports to a directory. It does not compile clusters that are up
// to date.
func (x *exportRun) toDirectory(ctx context.Context, c *compiler.Compiler, patterns []string) error {
	dir, err := filepath.Abs(x.o.path(x.out))
	if err != nil {
		return err
	}
	if err := deliver.CheckOutput(c, dir); err != nil {
		return err
	}
	tree := &export.Tree{Dir: dir, Version: toolVersion(), Jobs: x.o.jobs}
	if tree.Fleet, err = c.Module(); err != nil {
		return err
	}
	begin := tree.Begin
	if x.check {
		begin = func(context.Context) (*export.Session, error) { return tree.Check() }
	}
	session, err := begin(ctx)
	if err != nil {
		return err
	}
	summary, err := x.exportChanged(ctx, c, tree, session, patterns)
	if err = errors.Join(err, session.Close()); err != nil {
		return err
	}
	return orDifferences(x.print(summary, nil, "", nil), x.check && summary.Changes() > 0)
}

// exportChanged exports in a session, and records up-to-date clusters.
func (x *exportRun) exportChanged(ctx context.Context, c *compiler.Compiler, tree *export.Tree, session *export.Session, patterns []string) (export.Summary, error) {
	var mu sync.Mutex
	kept := map[string]int{}
	loaded, upToDate, err := incremental.Load(ctx, c, incremental.Task{
		Name: fmt.Sprintf("export %s with %s", x.layout, tree.Version), TakesNotes: true, Values: true,
		Holds: func(id, digest string) bool {
			h := session.DirectoryState(id)
			if h.Digest != digest {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			kept[id] = h.Files
			return true
		},
	}, patterns...)
	if err != nil {
		return export.Summary{}, err
	}
	defer upToDate.Close()
	if err := deliver.CheckOutputSources(ctx, c, loaded.Dir, upToDate.Clusters(), tree.Dir); err != nil {
		return export.Summary{}, err
	}
	loaded.KeepLast(x.layout, tree.Objects)
	loaded.Exported = tree.Intact
	x.fleet = loaded
	p := &exportPart{clusters: loaded.Clusters, unchangedFiles: kept, isRetired: x.isRetired}
	summary, err := x.stage(session, p, nil)
	if err != nil {
		return summary, err
	}
	for c, r := range p.compiled(summary) {
		upToDate.Record(ctx, c, r.Index)
	}
	return summary, nil
}

// An exportPart is a set of clusters that are exported together.
type exportPart struct {
	clusters       []*fleet.Cluster
	unchangedFiles map[string]int       // number of files of up-to-date clusters, by ID
	isRetired      func(id string) bool // as in exportRun
}

// compiled yields the compiled clusters with their results.
func (p *exportPart) compiled(sum export.Summary) iter.Seq2[*fleet.Cluster, export.Result] {
	return func(yield func(*fleet.Cluster, export.Result) bool) {
		for _, r := range sum.Clusters {
			i := slices.IndexFunc(p.clusters, func(c *fleet.Cluster) bool { return c.ID == r.Cluster })
			if i >= 0 && !yield(p.clusters[i], r) {
				return
			}
		}
	}
}

// write compiles the clusters into a tree if none has faults. It calls each for every bundle. last
// has values to keep that the tree does not have yet; it may be nil.
func (x *exportRun) write(tree, last *export.Tree, p *exportPart, each func(*fleet.Bundle)) (export.Summary, error) {
	tree.Fleet, tree.Version = x.fleet.Module, toolVersion()
	last = cmp.Or(last, tree)
	x.fleet.KeepLast(x.layout, last.Objects)
	x.fleet.Exported = last.Intact
	session, err := tree.Begin(x.cmd.Context())
	if err != nil {
		return export.Summary{}, err
	}
	summary, err := x.stage(session, p, each)
	return summary, errors.Join(err, session.Close())
}

// stage stages every cluster, and commits if none has faults.
func (x *exportRun) stage(session *export.Session, part *exportPart, each func(*fleet.Bundle)) (export.Summary, error) {
	ctx := x.cmd.Context()
	var faults diag.List
	p := newProgress(x.cmd, len(part.clusters))
	defer p.clear()
	take := func(b *fleet.Bundle) error {
		_, err := session.Stage(b)
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(part.unchangedFiles)) {
		faults.Add(session.MarkUnchanged(id, part.unchangedFiles[id]))
	}
	for b, err := range deliver.Exports(ctx, x.fleet, x.layout, part.clusters, x.allowExec, take) {
		faults.Add(err)
		if b != nil && each != nil {
			each(b)
		}
		p.step()
	}
	if part.isRetired != nil {
		faults.Add(session.Retire(part.isRetired))
	}
	if err := cmp.Or(faults.Err(), ctx.Err()); err != nil {
		return export.Summary{}, err
	}
	return session.Commit()
}

// print prints the result of an export or comparison: counts, changed files by cluster, the
// branches of git, and the waves of a rollout. base is the base of branches that have none.
func (x *exportRun) print(s export.Summary, git *gitResult, base string, waves *deliver.RolloutReport) error {
	w := x.cmd.OutOrStdout()
	if x.o.output == "json" {
		return writeJSON(w, struct {
			export.Summary
			Git     *gitResult             `json:"git,omitempty"`
			Rollout *deliver.RolloutReport `json:"rollout,omitempty"`
		}{s, git, waves})
	}
	for _, c := range s.Clusters {
		for _, f := range c.Files {
			fmt.Fprintf(w, "%-7s %s\n", f.Action, f.Name)
		}
	}
	clusters := 0
	for _, c := range s.Clusters {
		if !c.Retired {
			clusters++
		}
	}
	verb := "changed"
	if x.check {
		verb = "would change"
	}
	if _, err := fmt.Fprintf(w, "%s, %s: %d %s\n", diag.Count(clusters, "cluster", "clusters"),
		diag.Count(s.Added+s.Changed+s.Unchanged, "file", "files"), s.Changes(), verb); err != nil {
		return err
	}
	if git != nil {
		printBranches(w, git.Branches, git.Repository, base, x.check)
	}
	if waves != nil {
		unfinished := *waves
		unfinished.Waves = slices.DeleteFunc(slices.Clone(waves.Waves), func(w deliver.WaveReport) bool { return w.State == deliver.WaveComplete })
		for _, line := range rolloutLines(unfinished) {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}
