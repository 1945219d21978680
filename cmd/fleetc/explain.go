package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/spf13/cobra"
)

const explainLong = `explain shows where the value of a field comes from: the value, its value after
each layer, and all lines that set it. PATH is the path of any field of the
cluster's configuration: releases.app.values.image.tag, cluster.facts.region,
stages, or hosts[0].paths somewhere below values. Put keys with dots in quotes.
For a map, explain lists the values inside, each with its effective line.

Each line has a role:

  wins       the line sets the effective value
  agrees     it sets the same value
  loses      it is overridden
  holds      it is a constraint or a type that the value satisfies
  conflicts  it contradicts another line
  waits      it refers to a field that has no value yet

If a line refers to other fields, the lines that set them follow below it.

For an object (kind/namespace/name, such as deploy/web/app, or kind/name),
explain shows the release and the line of the template that printed the FIELD
(spec.replicas, spec.ports[0].port, spec.ports[name=http].port), the patches
that changed it, and the values that it depends on. To find these, fleetc
changes each value that the template reads and renders the object again. Without
FIELD, explain shows the whole object.

explain works when other parts of the fleet have faults, and also for a field
whose lines contradict each other.`

const explainExample = `  fleetc explain prod/us-1 releases.web.values.replicaCount
  fleetc explain prod/us-1 'releases.web.values.nodeSelector."example.com/pool"'
  fleetc explain prod/us-1 deploy/web/app spec.replicas
  fleetc explain prod/us-1 releases.web.values -o json | jq -r '.leaves[] | [.path, .winner.at] | @tsv'`

func newExplainCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "explain CLUSTER PATH | CLUSTER OBJECT [FIELD]",
		Short:             "Show where the value of a field comes from",
		Long:              explainLong,
		Example:           explainExample,
		Args:              explainArgs,
		ValidArgsFunction: completeExplain(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isObject(args) {
				e, err := query.ExplainObject(cmd.Context(), o.compiler(), args[0], args[1], strings.Join(args[2:], ""))
				if err != nil {
					return err
				}
				return writeResult(cmd, o, e, func(w io.Writer) { writeObjectExplanation(w, e, load.FileNames(o.dir)) })
			}
			x, err := query.Explain(cmd.Context(), o.compiler(), args[0])
			if err != nil {
				return err
			}
			e, err := x.Field(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			return writeResult(cmd, o, e, func(w io.Writer) { writeExplanation(w, e, "", load.FileNames(o.dir)) })
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

// isObject reports whether the argument is an object. Object names contain
// slashes, which field paths contain only in quotes.
func isObject(args []string) bool {
	before, _, slash := strings.Cut(args[1], "/")
	return slash && !strings.Contains(before, `"`)
}

// explainArgs checks the arguments of explain.
func explainArgs(_ *cobra.Command, args []string) error {
	if len(args) == 2 || len(args) == 3 && isObject(args) {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeArguments,
		Msg:  fmt.Sprintf("explain takes a cluster and a path, or a cluster, an object and a field, not %s", diag.Count(len(args), "argument", "arguments")),
		Hint: "run fleetc explain --help",
	}
}

// completeExplain completes a cluster, and then the path of a field key by
// key.
func completeExplain(o *options) cobra.CompletionFunc {
	clusters := clusterArgs(o)
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return clusters(cmd, args, begun)
		}
		const more = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		x, err := query.Explain(cmd.Context(), o.compiler(), args[0])
		if len(args) > 1 || strings.Contains(begun, "/") {
			return completeObject(cmd, o, args, begun), more
		}
		if err != nil {
			return nil, more
		}
		out := diag.Filter(x.Next(cmd.Context(), begun), func(path string) bool { return strings.HasPrefix(path, begun) })
		if len(out) == 0 {
			out = completeObject(cmd, o, args, begun)
		}
		return out, more
	}
}
