package main

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/spf13/cobra"
)

const applyLong = `apply makes clusters run what the fleet says. It compiles them, connects to each
by the context of a kubeconfig that cluster.context names, never the current
one, plans, shows the plan, asks, and then applies stage by stage: namespaces
and CRDs, hooks that Helm would run before, everything else in order by
server-side apply, and hooks after, when all of the stage is healthy. In a stage,
a release waits for those that it depends on. What is
gone from the fleet is pruned at the end. When a cluster runs its bundle
already, nothing is written to it.

Every bundle that was applied as a whole becomes a revision, which is kept in the
cluster: see history and rollback.

The plan is made by dry runs in the cluster. Nothing is written as long as it
has a conflict with somebody else's fields, a field that cannot change, an
object that another tool made, a right that is missing, or too much to prune.
A release says with ownership which fields it has and which it leaves to others,
and with replace of which kinds objects may be deleted to be made anew; no other
object ever is.

fleetc knows a cluster by the UID of its namespace kube-system and keeps an
inventory of what it applied in the namespace fleetc-system. Only what is in the
inventory is pruned; namespaces, CRDs and volumes are not, nor are objects with
the annotation helm.sh/resource-policy: keep or fleetc.dev/prune: never. A lease
keeps a second apply away; --lock-timeout waits until it is released. An apply that
was interrupted is finished by the next one.

--adopt takes over objects that other tools made, with the fields of the tools
that apply whole objects: what they have set and the bundle does not have goes away,
and the plan lists that for each manager. Controllers that set single fields keep
these. Objects of Flux are refused, since Flux would put them back, unless the
manager is named: --adopt=from:kustomize-controller takes over from that manager
alone, also on objects that fleetc applied before. kubectl get --show-managed-fields
lists managers.

Adoption leaves what Helm has stored of a release, so that helm uninstall would
delete the objects. The plan names such releases. --adopt-forget removes the record
of a release, when everything is applied and all of its objects are fleetc's, and
leaves the objects.

What the fleet wants done before and after stages and releases, its actions, is
in the plan, and is done when the stage or the release has something to be
applied. Commands among them run with --allow-exec only. What a person must
approve is asked on a terminal, or approved with --approve NAME. When a stage
fails, its actions are undone.

A cluster that is down, or whose plan has faults, does not keep the others from
being applied to; the exit status is then 2.

--dry-run shows the plan and exits with 1 when there is something to do. --plan
also writes it to a file, without any content of objects; --from-plan does
exactly that plan, and nothing in a cluster that is no longer as it was.`

const applyExample = `  fleetc apply --dry-run
  fleetc apply prod/us-east-1
  fleetc apply --yes --stage network 'prod/*'
  fleetc apply --yes --allow-exec --approve dashboards prod

  # Take over what another tool made, or what these managers have.
  fleetc apply --adopt dev/alice
  fleetc apply --adopt --adopt-forget dev/alice
  fleetc apply --adopt=from:kustomize-controller,from:flux-client-side-apply dev/alice

  # Plan, have somebody look at it, do exactly that.
  fleetc apply --plan plan.json prod
  fleetc apply --from-plan plan.json --yes`

type applyOptions struct {
	deliver.ApplyOptions
	yes, dryRun    bool
	plan, fromPlan string
	output         string
	protected      []string // value of --prune-protected
	force          []string // value of --force-conflicts
	parallel       int      // number of clusters
}

func newApplyCommand(o *options) *cobra.Command {
	var a applyOptions
	cmd := &cobra.Command{
		Use:               "apply [CLUSTER...]",
		Short:             "Make clusters run their bundles",
		Long:              applyLong,
		Example:           applyExample,
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			return runApply(cmd, o, &a, patterns)
		},
	}
	a.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.plan, "plan", "", "write the plan to this `file`, and nothing to clusters")
	_ = cmd.MarkFlagFilename("plan")
	f.StringVar(&a.fromPlan, "from-plan", "", "do what the plan in this `file` says")
	f.StringSliceVar(&a.Stages, "stage", nil, "apply this `stage` alone, and prune nothing of others; may be repeated")
	f.StringSliceVar(&a.Releases, "release", nil, "apply this `release` alone, and prune nothing of others; may be repeated")
	adoptFlag(cmd, &a.ApplyOptions)
	parallelFlag(cmd, &a.parallel)
	f.BoolVar(&a.Strict, "strict", false, "also undo what people changed by hand in objects that fleetc applies, with kubectl, k9s, Lens or a browser")
	f.BoolVar(&a.Actions.AllowExec, "allow-exec", false, "let actions of the fleet run commands on this machine")
	f.StringSliceVar(&a.Actions.Approved, "approve", nil, "approve the manual action of this `name`; may be repeated")
	_ = cmd.MarkFlagFilename("from-plan", "json")
	_ = cmd.RegisterFlagCompletionFunc("approve", manualActions(o))
	outputFlag(cmd, &a.output, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

// flags adds the flags of commands that apply bundles.
func (a *applyOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&a.yes, "yes", "y", false, "do not ask")
	forceFlag(cmd, &a.force)
	a.writeFlags(cmd)
}

