package edit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// SetSecret sets the value of a secret in its SOPS file, and returns the file and the path
// in it. The patterns select clusters, in which the secret must have one source. getenv
// finds the age key that decrypts the file, and now is the time of the change. Other values
// of the file stay byte for byte, and no plain text is written.
func SetSecret(ctx context.Context, c *compiler.Compiler, name, value string, getenv func(string) string, now time.Time, patterns ...string) (file, key string, err error) {
	e := c.Evaluate(ctx, patterns)
	if e.Fleet == nil {
		return "", "", e.Faults
	}
	s, err := onlySource(e, name)
	if err != nil {
		return "", "", err
	}
	editor, _, err := openSOPS(e.Dir, s.SOPS, getenv)
	if err != nil {
		return "", "", err
	}
	if err := editor.CheckEncrypts(s.Key); err != nil {
		return "", "", err
	}
	if err := editor.Set(s.Key, value); err != nil {
		return "", "", err
	}
	text, err := editor.Bytes(now)
	if err != nil {
		return "", "", err
	}
	return s.SOPS, s.Key, WriteFile(e.Dir, s.SOPS, text)
}

// openSOPS returns the editor of a SOPS file with its plain text, and the content of the file.
func openSOPS(root, file string, getenv func(string) string) (*secret.SOPSEditor, []byte, error) {
	data, err := secret.Read(root, file)
	if err != nil {
		return nil, nil, err
	}
	f, err := secret.ParseSOPS(file, data)
	if err != nil {
		return nil, nil, err
	}
	identities, err := secret.Identities(getenv)
	if err != nil {
		return nil, nil, err
	}
	editor, err := f.Edit(identities)
	return editor, data, err
}

// onlySource returns the secret with a name, which must have one SOPS file in the clusters.
func onlySource(e compiler.Evaluation, name string) (fleet.Secret, error) {
	clusters := e.All().Clusters
	if len(clusters) == 0 && e.Faults != nil {
		return fleet.Secret{}, e.Faults
	}
	var found []fleet.Secret
	var names, sources []string
	for _, c := range clusters {
		for _, s := range c.Secrets {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
			source := s.Text()
			if s.Name != name || slices.Contains(sources, source) {
				continue
			}
			found, sources = append(found, s), append(sources, source)
		}
	}
	switch {
	case len(found) == 0:
		hint := diag.OneOf(name, names)
		if hint == "" && e.Faults == nil {
			hint = "declare it in the field secrets, or list the secrets with fleetc secret list"
		}
		if e.Faults != nil {
			hint = strings.TrimPrefix(hint+", or correct the faults of fleetc vet, which may hide it", ", or ")
		}
		return fleet.Secret{}, &diag.Diag{Code: diag.CodeUnknownSecret, Msg: fmt.Sprintf("no secret is called %s", diag.Visible(name, diag.MaxText)), Hint: hint}
	case len(found) > 1:
		return fleet.Secret{}, &diag.Diag{
			Code: diag.CodeSeveralMatches,
			Msg:  fmt.Sprintf("the secret %s has several sources: %s", name, strings.Join(sources, ", ")),
			Hint: "name a cluster with the one to set",
		}
	case found[0].SOPS == "":
		return fleet.Secret{}, &diag.Diag{
			Code: diag.CodeSecretEdit,
			At:   []diag.Pos{found[0].Pos}, Msg: fmt.Sprintf("the secret %s is not in a SOPS file: its source is %s", name, diag.Visible(found[0].Text(), diag.MaxText)), Hint: "change it there",
		}
	}
	return found[0], nil
}
