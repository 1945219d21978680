package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// plainValues are the values of a decrypted file.
type plainValues interface {
	// Value returns the text of the scalar at a path.
	Value(path string) (string, error)
}

// decrypted returns the values of a SOPS file, which it decrypts once.
func (r *SecretResolver) decrypted(ctx context.Context, name string) (plainValues, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of, ok := r.plain[name]; ok {
		return of.values, of.err
	}
	if r.files == nil {
		r.files, r.plain = secret.NewFiles(r.Dir), map[string]plainFile{}
	}
	values, err := r.decrypt(ctx, name)
	if ctx.Err() == nil {
		r.plain[name] = plainFile{values, err}
	}
	return values, err
}

// decrypt decrypts a SOPS file: with age keys if there are any that fit, and otherwise with
// the sops program.
func (r *SecretResolver) decrypt(ctx context.Context, name string) (plainValues, error) {
	file, err := r.files.File(name)
	if err != nil {
		return nil, err
	}
	others := file.OtherKeys()
	if len(file.Recipients()) > 0 {
		var identities []age.Identity
		if identities, err = secret.Identities(r.environment); err == nil {
			var plain *secret.SOPSPlain
			if plain, err = file.Decrypt(identities); err == nil {
				return plain, nil
			}
		}
		if len(others) == 0 || !errors.Is(err, secret.ErrNoIdentity) {
			return nil, err
		}
	}
	return r.decryptWithProgram(ctx, name, others)
}

// environment returns an environment variable, empty if it is not set.
func (r *SecretResolver) environment(name string) string {
	value, _ := r.Getenv(name)
	return value
}

// program decrypts files with keys other than age.
const program = "sops"

// decryptWithProgram decrypts a file with the sops program.
func (r *SecretResolver) decryptWithProgram(ctx context.Context, name string, keys []string) (plainValues, error) {
	file := filepath.Join(r.Dir, filepath.FromSlash(name))
	out, err := r.output(ctx, "install sops, or add an age key to the file", program, "decrypt", "--output-type", "json", file)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, &diag.Diag{
			Code: diag.CodeProgram,
			Msg:  fmt.Sprintf("%s is encrypted for %s, which needs the sops program", name, strings.Join(keys, ", ")),
			Hint: "install sops, or add an age key to the file", Cause: err,
		}
	case err != nil:
		return nil, &diag.Diag{Code: diag.CodeDecryptionKey, Msg: name + " is not decrypted: " + diag.Brief(err), Hint: "check that this process has the key", Cause: err}
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, &diag.Diag{Code: diag.CodeProgram, Msg: "sops prints invalid JSON for " + name, Hint: "install another version of sops"}
	}
	return decodedValues{name, tree}, nil
}

// decodedValues are the values that the sops program printed.
type decodedValues struct {
	name string
	tree any
}

// Value returns the text of the scalar at a path.
func (v decodedValues) Value(path string) (string, error) {
	keys, ok := fleet.ParseField(path)
	found, exists := fleet.Lookup(v.tree, keys)
	if !ok || !exists {
		return "", &diag.Diag{Code: diag.CodeSecretUnavailable, Msg: v.name + " has no key " + diag.Visible(path, diag.MaxText), Hint: "correct the key"}
	}
	switch found := found.(type) {
	case string:
		return found, nil
	case bool, json.Number:
		return fmt.Sprint(found), nil
	}
	return "", &diag.Diag{Code: diag.CodeSecretUnavailable, Msg: v.name + " has no string, number or bool at " + diag.Visible(path, diag.MaxText), Hint: "correct the key"}
}