// writeFlags adds the flags of all commands that write to clusters.
func (a *applyOptions) writeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	accessFlags(cmd, &a.Access)
	f.BoolVar(&a.dryRun, "dry-run", false, "show the plan and write nothing; exit with 1 when there is something to do")
	f.DurationVar(&a.Timeout, "timeout", 5*time.Minute, "how long to wait for a stage to be healthy")
	lockFlag(cmd, &a.LockTimeout)
	f.IntVar(&a.PruneLimit, "prune-limit", 0, "how many objects of a cluster may be pruned (default: a fifth, or ten if that is more)")
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
	f, err := o.compiler().Load(cmd.Context(), patterns...)
	if err != nil {
		return err
	}
	if err := a.identify(o); err != nil {
		return err
	}
	report := a.report(cmd, o)
	plans, err := planAll(cmd, f, a)
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
	return a.finish(cmd, o, report, frozen != nil)
}

// identify sets the user, the tool version, and the access to clusters.
func (a *applyOptions) identify(o *options) error {
	a.Tool, a.By = toolVersion(), userAtHost()
	a.Holder = holder(a.By)
	return completeAccess(o, &a.Access)
}

// report returns a report that prints the results and asks questions.
func (a *applyOptions) report(cmd *cobra.Command, o *options) *applyReport {
	r := &applyReport{cmd: cmd, style: o.style(cmd.OutOrStdout()), json: a.output == "json", console: newApplyConsole(cmd.InOrStdin(), cmd.ErrOrStderr())}
	a.Actions.Getenv = a.getenv
	if isTerminal(cmd.InOrStdin()) {
		a.Actions.Ask = r.console.ask
	}
	return r
}

// finish asks, applies the plans and reports the results. With --dry-run and
// --plan it only reports the plans.
func (a *applyOptions) finish(cmd *cobra.Command, o *options, report *applyReport, exact bool) error {
	if a.preview() {
		return report.planned(a.plan == "")
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
	if a.Timeout <= 0 || a.PruneLimit < 0 {
		return nil, &diag.Diag{Msg: "--timeout must be positive, and --prune-limit must not be negative"}
	}
	if !a.preview() && !a.yes && (a.output == "json" || !isTerminal(cmd.InOrStdin())) {
		return nil, &diag.Diag{Msg: cmd.Name() + " asks before it writes, but cannot ask here", Hint: "pass --yes, or --dry-run to see the plan"}
	}
	if err := cmp.Or(checkLock(a.LockTimeout), a.checkForget()); err != nil {
		return nil, err
	}
	if a.fromPlan == "" {
		return nil, nil
	}
	if len(patterns) > 0 {
		return nil, &diag.Diag{Msg: "--from-plan takes the clusters from the plan", Hint: "name no clusters"}
	}
	for _, name := range []string{"plan", "stage", "release", "force-conflicts", "adopt", "adopt-forget", "strict", "prune-limit", "prune-protected"} {
		if cmd.Flags().Changed(name) {
			return nil, &diag.Diag{Msg: "--from-plan does what the plan says, which --" + name + " would change", Hint: "plan again"}
		}
	}
	return readPlan(o.path(a.fromPlan), a)
}

// planAll returns the plans of all clusters. The error contains the faults of
// the fleet; faults of a cluster are in its plan.
func planAll(cmd *cobra.Command, f *compiler.Fleet, a *applyOptions) (plans []*deliver.ClusterPlan, err error) {
	key := make([]byte, 32)
	rand.Read(key)
	var faults diag.List
	p := newProgress(cmd, len(f.Clusters))
	defer p.clear()
	for planned, err := range deliver.Plans(cmd.Context(), f, a.ApplyOptions, key) {
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
	name, host := "somebody", "somewhere"
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
	answer, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 100)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil && answer == "" {
		return cmp.Or(cmd.Context().Err(), error(&diag.Diag{Msg: "nothing was applied: there was no answer"}))
	}
	return &diag.Diag{Msg: "nothing was applied"}
}

// manualActions completes the names of manual actions.
func manualActions(o *options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		f, _ := o.compiler().Clusters(cmd.Context())
		if f == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return deliver.ManualActions(f.Clusters), cobra.ShellCompDirectiveNoFileComp
	}
}
