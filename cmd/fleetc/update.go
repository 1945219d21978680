package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

const updateLong = `update finds newer versions of the charts and images of the fleet, and changes
the lines that pin them, as chart update and image update do. It asks each
repository and registry once.

Updates are grouped: by release, or as the field updates of the root layer says,
see docs/updates.md. Each group is compiled and rehearsed on its own. update
prints its versions, what changes in the values of the charts, new faults, what
to know or do before the change is merged, and the differences in the objects.

An image whose tag a chart sets follows the chart, unless the field images has a
policy for it.

update writes the files of all groups, or of those of --group. It compiles the
fleet with all changes first. It writes nothing if the fleet would have new
faults or an update cannot be made.

With --branch-per-group, update commits each group to a branch of its own on top
of the default branch, and pushes it. The working tree does not change, and its
files must be as in the default branch. A group with new faults is pushed, too:
its text lists the faults, for you to fix on the branch. A branch gets no new
commit if its group is the same, or if others committed to it or changed its
commit. docs/updates.md shows how to open pull requests.

Formats (-o):
  text       for people
  markdown   the text of a pull request, of at most 60,000 bytes
  json       everything, see docs/updates.md

The exit status is 0 when nothing has a newer version, 1 when something has, and
2 when something failed.`

const updateExample = `  fleetc update --dry-run
  fleetc update --group cert-manager

  # The text of a pull request.
  fleetc update --group cert-manager --dry-run -o markdown

  # A branch for each group, and the texts of the pull requests in files.
  fleetc update --branch-per-group --bodies ../bodies -o json`

// updateOptions are the flags of update.
type updateOptions struct {
	edit.UpdateGroupsRequest
	dryRun bool
	style  diff.Style

	perGroup bool
	bodies   string // directory for texts of pull requests
	branches edit.UpdateBranches
}

func newUpdateCommand(o *options) *cobra.Command {
	var u updateOptions
	cmd := &cobra.Command{
		Use:     "update",
		Short:   "Update charts and images in groups",
		Long:    updateLong,
		Example: updateExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := u.check(cmd); err != nil {
				return err
			}
			return runUpdate(cmd, o, &u)
		},
	}
	cmd.Flags().StringSliceVar(&u.Groups, "group", nil, "update only this `group`; may be repeated")
	cmd.Flags().BoolVar(&u.dryRun, "dry-run", false, "print what would change, and write nothing")
	cmd.Flags().BoolVar(&u.style.All, "all", false, "show every version label and checksum that changes, and the fields in diff.ignore")
	cmd.Flags().BoolVar(&u.perGroup, "branch-per-group", false, "commit each group to a branch of its own, and push it")
	cmd.Flags().StringVar(&u.branches.Git, "git", "", "`URL` or path of the repository of the fleet (default: its remote origin)")
	cmd.Flags().StringVar(&u.branches.Base, "branch", "", "`branch` that the groups change (default: the default branch of the repository)")
	cmd.Flags().StringVar(&u.branches.Prefix, "branch-prefix", "fleetc/update", "beginning of the `name` of each branch, before a slash and the group")
	cmd.Flags().BoolVar(&u.branches.Prune, "prune", false, "delete branches of groups that no longer exist, unless others committed to them")
	cmd.Flags().StringVar(&u.bodies, "bodies", "", "write the texts of the pull requests to files in this `directory`")
	_ = cmd.MarkFlagDirname("bodies")
	outputFlag(cmd, "text", "json", "markdown")
	return cmd
}

// check checks the flags of branches.
func (u *updateOptions) check(cmd *cobra.Command) error {
	if u.perGroup && u.dryRun {
		return &diag.Diag{Code: diag.CodeFlagCombination, Msg: "--dry-run and --branch-per-group cannot be combined", Hint: "leave out one of them"}
	}
	if !u.perGroup {
		return flagsNeed(cmd, "--branch-per-group", "pass --branch-per-group", "git", "branch", "branch-prefix", "prune")
	}
	if cmd.Flags().Changed("branch") {
		if err := checkBranchFlag("branch", u.branches.Base); err != nil {
			return err
		}
	}
	return checkBranchPrefix("branch-prefix", u.branches.Prefix)
}

