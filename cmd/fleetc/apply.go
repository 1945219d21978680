package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/spf13/cobra"
)

const applyLong = `apply changes clusters until they run the bundles of the fleet. For each cluster
it compiles the bundle, connects with the kubeconfig context in cluster.context
(never the current context), makes a plan, shows it and asks for confirmation.
If a cluster already runs its bundle, apply writes nothing to it.

apply works stage by stage. In each stage it applies namespaces and CRDs, runs
the hooks that Helm runs before, applies all other objects with server-side
apply, waits until they are healthy, and runs the hooks that Helm runs after. In
a stage, a release waits for the releases that it depends on. At the end, apply
prunes objects that are no longer in the fleet.

The plan is made with dry runs in the cluster. apply refuses to write if an
object has fields that another manager owns, an immutable field changes, another
tool created an object, a right is missing, or the plan prunes too many objects.
In a release, ownership sets which fields belong to fleetc and which to others,
and replace names the only kinds that apply may delete and create again.

fleetc identifies a cluster by the UID of its namespace kube-system, and keeps
an inventory of applied objects in the namespace fleetc-system. Only objects of
the inventory are pruned. Namespaces, CRDs and volumes are not pruned, nor are
objects with the annotation helm.sh/resource-policy: keep or fleetc.dev/prune:
never. A lease prevents two applies to a cluster at the same time;
--lock-timeout waits for the other one. If an apply was interrupted, the next
apply finishes its work.

Each whole bundle that was applied becomes a revision, which is stored in the
cluster: see history and rollback.

--adopt takes over objects that other tools created, and the fields of tools
that apply whole objects. Fields that such a tool has set and the bundle does
not have are removed; the plan lists them for each manager. Controllers that set
single fields keep those. Objects of Flux are refused, because Flux would
restore them, unless you name the manager: --adopt=from:kustomize-controller
takes over the fields of this manager only, also of objects that fleetc already
applies. To list managers, run kubectl get --show-managed-fields.

After --adopt, Helm's records of a release still exist, and helm uninstall would
delete its objects. The plan names such releases. --adopt-forget removes the
records of a release when everything is applied and fleetc owns all of its
objects. The objects stay.

Actions of the fleet run before or after a stage or release that has changes,
and the plan shows them. Commands run with --allow-exec only. Manual actions
need approval on the terminal, or with --approve NAME. When a stage fails, its
actions are undone.

If a cluster is unreachable, or its plan has faults, apply continues with the
other clusters and exits with status 2.

If the fleet has a rollout, apply goes wave by wave: a wave begins when all
clusters of earlier waves run their bundles, are healthy and have soaked, and
when it has the approval that it needs. The state of waves is read from the
clusters, so apply resumes when it runs again. It exits with status 1 if some
clusters wait. --wave applies to the clusters of one wave, when it is their
turn.

--dry-run shows the plan, and exits with status 1 if there is something to do.
--plan also writes the plan to a file, without the contents of objects.
--from-plan carries out exactly that plan. It writes nothing to a cluster that
has changed since the plan was made.`

const applyExample = `  fleetc apply --dry-run
  fleetc apply prod/us-east-1
  fleetc apply --yes --stage network 'prod/*'
  fleetc apply --yes --allow-exec --approve dashboards prod
  fleetc apply --wave canary

  # Take over objects of other tools, or the fields of some managers.
  fleetc apply --adopt dev/alice
  fleetc apply --adopt --adopt-forget dev/alice
  fleetc apply --adopt=from:kustomize-controller,from:flux-client-side-apply dev/alice

  # Write a plan, review it, then apply exactly this plan.
  fleetc apply --plan plan.json prod
  fleetc apply --from-plan plan.json --yes`

type applyOptions struct {
	deliver.ApplyOptions
	yes, dryRun    bool
	plan, fromPlan string
	protected      []string // value of --prune-protected
	force          []string // value of --force-conflicts
	parallel       int      // number of clusters
	pruneLimit     int      // value of --prune-limit
}

