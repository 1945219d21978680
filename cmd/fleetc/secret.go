package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/query"
)

const secretLong = `secret shows the secrets of the fleet: values that only a cluster may know, and
that layers declare under secrets.`

func newSecretCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "secret",
		Short:   "Show the secrets of the fleet",
		Long:    secretLong,
		Example: "  fleetc secret list prod",
		Args:    noSubcommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSecretListCommand(o))
	return cmd
}

const secretListLong = `list shows each secret with its source, the number of its clusters, the releases
that refer to it, who can decrypt the file, and when the file was changed. It
needs no key, and shows no value.

A secret with several sources has a line for each. With -o json, the output has
the IDs of the clusters and all keys of the file.`

func newSecretListCommand(o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "list [CLUSTER...]",
		Short:             "List the secrets with their sources and readers",
		Long:              secretListLong,
		Example:           "  fleetc secret list\n  fleetc secret list prod -o json",
		ValidArgsFunction: clusterArgs(o),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			all, err := query.Secrets(cmd.Context(), o.compiler(), patterns...)
			if err != nil {
				return err
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), listSecrets(all))
			}
			return secretTable(cmd.OutOrStdout(), all)
		},
	}
	outputFlag(cmd, &output, "text", "json")
	selectorFlags(cmd, o)
	return cmd
}

func secretTable(w io.Writer, all []query.SecretSource) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no secrets")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "SECRET\tSOURCE\tCLUSTERS\tRELEASES\tREADERS\tCHANGED")
	for _, s := range all {
		source := s.SOPS + " " + s.Key
		if s.Env != "" {
			source = "$" + s.Env
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", s.Name, source, len(s.Clusters), cmp.Or(briefList(s.Releases), "-"), readers(s.Readers), cmp.Or(s.Modified, "-"))
	}
	return t.Flush()
}

// readers returns a short text for the keys of a file: public age keys are long.
func readers(keys []string) string {
	const most = 12
	var out []string
	for _, key := range keys {
		if strings.HasPrefix(key, "age1") && len(key) > most {
			key = key[:most] + "…"
		}
		out = append(out, key)
	}
	return cmp.Or(briefList(out), "-")
}

// A listedSecret is a secret in the output of secret list -o json.
type listedSecret struct {
	Name     string   `json:"name"`
	SOPS     string   `json:"sops,omitempty"`
	Key      string   `json:"key,omitempty"`
	Env      string   `json:"env,omitempty"`
	Clusters []string `json:"clusters"`
	Releases []string `json:"releases"`
	Readers  []string `json:"readers"`
	Changed  string   `json:"changed,omitempty"`
	Position string   `json:"position"`
}

func listSecrets(all []query.SecretSource) []listedSecret {
	out := []listedSecret{}
	for _, s := range all {
		out = append(out, listedSecret{
			Name: s.Name, SOPS: s.SOPS, Key: s.Key, Env: s.Env, Clusters: s.Clusters, Releases: append([]string{}, s.Releases...),
			Readers: append([]string{}, s.Readers...), Changed: s.Modified, Position: s.Pos.String(),
		})
	}
	return out
}
