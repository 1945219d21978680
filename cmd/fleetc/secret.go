package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query"
)

const secretLong = `secret lists, changes and checks the secrets that layers declare under secrets,
and their SOPS files.`

func newSecretCommand(o *options) *cobra.Command {
	return group(&cobra.Command{
		Use:     "secret",
		Short:   "List, change and check the secrets of the fleet",
		Long:    secretLong,
		Example: "  fleetc secret list prod\n  fleetc secret set db prod\n  fleetc secret check",
	}, newSecretListCommand(o), newSecretSetCommand(o), newSecretEditCommand(o), newSecretCheckCommand(o), newSecretRotateCommand(o))
}

const secretListLong = `list shows each secret with its source, the number of its clusters, the releases
that refer to it, who can decrypt the file, and when the file was changed. It
needs no key, and shows no value. --render also lists the objects that refer to
it.

A secret with several sources has a line for each. With -o json, the output has
the IDs of the clusters and all keys of the file.`

func newSecretListCommand(o *options) *cobra.Command {
	var render bool
	cmd := &cobra.Command{
		Use:     "list [CLUSTER...]",
		Short:   "List the secrets with their sources and readers",
		Long:    secretListLong,
		Example: "  fleetc secret list\n  fleetc secret list prod --render -o json",
		RunE: func(cmd *cobra.Command, patterns []string) error {
			all, err := query.Secrets(cmd.Context(), o.compiler(), render, patterns...)
			if err != nil && len(all) == 0 {
				return err
			}
			return errors.Join(writeResult(cmd, o, append([]query.SecretUse{}, all...), func(w io.Writer) {
				secretTable(w, all, render)
			}), err)
		},
	}
	outputFlag(cmd, "text", "json")
	cmd.Flags().BoolVar(&render, "render", false, "also render the releases, and list the objects that refer to each secret")
	selectorFlags(cmd, o)
	return cmd
}

const secretSetLong = `set reads a value from standard input, and encrypts it into the SOPS file of a
secret. Other values of the file stay as they are, byte for byte. No plain text
is written to disk.

The file must be encrypted for an age key of this process: SOPS_AGE_KEY,
SOPS_AGE_KEY_FILE or ~/.config/sops/age/keys.txt. One line break at the end of
the input is removed.

CLUSTER is a cluster or a directory of clusters, in which the secret must have
one source.`

func newSecretSetCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "set SECRET [CLUSTER]",
		Short:             "Encrypt a new value of a secret",
		Long:              secretSetLong,
		Example:           "  pwgen 32 1 | fleetc secret set db\n  fleetc secret set db prod/eu < password.txt",
		Args:              argCount(1, 2, "the command takes a secret, and a cluster or a directory of clusters", "name a secret, see fleetc secret list"),
		ValidArgsFunction: secretArgs(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			const most = 1 << 20
			value, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), most+1))
			if err != nil {
				return err
			}
			text := strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
			if text == "" || len(value) > most {
				return &diag.Diag{
					Code: diag.CodeArguments,
					Msg:  "standard input has no value, or one of more than 1 MiB",
					Hint: "write it to standard input, as in fleetc secret set db < password.txt",
				}
			}
			file, key, err := edit.SetSecret(cmd.Context(), o.compiler(), args[0], text, os.Getenv, time.Now(), args[1:]...)
			if err != nil {
				return err
			}
			return writeResult(cmd, o, setSecret{args[0], file, key}, func(w io.Writer) { fmt.Fprintf(w, "wrote %s %s\n", file, key) })
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

// secretArgs completes a secret, and then clusters.
func secretArgs(o *options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return clusterArgs(o)(cmd, args, text)
		}
		all, _ := query.Secrets(cmd.Context(), o.compiler(), false)
		names := diag.Each(all, func(s query.SecretUse) string { return s.Name })
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	}
}

// A setSecret is the output of secret set -o json.
type setSecret struct {
	Name string `json:"name"`
	SOPS string `json:"sops"`
	Key  string `json:"key"`
}

// secretTable writes secrets as a table, with a column of objects if they were rendered.
func secretTable(w io.Writer, all []query.SecretUse, rendered bool) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no secrets")
		return
	}
	objects := ""
	if rendered {
		objects = "OBJECTS\t"
	}
	t := newTable(w, "SECRET\tSOURCE\tCLUSTERS\tRELEASES\t"+objects+"READERS\tCHANGED")
	for _, s := range all {
		if rendered {
			objects = cmp.Or(nameList(s.Objects), "-") + "\t"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s%s\t%s\n", s.Name, diag.Visible(s.Text(), diag.MaxText), len(s.Clusters), cmp.Or(nameList(s.Releases), "-"), objects, readers(s.Readers), cmp.Or(s.Modified, "-"))
	}
	_ = t.Flush()
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
	return cmp.Or(nameList(out), "-")
}
