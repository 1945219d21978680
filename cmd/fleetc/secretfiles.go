package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

const secretCheckLong = `check looks for secrets in plain text, without a key: files that a path_regex in
a .sops.yaml names and that are not encrypted, values in plain text in encrypted
files, missing checksums, and recipients that differ from the rule.

Without FILE, it checks all files that a rule names and those of all secrets. It
is a hook for pre-commit, fleetc-secrets.`

func newSecretCheckCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "check [FILE...]",
		Short:             "Look for secrets in plain text",
		Long:              secretCheckLong,
		Example:           "  fleetc secret check\n  fleetc secret check secrets/prod.yaml\n  fleetc secret check -o sarif > secrets.sarif",
		Annotations:       map[string]string{resultIsFaults: "true"},
		ValidArgsFunction: secretFileArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := o.fileNames(args)
			if err != nil {
				return err
			}
			n, err := query.CheckSecrets(cmd.Context(), o.compiler(), names)
			if err != nil || o.started.IsDocument() {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), diag.Count(n, "file", "files")+": no faults")
			return err
		},
	}
	outputFlag(cmd, "text", "json", "sarif", "github")
	return cmd
}

const secretRotateLong = `rotate encrypts SOPS files for the age recipients that the nearest .sops.yaml
names. A file from which a recipient is removed gets a new data key, and rotate
lists the values that its owner may know: replace them where they come from.

Without FILE, it takes all SOPS files that a rule names and those of all
secrets. A file that has its recipients already stays as it is, byte for byte.
If a file cannot be decrypted, nothing is written.

After a new data key, the references to all values of the file change, and the
next apply rolls the pods that have a checksum of them.`

func newSecretRotateCommand(o *options) *cobra.Command {
	var dataKey, dryRun bool
	cmd := &cobra.Command{
		Use:               "rotate [FILE...]",
		Short:             "Encrypt files for the recipients that .sops.yaml names",
		Long:              secretRotateLong,
		ValidArgsFunction: secretFileArgs,
		Example:           "  fleetc secret rotate --dry-run\n  fleetc secret rotate\n  fleetc secret rotate --data-key secrets/prod.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := o.fileNames(args)
			if err != nil {
				return err
			}
			files, err := edit.RotateSecrets(cmd.Context(), o.compiler(), edit.RotateOptions{
				Files: names, DataKey: dataKey, DryRun: dryRun, Getenv: os.Getenv, Now: time.Now(),
			})
			if err != nil {
				return err
			}
			return writeResult(cmd, o, append([]edit.RotatedFile{}, files...), func(w io.Writer) {
				printRotated(w, files, dryRun)
			})
		},
	}
	cmd.Flags().BoolVar(&dataKey, "data-key", false, "give each file a new data key, also without a change of recipients")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing; show what would change")
	outputFlag(cmd, "text", "json")
	return cmd
}

// printRotated prints what a rotation changed.
func printRotated(w io.Writer, files []edit.RotatedFile, dryRun bool) {
	verb, end := "rotated", " changed"
	if dryRun {
		verb, end = "would rotate", " would change"
	}
	changed := len(files)
	for _, f := range files {
		name := diag.Visible(f.File, diag.MaxText)
		what := verb + " " + name
		switch {
		case f.Manual:
			what = fmt.Sprintf("%s was not rotated: fleetc cannot rotate this format. Run sops updatekeys %s, then sops rotate --in-place %s", name, name, name)
			changed--
		case f.DataKey:
			what += ", with a new data key"
		}
		fmt.Fprintln(w, what)
		for _, recipient := range f.Added {
			fmt.Fprintln(w, "  + "+diag.Visible(recipient, diag.MaxText))
		}
		for _, recipient := range f.Removed {
			fmt.Fprintln(w, "  - "+diag.Visible(recipient, diag.MaxText))
		}
		for _, v := range f.Replace {
			fmt.Fprintf(w, "  replace %s", diag.Visible(v.Key, diag.MaxText))
			if len(v.Secrets) > 0 {
				fmt.Fprintf(w, ": %s in %s", strings.Join(v.Secrets, ", "), nameList(v.Clusters))
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w, diag.Count(changed, "file", "files")+end)
}

// secretFileArgs completes SOPS files.
var secretFileArgs = cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)

// fileNames returns arguments as names relative to the fleet's root, slash-separated.
func (o *options) fileNames(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	root, _, err := load.Root(o.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, arg := range args {
		file, err := filepath.Abs(o.path(arg))
		if err != nil {
			return nil, err
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
			file = filepath.Join(dir, filepath.Base(file))
		}
		rel, err := filepath.Rel(root, file)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, &diag.Diag{
				Code: diag.CodeOutsideFleet,
				Msg:  diag.Visible(arg, diag.MaxText) + " is not in the fleet's directory",
				Hint: "name a file below " + diag.Visible(root, diag.MaxText),
			}
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out, nil
}