func newApplyCommand(o *options) *cobra.Command {
	var a applyOptions
	cmd := &cobra.Command{
		Use:     "apply [CLUSTER...]",
		Short:   "Apply bundles to clusters",
		Long:    applyLong,
		Example: applyExample,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			return runApply(cmd, o, &a, patterns)
		},
	}
	a.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.plan, "plan", "", "write the plan to this `file`, and nothing to clusters")
	_ = cmd.MarkFlagFilename("plan")
	f.StringVar(&a.fromPlan, "from-plan", "", "apply the plan in this `file`")
	f.StringSliceVar(&a.Stages, "stage", nil, "apply only this `stage`, and prune nothing of others; may be repeated")
	f.StringSliceVar(&a.Releases, "release", nil, "apply only this `release`, and prune nothing of others; may be repeated")
	waveFlags(cmd, o, &a.RolloutOptions)
	adoptFlag(cmd, &a.ApplyOptions)
	parallelFlag(cmd, &a.parallel)
	f.BoolVar(&a.Strict, "strict", false, "also undo manual changes to applied objects, such as with kubectl, k9s, Lens or a browser")
	f.BoolVar(&a.Actions.AllowExec, "allow-exec", false, "allow actions and secrets of the fleet to run commands on this machine")
	f.StringSliceVar(&a.Actions.Approved, "approve", nil, "approve the manual action with this `name`; may be repeated")
	_ = cmd.MarkFlagFilename("from-plan", "json")
	_ = cmd.RegisterFlagCompletionFunc("approve", manualActions(o))
	outputFlag(cmd, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

// flags adds the flags of commands that apply bundles.
func (a *applyOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&a.yes, "yes", "y", false, "do not ask for confirmation")
	forceFlag(cmd, &a.force)
	a.writeFlags(cmd)
}

// writeFlags adds the flags of all commands that write to clusters.
func (a *applyOptions) writeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	accessFlags(cmd, &a.Access)
	f.BoolVar(&a.dryRun, "dry-run", false, "show the plan and write nothing; exit with status 1 if there is something to do")
	f.DurationVar(&a.Timeout, "timeout", 5*time.Minute, "how long to wait for a stage to be healthy")
	lockFlag(cmd, &a.LockTimeout)
	f.IntVar(&a.pruneLimit, "prune-limit", 0, "maximum number of objects to prune in a cluster (default: a fifth of its objects, but at least ten)")
	protectedFlag(cmd, &a.protected)
}

func runApply(cmd *cobra.Command, o *options, a *applyOptions, patterns []string) error {
	if err := checkParallel(a.parallel); err != nil {
		return err
	}
	frozen, err := a.check(cmd, o, patterns)
	if err != nil {
		return err
	}
	if frozen != nil {
		patterns = frozen.clusters()
	}
	if err := a.identify(o); err != nil {
		return err
	}
	report := a.report(cmd, o) // completes the options
	f, rollout, err := deliver.LoadRollout(cmd.Context(), o.compiler(), a.ApplyOptions, patterns...)
	if err != nil {
		return err
	}
	report.rollout = rollout
	return a.planAndFinish(cmd, o, f, report, frozen)
}

// planAndFinish plans to apply to the clusters of the fleet, shows the plans, asks and
// applies. frozen is the plan of --from-plan, nil without it.
func (a *applyOptions) planAndFinish(cmd *cobra.Command, o *options, f *compiler.Fleet, report *applyReport, frozen *planFile) error {
	plans, err := a.planAll(cmd, f, report.rollout)
	for _, planned := range plans {
		report.add(planned)
	}
	if err != nil {
		return err
	}
	report.checkFrozen(frozen)
	report.checkAdopted()
	report.checkForced(a.Force)
	if a.plan != "" {
		if err := writePlan(o.path(a.plan), f.Module, a, report); err != nil {
			return err
		}
	}
	if err := report.printPlan(); err != nil {
		return err
	}
	return a.finish(cmd, report, frozen != nil)
}

// identify sets the user, the tool version, the day, and the access to clusters.
func (a *applyOptions) identify(o *options) error {
	a.Day = o.date
	a.Tool, a.By = toolVersion(), userAtHost()
	a.Holder = holder(a.By)
	return completeAccess(o, &a.Access)
}

// report returns a report that prints the results and asks questions.
func (a *applyOptions) report(cmd *cobra.Command, o *options) *applyReport {
	r := &applyReport{cmd: cmd, style: o.style(cmd.OutOrStdout()), json: o.output == "json", console: newApplyConsole(cmd.InOrStdin(), cmd.ErrOrStderr())}
	a.Actions.Getenv = a.getenv
	if isTerminal(cmd.InOrStdin()) {
		a.Actions.Ask = r.console.ask
	}
	return r
}

// finish asks, applies the plans and reports the results. With --dry-run and
// --plan it only reports the plans.
func (a *applyOptions) finish(cmd *cobra.Command, report *applyReport, exact bool) error {
	if a.preview() {
		return report.planned(a.dryRun)
	}
	report.checkActions()
	if ready := report.ready(); len(ready) > 0 {
		if !a.yes {
			if err := confirm(cmd, report.question(ready)); err != nil {
				return err
			}
			exact = true
		}
		report.run(cmp.Or(a.parallel, defaultParallel), exact, ready)
	}
	return report.end()
}

