package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
)

const secretEditLong = `edit decrypts a SOPS file for an editor, and encrypts the changes when it ends.
Values that did not change keep their ciphertext. The editor is $SOPS_EDITOR,
$VISUAL, $EDITOR or vi.

The plain text is only in memory: in a directory of XDG_RUNTIME_DIR or
/dev/shm, which is removed when the editor ends. If the editor fails or changes
nothing, the file stays as it is.

FILE is a SOPS file. SECRET is a secret, whose file is edited; with CLUSTER, its
file in that cluster or directory of clusters.`

// An editedFile is the output of secret edit -o json.
type editedFile struct {
	SOPS    string `json:"sops"`
	Changed bool   `json:"changed"`
}

func newSecretEditCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "edit FILE|SECRET [CLUSTER]",
		Short:             "Change a SOPS file in an editor",
		Long:              secretEditLong,
		Example:           "  fleetc secret edit secrets/prod.yaml\n  fleetc secret edit db prod/eu\n  EDITOR='code --wait' fleetc secret edit db",
		Args:              argCount(1, 2, "the command takes a file or a secret, and a cluster or a directory of clusters", "name a file, or a secret of fleetc secret list"),
		ValidArgsFunction: secretArgs(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			e := edit.EditOptions{
				Secret: args[0], Getenv: os.Getenv, Now: time.Now(), Editor: runEditor(cmd.InOrStdin()), Again: editAgain(cmd),
			}
			if _, err := os.Stat(o.path(args[0])); err == nil && len(args) == 1 {
				names, err := o.fileNames(args)
				if err != nil {
					return err
				}
				e.File = names[0]
			}
			file, changed, err := edit.EditSecrets(cmd.Context(), o.compiler(), e, args[1:]...)
			if err != nil {
				return err
			}
			return writeResult(cmd, o, editedFile{file, changed}, func(w io.Writer) {
				what := "wrote "
				if !changed {
					what = "nothing changed in "
				}
				fmt.Fprintln(w, what+diag.Visible(file, diag.MaxText))
			})
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

// runEditor returns a function that runs the user's editor.
func runEditor(stdin io.Reader) func(ctx context.Context, file string) error {
	editor := cmp.Or(os.Getenv("SOPS_EDITOR"), os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	return func(ctx context.Context, file string) error {
		cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+editor+` "$1"`, "sh", file) // an editor can have arguments
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = filepath.Dir(file), stdin, os.Stdout, os.Stderr
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		return &diag.Diag{
			Code: diag.CodeProgram,
			Msg:  "the editor " + diag.Visible(editor, diag.MaxText) + " fails, and nothing is written: " + diag.Brief(err),
			Hint: "set EDITOR to a program that waits until the file is closed", Cause: err,
		}
	}
}

// editAgain returns a function that shows a fault of the edited text and asks whether to
// correct it. Without an answer, the text is discarded.
func editAgain(cmd *cobra.Command) func(err error) bool {
	return func(err error) bool {
		for _, d := range diag.All(err) {
			fmt.Fprintln(cmd.ErrOrStderr(), d)
		}
		if ask(cmd.ErrOrStderr(), "edit again? [y/N] ") != nil {
			return false
		}
		answer, _ := readAnswer(cmd.InOrStdin())
		return isYes(answer)
	}
}
