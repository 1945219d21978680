package deliver

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// BranchOptions are the options of a rollout to clusters that follow a branch of a git
// repository.
type BranchOptions struct {
	RolloutOptions // without a wave
	Access         cluster.Access
	Actions        apply.ActionOptions // of the checks of waves
	Remote         *export.Remote
	Branch         string         // default: that of the repository
	Path           string         // of the export in the repository
	Layout         fleet.Layout   // default: the layout that the layers of all clusters configure
	Reports        *GitOpsReports // nil to read the clusters
	ReportAge      time.Duration
	By, Version    string // the user, and the version of fleetc
	Jobs           int
	Check          bool // push nothing, and run no checks
	NoProgress     bool // do not read how far clusters are
}

// GitOpsReports says where clusters push their reports.
type GitOpsReports struct {
	Remote *export.Remote
	Branch string // the reports are in branches below this name
}

// BranchRollout is the state of a rollout to clusters that follow a branch.
type BranchRollout struct {
	*RolloutState
	Fleet   *compiler.Fleet
	Layout  fleet.Layout
	Summary export.Summary // changed files
	Pushed  export.BranchResult

	options   BranchOptions
	isRetired func(id string) bool
	followers map[string]*follower                        // by cluster ID
	sources   map[string]func() (*cluster.Cluster, error) // connections by kubeconfig context
	passed    map[string]bool                             // checks of waves that have passed, by wave and digest
	unchecked map[string][]Wait                           // waits for checks, by wave
	held      []Removal                                   // removals that were not made
}

// follower is the state of a cluster that follows the branch.
type follower struct {
	target   string // digest of its bundle
	result   export.Result
	expected []export.GitOpsTarget
	commit   string    // that changed its directory
	changed  time.Time // of the commit
	objects  []export.GitOpsObject
	reported time.Time // time of the report that has the objects; zero if the cluster was read
	verdict  export.GitOpsVerdict
	err      error // why its progress cannot be read
	isLost   bool  // whether it cannot be reached
}

// LoadBranchRollout loads the fleet and its rollout.
func LoadBranchRollout(ctx context.Context, c *compiler.Compiler, o BranchOptions) (*BranchRollout, error) {
	f, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	r := &BranchRollout{RolloutState: &RolloutState{Fleet: f.Module, order: rolloutOf(f.Clusters)}, Fleet: f, options: o, passed: map[string]bool{}}
	if r.order == nil {
		return nil, noRollout()
	}
	r.Layout, err = placeOfRollout(f.Clusters, o)
	if err == nil && o.Branch == "" {
		r.options.Branch, err = o.Remote.Default(ctx)
	}
	if err != nil {
		return nil, err
	}
	ids := fleet.IDs(f.Clusters)
	r.isRetired = func(id string) bool { return !slices.Contains(ids, id) }
	r.connect(ctx)
	return r, nil
}

// placeOfRollout returns the layout of the export, and a fault if the clusters do not follow the
// path of the export.
func placeOfRollout(clusters []*fleet.Cluster, o BranchOptions) (fleet.Layout, error) {
	layout := o.Layout
	if layout == "" {
		var err error
		if layout, err = commonLayout(clusters); err != nil {
			return "", err
		}
	}
	if layout == fleet.PlainLayout {
		return "", &diag.Diag{
			Code: diag.CodeLayout,
			Msg:  "a rollout on a branch needs the layout flux or argocd: they report which commit a cluster runs",
			Hint: "pass --layout flux or --layout argocd, or set gitops in a file of the root layer",
		}
	}
	return layout, CheckPlace(layout, clusters, false, o.Path)
}

// commonLayout returns the layout that all clusters configure.
func commonLayout(clusters []*fleet.Cluster) (fleet.Layout, error) {
	layout := fleet.PlainLayout
	for i, c := range clusters {
		switch {
		case len(c.GitOps.Layouts) != 1:
			return "", &diag.Diag{
				Code: diag.CodeLayout, At: []diag.Pos{c.Pos}, Clusters: []string{c.ID}, Path: "gitops",
				Msg:  fmt.Sprintf("the cluster has %d layouts", len(c.GitOps.Layouts)),
				Hint: "name one with --layout flux or --layout argocd",
			}
		case i > 0 && c.GitOps.Layouts[0] != layout:
			return "", &diag.Diag{
				Code: diag.CodeLayout, Clusters: []string{clusters[0].ID, c.ID}, Path: "gitops",
				Msg:  fmt.Sprintf("the clusters have the layouts %s and %s", layout, c.GitOps.Layouts[0]),
				Hint: "name one with --layout flux or --layout argocd",
			}
		}
		layout = c.GitOps.Layouts[0]
	}
	return layout, nil
}

// Read reads the state of all waves. Nothing is written.
func (r *BranchRollout) Read(ctx context.Context) error {
	update := r.update(func(ctx context.Context, dir, base string) (export.BranchChange, error) {
		tree := r.tree(dir)
		session, err := tree.Check()
		if err != nil {
			return export.BranchChange{}, err
		}
		if err = r.read(ctx, tree, session, base); err == nil {
			r.holdRemovals(session, cmp.Or(r.whyHeld(nil), "the next export removes it"))
		}
		return export.BranchChange{}, cmp.Or(err, session.Close())
	})
	update.Existing = true
	_, err := r.options.Remote.Push(ctx, true, update)
	return err
}

// update returns an update of the whole export.
func (r *BranchRollout) update(write func(ctx context.Context, dir, base string) (export.BranchChange, error)) export.BranchUpdate {
	const depth = 200 // commits by which a cluster may be behind
	return export.BranchUpdate{Branch: r.options.Branch, Path: r.options.Path, Exclusive: true, Depth: depth, Write: write}
}

// tree returns the tree of the export in a checkout.
func (r *BranchRollout) tree(dir string) *export.Tree {
	return &export.Tree{Dir: dir, Name: r.inBranch(""), Fleet: r.Fleet.Module, Version: r.options.Version, Jobs: r.options.Jobs}
}

// inBranch returns the name of a file for faults.
func (r *BranchRollout) inBranch(file string) string {
	name := path.Join(r.options.Path, file)
	if file == "" && name != "" {
		name += "/"
	}
	return "git:" + r.options.Branch + ":" + name
}