// preview reports whether clusters are not written to.
func (a *applyOptions) preview() bool { return a.dryRun || a.plan != "" }

// getenv returns an environment variable for commands of actions.
func (a *applyOptions) getenv(name string) string {
	if name == "KUBECONFIG" && a.Kubeconfig != "" {
		return a.Kubeconfig
	}
	return os.Getenv(name)
}

// check reads the plan of --from-plan, if any, and rejects conflicting flags.
func (a *applyOptions) check(cmd *cobra.Command, o *options, patterns []string) (*planFile, error) {
	var err error
	if a.PruneProtected, err = a.prunedKinds(patterns); err != nil {
		return nil, err
	}
	if a.Force, err = apply.ParseForce(a.force); err != nil {
		return nil, err
	}
	if a.Timeout <= 0 || a.pruneLimit < 0 {
		return nil, &diag.Diag{
			Code: diag.CodeFlagValue,
			Msg:  "--timeout must be positive, and --prune-limit must not be negative",
			Hint: "write a duration such as --timeout 5m, and a number such as --prune-limit 10",
		}
	}
	if cmd.Flags().Changed("prune-limit") {
		a.PruneLimit = &a.pruneLimit
	}
	if !a.preview() && !a.yes && (o.output == "json" || !isTerminal(cmd.InOrStdin())) {
		return nil, &diag.Diag{Code: diag.CodeNotConfirmed, Msg: cmd.Name() + " asks before it writes, but cannot ask here", Hint: "pass --yes, or --dry-run to see the plan"}
	}
	if err := cmp.Or(checkLock(a.LockTimeout), a.checkForget(), a.checkWave()); err != nil {
		return nil, err
	}
	if a.fromPlan == "" {
		return nil, nil
	}
	if len(patterns) > 0 {
		return nil, &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--from-plan takes the clusters from the plan", Hint: "name no clusters"}
	}
	if err := rejectFlags(cmd, "--from-plan does what the plan says, which %s would change", "plan again",
		"plan", "stage", "release", "force-conflicts", "adopt", "adopt-forget", "strict", "prune-limit", "prune-protected", "wave"); err != nil {
		return nil, err
	}
	return readPlan(o.path(a.fromPlan), a)
}

// planAll returns the plans of all clusters, in the order of the rollout, which may
// be nil. The error contains the faults of the fleet; faults of a cluster are in its
// plan.
func (a *applyOptions) planAll(cmd *cobra.Command, f *compiler.Fleet, rollout *deliver.Rollout) (plans []*deliver.ClusterPlan, err error) {
	key := []byte(rand.Text())
	var faults diag.List
	p := newProgress(cmd, len(f.Clusters))
	defer p.clear()
	all := deliver.Plans(cmd.Context(), f, a.ApplyOptions, key)
	if rollout != nil {
		if err := rollout.Read(cmd.Context()); err != nil {
			return nil, err
		}
		all = rollout.Plans(cmd.Context(), a.preview(), key)
	}
	for planned, err := range all {
		p.step()
		faults.Add(err)
		if err == nil {
			plans = append(plans, planned)
		}
	}
	return plans, cmp.Or(cmd.Context().Err(), faults.Err())
}

// userAtHost returns the user and host that apply.
func userAtHost() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// holder identifies the process that applies.
func holder(who string) string {
	// Containers often have the same host names and process IDs.
	var unique [3]byte
	_, _ = rand.Read(unique[:]) // rand.Read never fails
	return fmt.Sprintf("%s (pid %d, %x)", who, os.Getpid(), unique)
}

// confirm asks on the terminal.
func confirm(cmd *cobra.Command, question string) error {
	if err := ask(cmd.ErrOrStderr(), question+"? [y/N] "); err != nil {
		return err
	}
	answer, err := readAnswer(cmd.InOrStdin())
	if isYes(answer) {
		return nil
	}
	if err != nil && answer == "" {
		return cmp.Or(cmd.Context().Err(), error(&diag.Diag{Code: diag.CodeNotConfirmed, Msg: "nothing was applied: there was no answer", Hint: "answer on the terminal, or use --yes"}))
	}
	return &diag.Diag{Code: diag.CodeNotConfirmed, Msg: "nothing was applied"}
}

// manualActions completes the names of manual actions.
func manualActions(o *options) cobra.CompletionFunc {
	return fleetValues(o, func(f *fleet.Fleet) []string { return deliver.ManualActions(f.Clusters) })
}
