package edit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// EditOptions are the options of [EditSecrets].
type EditOptions struct {
	File   string              // a SOPS file, relative to the root; that of Secret if empty
	Secret string              // name of a secret
	Getenv func(string) string // finds the age key
	Now    time.Time           // of the change

	// Editor runs the user's editor for a file.
	Editor func(ctx context.Context, file string) error

	// Again reports whether the user wants to correct a text that has the fault.
	Again func(err error) bool
}

// EditSecrets decrypts a SOPS file for the user's editor, and encrypts what the user
// changes. It returns the name of the file, and whether it changed. The plain text is in a
// file system in memory only while the editor runs. patterns select clusters, in which the
// secret must have one source.
func EditSecrets(ctx context.Context, c *compiler.Compiler, o EditOptions, patterns ...string) (file string, changed bool, err error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil {
		return "", false, e.Faults
	}
	if file = o.File; file == "" {
		s, err := onlySource(e, o.Secret)
		if err != nil {
			return "", false, err
		}
		file = s.SOPS
	}
	editor, data, err := openSOPS(e.Dir, file, o.Getenv)
	if err != nil {
		return "", false, err
	}
	if changed, err = o.edit(ctx, editor, path.Base(file)); err != nil || !changed {
		return file, false, err
	}
	text, err := editor.Bytes(o.Now)
	if err != nil {
		return "", false, err
	}
	if now, err := secret.Read(e.Dir, file); err != nil || !bytes.Equal(now, data) {
		return "", false, &diag.Diag{
			Code: diag.CodeChangedFile, At: []diag.Pos{{File: file}},
			Msg:   "the file changed while the editor was open; nothing was written",
			Hint:  "edit it again",
			Cause: err,
		}
	}
	return file, true, WriteFile(e.Dir, file, text)
}

// edit lets the user change the document of a file.
func (o EditOptions) edit(ctx context.Context, of *secret.SOPSEditor, name string) (changed bool, err error) {
	document, err := of.Document()
	if err != nil {
		return false, err
	}
	dir, err := memoryDir(o.Getenv)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, document, 0o600); err != nil {
		return false, err
	}
	for {
		if err := o.Editor(ctx, file); err != nil {
			return false, err
		}
		edited, err := readAtMost(file)
		if err == nil {
			changed, err = of.Replace(edited)
		}
		if err == nil || !o.Again(err) {
			return changed, err
		}
	}
}

// maxEdited is the size limit of an edited file in bytes.
const maxEdited = 4 << 20

func readAtMost(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeSecretEdit, Msg: "the editor removed the file", Hint: "save the file under the same name", Cause: err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	if err == nil && len(data) > maxEdited {
		return nil, &diag.Diag{Code: diag.CodeSecretEdit, Msg: "the edited text is larger than 4 MiB", Hint: "split the file"}
	}
	return data, err
}
