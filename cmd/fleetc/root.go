package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `fleetc compiles the configuration of a fleet of Kubernetes clusters. It reads a
directory of CUE files and produces one bundle of objects for each cluster.

A fleet is a CUE module. Each directory below environments/ is a layer, and its
files have package fleet. A directory that sets cluster.name is a cluster, and
its path is the cluster's ID (prod/us-east-1). fleetc unifies the values of all
layers, merges defaults from the root to the cluster, and renders Helm charts
with the result.

Most commands take cluster patterns. prod/us-east-1 selects one cluster, prod
all clusters below it, and 'prod/us-*' all clusters that match. Without a
pattern, a command takes all clusters. -l selects clusters by labels, and -e by
environment.

Results go to standard output, and faults to standard error. -o sets the format
of both.

The exit status is 0 on success, 1 when a command finds differences, and 2 when
something failed.`

const rootExample = `  # Create a fleet in this directory.
  fleetc init example.com/infra

  # Pin a chart, then use it: releases: "ingress-nginx": ingress_nginx.#Release & {...}
  fleetc chart add https://kubernetes.github.io/ingress-nginx/ingress-nginx

  # Check all clusters without rendering, then with rendering.
  fleetc vet
  fleetc vet --render

  # Show where a value comes from, and what your change does.
  fleetc explain prod/us-east-1 releases.ingress-nginx.values.controller.replicaCount
  fleetc diff --against git:main

  # Write all bundles into a GitOps repository, or apply them.
  fleetc export --out ../clusters
  fleetc apply prod/us-east-1`

// options are the flags of all commands.
type options struct {
	dir     string
	jobs    int
	cache   string
	offline bool
	noCache bool
	date    string
	limits  par.Limits
	color   string

	progress    *progress // set when a command has started
	endProgress func()

	stdout  stdout
	started diag.Format // -o of the running command; empty before
	output  string      // format of its result, which is the default with -o github
}

func (o *options) compiler() *compiler.Compiler {
	c := &compiler.Compiler{Dir: o.dir, Jobs: o.jobs, Offline: o.offline, Build: buildID(), NoCache: o.noCache, Date: o.date, Limits: o.limits}
	if o.cache != "" {
		c.Cache = o.path(o.cache)
	}
	return c
}

// path returns a path of the command line relative to the directory of -C.
func (o *options) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(o.dir, path)
}

// prepare checks the flags of all commands, and starts a command.
func (o *options) prepare(cmd *cobra.Command) error {
	if o.jobs < 0 {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("-j does not accept %d", o.jobs), Hint: "pass a number from 1 on, or 0 for the number of processors"}
	}
	if !slices.Contains(colorModes(), o.color) {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("--color does not accept %q", diag.Visible(o.color, diag.MaxText)), Hint: diag.OneOf(o.color, colorModes())}
	}
	if o.offline {
		if err := onlyCachedModules(); err != nil {
			return err
		}
	}
	o.progress, o.endProgress = startProgress(cmd)
	return o.start(cmd)
}

// onlyCachedModules makes CUE find modules in its cache only.
func onlyCachedModules() error { return os.Setenv("CUE_REGISTRY", "none") }