// runUpdate finds the updates, writes the files and prints the groups.
func runUpdate(cmd *cobra.Command, o *options, u *updateOptions) error {
	c := o.compiler()
	ids, err := c.ClusterIDs()
	if err != nil {
		return err
	}
	u.Date = o.date
	p := newProgress(cmd, len(ids))
	found, err := edit.FindUpdates(cmd.Context(), c, chart.NewRegistryImages(c.Offline), u.UpdateGroupsRequest, p.step)
	p.clear()
	if found == nil {
		return err
	}
	var faults diag.List
	faults.Add(err)
	switch {
	case u.perGroup:
		faults.Add(found.Push(cmd.Context(), u.branches))
	case !u.dryRun:
		faults.Add(found.Write(cmd.Context()))
	}
	if err := u.writeBodies(o, found); err != nil {
		return err
	}
	u.style.Colour = o.style(cmd.OutOrStdout()).Colour
	if err := u.print(cmd.OutOrStdout(), o, found, faults.Err()); err != nil {
		return err
	}
	for _, g := range found.Groups {
		faults.Add(g.Failed)
		faults.Add(g.Faults)
	}
	return orDifferences(faults.Err(), len(found.Groups) > 0)
}

// print prints the updates. faults are those until now.
func (u *updateOptions) print(w io.Writer, o *options, found *edit.Updates, faults error) error {
	switch o.output {
	case "json":
		return writeJSON(w, found)
	case "markdown":
		return updatesMarkdown(w, found)
	}
	updatesText(w, found, u.dryRun || u.perGroup, faults, u.style)
	printPushed(w, found.Branches)
	return nil
}

// updatesMarkdown prints the texts of pull requests for all groups.
func updatesMarkdown(w io.Writer, found *edit.Updates) error {
	for _, g := range found.Groups {
		limit := edit.MaxUpdateMarkdown
		if n := len(found.Groups); n > 1 {
			limit /= n
			fmt.Fprintf(w, "# %s\n\n", diff.MarkdownText(g.Title()))
		}
		if err := g.WriteMarkdown(w, "main", "", limit); err != nil {
			return err
		}
	}
	return nil
}

// updatesText prints the groups for people.
func updatesText(w io.Writer, found *edit.Updates, dryRun bool, faults error, style diff.Style) {
	for i, g := range found.Groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", g.Name, g.Title())
		writeUpdates(w, g, dryRun)
		if len(g.Files) == 0 {
			continue
		}
		fmt.Fprintln(w)
		_ = diff.WriteText(w, g.Rendered, style)
	}
	if slices.ContainsFunc(found.Groups, hasOldFaults) {
		fmt.Fprint(w, "\n"+notCompared)
	}
	if len(found.Groups) == 0 && faults == nil {
		fmt.Fprint(w, "nothing to do: no chart and no image has a newer version\n")
	}
	writeLeftOut(w, found)
	if len(found.Written) > 0 {
		fmt.Fprintln(w)
		for _, file := range found.Written {
			fmt.Fprintf(w, "wrote %s\n", diff.Inline(file))
		}
	} else if len(found.Groups) > 0 && !dryRun {
		fmt.Fprint(w, "\nnothing was written\n")
	}
}

// hasOldFaults reports whether a cluster of a group was not compared because of faults that it
// had before the update.
func hasOldFaults(g *edit.UpdateGroup) bool {
	hasNew := map[string]bool{}
	for _, d := range diag.All(g.Faults) {
		for _, id := range d.Clusters {
			hasNew[id] = true
		}
	}
	return slices.ContainsFunc(g.Rendered.NotCompared, func(id string) bool { return !hasNew[id] })
}

// writeUpdates prints the updates of a group, and the changed values of its charts.
func writeUpdates(w io.Writer, g *edit.UpdateGroup, dryRun bool) {
	for _, u := range g.Updates {
		fmt.Fprintf(w, "  %s %s: %s", u.Kind, diff.Inline(u.Short), diff.Inline(u.Text(" -> ")))
		if u.Layer != "" {
			fmt.Fprintf(w, " in %s", diff.Inline(u.Layer))
		}
		fmt.Fprintf(w, " (%s)\n", nameList(u.Clusters))
	}
	for _, v := range g.Values {
		for _, c := range v.Concern {
			fmt.Fprintf(w, "  value %s: %s\n", diff.Inline(c.Path), diff.Inline(edit.ConcernText(c)))
		}
	}
	for _, file := range g.Files {
		if dryRun {
			fmt.Fprintf(w, "  would write %s\n", diff.Inline(file))
		}
	}
}

// writeLeftOut prints the updates that are left out.
func writeLeftOut(w io.Writer, found *edit.Updates) {
	if len(found.LeftOut) > 0 {
		fmt.Fprint(w, "\nleft out:\n")
	}
	for _, l := range found.LeftOut {
		fmt.Fprintf(w, "  %s %s: %s: %s\n", l.Kind, diff.Inline(l.Short), diff.Inline(l.Text(" -> ")), diff.Inline(l.Reason))
	}
}
