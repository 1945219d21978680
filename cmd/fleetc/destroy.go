package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/spf13/cobra"
)

const destroyLong = `destroy deletes all objects that fleetc has applied to one cluster, or to some
of its releases (--release). It compiles nothing: it reads the inventory in the
cluster. The fleet may still have the releases, and may have faults other than
errors of syntax.

destroy plans, shows the plan, asks for confirmation and prunes as apply does.
It works in reverse order, runs the deletion hooks of charts and helm uninstall
for the releases that Helm delivers, and takes the same lease. It keeps

  - namespaces, CRDs and volumes, unless you pass --prune-protected
  - objects with the annotation helm.sh/resource-policy: keep or
    fleetc.dev/prune: never
  - objects that existed before fleetc applied them
  - objects that another tool manages now

Deleting an object can delete others that fleetc has not applied. destroy
accepts ten of these, or the rest of --prune-limit. It does not run actions of
the fleet.

To confirm, type the ID of the cluster, or pass --yes=CLUSTER.

The inventory lists the objects that were kept. If there are none, destroy also
removes the inventory, the history and the namespace fleetc-system. It keeps the
namespace if fleetc did not create it, or if others have objects in it. The
files of the fleet stay unchanged: the next apply installs everything again.`

const destroyExample = `  fleetc destroy dev/alice --dry-run
  fleetc destroy dev/alice
  fleetc destroy dev/alice --yes=dev/alice --prune-protected
  fleetc destroy dev/alice --release web --yes=dev/alice`

// bareYes is the value of --yes when it has none. The help shows it, and it is not a
// cluster ID.
const bareYes = "..."

func newDestroyCommand(o *options) *cobra.Command {
	var a applyOptions
	var yes string
	cmd := &cobra.Command{
		Use:               "destroy CLUSTER",
		Short:             "Delete all objects that fleetc applied to a cluster",
		Long:              destroyLong,
		Example:           destroyExample,
		ValidArgsFunction: clusterArgs(o),
		Args:              argCount(1, 1, "destroy takes one cluster", "name one, see fleetc list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDestroy(cmd, o, &a, args[0], yes)
		},
	}
	a.writeFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&yes, "yes", "y", "", "do not ask for confirmation; the value is the ID of the `cluster`")
	f.Lookup("yes").NoOptDefVal = bareYes
	f.StringSliceVar(&a.Releases, "release", nil, "destroy only this `release`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("yes", clusterArgs(o))
	outputFlag(cmd, "text", "json")
	return cmd
}

func runDestroy(cmd *cobra.Command, o *options, a *applyOptions, cluster, yes string) error {
	if yes == bareYes {
		return &diag.Diag{Code: diag.CodeNotConfirmed, Msg: "--yes takes the ID of the cluster", Hint: "pass --yes=" + diag.Visible(cluster, diag.MaxText)}
	}
	if a.yes = yes != ""; !a.yes && !a.dryRun && (o.output == "json" || !isTerminal(cmd.InOrStdin())) {
		return &diag.Diag{Code: diag.CodeNotConfirmed, Msg: "destroy asks before it writes, but cannot ask here", Hint: "pass --yes=CLUSTER, or --dry-run to see the plan"}
	}
	if _, err := a.check(cmd, o, nil); err != nil {
		return err
	}
	if err := a.identify(o); err != nil {
		return err
	}
	planned, err := deliver.PlanDestroy(cmd.Context(), o.compiler(), cluster, a.ApplyOptions, []byte(rand.Text()))
	if err != nil {
		return err
	}
	if id := planned.Cluster.ID; a.yes && yes != id {
		return &diag.Diag{Code: diag.CodeNotConfirmed, Msg: fmt.Sprintf("--yes=%s does not name the cluster %s", diag.Visible(yes, diag.MaxText), id), Hint: "pass --yes=" + id}
	}
	report := a.report(cmd, o)
	report.add(planned)
	report.destroys = true
	if err := report.printPlan(); err != nil {
		return err
	}
	if ready := report.ready(); !a.preview() && !a.yes && len(ready) > 0 {
		if err := confirmDestroy(cmd, cmd.InOrStdin(), report.destroyQuestion(a.Releases), planned.Cluster.ID); err != nil {
			return err
		}
		a.yes = true
		return a.finish(cmd, report, true)
	}
	return a.finish(cmd, report, false)
}

// destroyQuestion returns the question whether to destroy.
func (r *applyReport) destroyQuestion(releases []string) string {
	what := "all of " + r.clusters[0].Cluster.ID
	if len(releases) > 0 {
		what = "release " + strings.Join(releases, ", ") + " of " + r.clusters[0].Cluster.ID
	}
	return "destroy " + what + alsoDeletes(r.clusters)
}

// confirmDestroy asks for the ID of the cluster.
func confirmDestroy(cmd *cobra.Command, in io.Reader, question, id string) error {
	if err := ask(cmd.ErrOrStderr(), fmt.Sprintf("%s? type %s to confirm: ", question, id)); err != nil {
		return err
	}
	answer, err := readAnswer(in)
	if answer == id {
		return nil
	}
	if err != nil && answer == "" {
		return cmp.Or(cmd.Context().Err(), error(&diag.Diag{Code: diag.CodeNotConfirmed, Msg: "nothing was destroyed: there was no answer", Hint: "answer on the terminal, or use --yes=" + id}))
	}
	return &diag.Diag{Code: diag.CodeNotConfirmed, Msg: "nothing was destroyed: the answer is not " + id}
}

// destroys reports whether the plan destroys.
func (c *applyCluster) destroys() bool { return c.Plan != nil && c.Plan.Destroys }

// destroyNotes describes the remaining objects and the effect of the next
// apply.
func (c *applyCluster) destroyNotes(released bool) []string {
	lines := []string{}
	if n := c.Plan.Kept(); n > 0 {
		lines = append(lines, diag.Count(n, "object is kept and stays", "objects are kept and stay")+" in the inventory, see above")
	}
	if released {
		lines = append(lines, "the next apply installs the releases again, unless they leave the fleet")
	}
	return lines
}