func newRootCommand(o *options) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:               "fleetc",
		Short:             "Compile a fleet of Kubernetes clusters from CUE",
		Long:              rootLong,
		Example:           rootExample,
		Version:           toolVersion(),
		SilenceErrors:     true, // main prints them
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return o.prepare(cmd) },
	})
	flags := cmd.PersistentFlags()
	flags.StringVarP(&o.dir, "directory", "C", ".", "run in this `directory`")
	flags.IntVarP(&o.jobs, "jobs", "j", 0, "number of clusters to compile at the same time (0: one for each processor)")
	flags.StringVar(&o.cache, "cache-dir", "", "`directory` for downloaded charts and cached results (default: fleetc in the user's cache directory)")
	flags.BoolVar(&o.noCache, "no-cache", false, "neither read nor store cached results; see fleetc cache")
	flags.BoolVar(&o.offline, "offline", false, "do not use the network; charts must be in the cache or in vendor/charts")
	flags.StringVar(&o.date, "date", "", "today's `date`, such as 2026-12-31, for the end dates of waivers and freezes (default: do not check waivers; today in UTC for freezes)")
	flags.StringVar(&o.color, "color", "auto", "`when` to print in colour: auto, always or never")
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(colorModes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkPersistentFlagDirname("directory")
	_ = cmd.MarkPersistentFlagDirname("cache-dir")
	cmd.SetVersionTemplate("fleetc {{.Version}}\n")
	cmd.SetFlagErrorFunc(usageError)
	cmd.AddCommand(
		newInitCommand(o), newListCommand(o), newVetCommand(o), newBuildCommand(o), newExportCommand(o),
		newAffectedCommand(o), newApplyCommand(o), newHistoryCommand(o), newRollbackCommand(o), newRolloutCommand(o), newDestroyCommand(o), newImageCommand(o), newStatusCommand(o), newDriftCommand(o), newTestCommand(o),
		newCompareCommand(o), newDiffCommand(o), newReportCommand(o), newExplainCommand(o), newFmtCommand(o), newFixCommand(o), newLiftCommand(o), newLSPCommand(o),
		newChartCommand(o), newImportCommand(o), newSourceCommand(o), newUpdateCommand(o), newSecretCommand(o), newCacheCommand(o), newVersionCommand(o), newManCommand(), newPluginCommand(),
	)
	completeFlags(cmd, o)
	cmd.SetErr(os.Stderr) // os.Stderr is replaced at times
	cmd.InitDefaultCompletionCmd()
	cmd.InitDefaultHelpCmd()
	for _, c := range cmd.Commands() {
		switch c.Name() {
		case "completion":
			group(c)
			c.Example = "  source <(fleetc completion bash)"
			for _, shell := range c.Commands() {
				shell.Example = "  " + shell.CommandPath()
			}
		case "help":
			explainCodes(c)
		}
	}
	return cmd
}

// group makes a command of which only the subcommands do something.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = noSubcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subcommands...)
	return cmd
}

// noSubcommand checks the arguments of a command that only has subcommands: an
// argument is a misspelt subcommand.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := diag.Each(cmd.Commands(), (*cobra.Command).Name)
	hint := cmp.Or(diag.DidYouMean(args[0], names), "run "+cmd.CommandPath()+" --help")
	if code, ok := diag.ParseCode(args[0]); ok {
		hint = "run fleetc help " + string(code)
	}
	return &diag.Diag{
		Code: diag.CodeUnknownCommand,
		Msg:  fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0]),
		Hint: hint,
	}
}

// usageError converts a flag error to a fault with a hint.
func usageError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return noSubcommand(cmd, args)
	}
	code, hint := diag.CodeFlagValue, "run "+cmd.CommandPath()+" --help"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		code = diag.CodeUnknownCommand
		if near := diag.Nearest(unknown.GetSpecifiedName(), flagNames(cmd)); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	msg := strings.TrimSuffix(err.Error(), ".")
	if before, problem, ok := strings.Cut(msg, ": strconv."); ok {
		msg = before + ": " + notNumber(problem)
	}
	return &diag.Diag{Code: code, Msg: msg, Hint: hint, Cause: err}
}

// flagNames returns the names of the flags that the help of a command lists.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// notNumber says in plain words why strconv cannot read the value of a flag.
func notNumber(problem string) string {
	switch {
	case strings.HasSuffix(problem, "value out of range"):
		return "the number is too large"
	case strings.HasPrefix(problem, "ParseBool"):
		return "it must be true or false"
	case strings.HasPrefix(problem, "ParseFloat"):
		return "it must be a number"
	}
	return "it must be an integer"
}

// clusterArgs completes cluster IDs, also those of clusters that have faults.
func clusterArgs(o *options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		f, _ := o.compiler().Clusters(cmd.Context())
		names := map[string]string{}
		if f != nil {
			for _, c := range f.Clusters {
				names[c.ID] = "\t" + c.Name
			}
		}
		all, _ := o.compiler().ClusterIDs()
		out := diag.Each(all, func(id string) string { return id + names[id] })
		return slices.DeleteFunc(out, unfit), cobra.ShellCompDirectiveNoFileComp
	}
}

func colorModes() []string { return []string{"auto", "always", "never"} }

// style returns how differences are written to a stream.
func (o *options) style(w io.Writer) diff.Style {
	return diff.Style{Colour: o.color == "always" || o.color == "auto" && usesColour(os.Getenv, isTerminal(w))}
}

// usesColour reports whether a stream is written in colour without --color: a terminal is,
// unless TERM, NO_COLOR or CLICOLOR say otherwise, and so is any stream with CLICOLOR_FORCE.
// See https://no-color.org and https://bixense.com/clicolors.
func usesColour(env func(string) string, terminal bool) bool {
	switch force := env("CLICOLOR_FORCE"); {
	case env("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal && env("CLICOLOR") != "0" && env("TERM") != "dumb"
}
