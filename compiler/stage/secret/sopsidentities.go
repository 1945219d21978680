package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxKeyFile is the size limit of a file with age keys in bytes.
const maxKeyFile = 1 << 20

// Identities returns the age keys of this process, from the places in which the sops program
// looks: SOPS_AGE_KEY, the file SOPS_AGE_KEY_FILE, and the file sops/age/keys.txt in the
// user's directory of configuration; and SSH keys without a passphrase in the file
// SOPS_AGE_SSH_PRIVATE_KEY_FILE, and id_ed25519 and id_rsa in ~/.ssh. getenv returns an
// environment variable. There may be none. Commands are not run: a command in
// SOPS_AGE_KEY_CMD is a fault if there are no other keys.
func Identities(getenv func(string) string) ([]age.Identity, error) {
	all, err := sshIdentities(getenv)
	if err != nil {
		return nil, err
	}
	add := func(from string, r io.Reader) error {
		found, err := age.ParseIdentities(io.LimitReader(r, maxKeyFile))
		if err != nil {
			return &diag.Diag{
				Code: diag.CodeDecryptionKey,
				Msg:  from + " has no valid age key",
				Hint: "write a line that begins with AGE-SECRET-KEY-1, as age-keygen does",
			} // the error may quote the key
		}
		all = append(all, found...)
		return nil
	}
	if key := getenv("SOPS_AGE_KEY"); key != "" {
		if err := add("SOPS_AGE_KEY", strings.NewReader(key)); err != nil {
			return nil, err
		}
	}
	files := []string{getenv("SOPS_AGE_KEY_FILE")}
	if dir := configDir(getenv); dir != "" {
		files = append(files, filepath.Join(dir, "sops", "age", "keys.txt"))
	}
	for i, name := range files {
		if name == "" {
			continue
		}
		f, err := os.Open(name)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if info, failed := f.Stat(); failed == nil && info.IsDir() {
			err = fmt.Errorf("%s is a directory", name)
		}
		if err != nil {
			f.Close()
			return nil, &diag.Diag{
				Code:  diag.CodeDecryptionKey,
				Msg:   fmt.Sprintf("cannot read the file of age keys %s", diag.Visible(name, diag.MaxText)),
				Hint:  "correct SOPS_AGE_KEY_FILE",
				Cause: err,
			}
		}
		err = add(diag.Visible(name, diag.MaxText), f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"SOPS_AGE_KEY_CMD", "SOPS_AGE_SSH_PRIVATE_KEY_CMD"} {
		if len(all) == 0 && getenv(name) != "" {
			return nil, &diag.Diag{Code: diag.CodeDecryptionKey, Msg: "fleetc does not run the command in " + name, Hint: "run it yourself, and set SOPS_AGE_KEY to its output"}
		}
	}
	return all, nil
}

// sshIdentities returns the SSH keys of this process. Those in ~/.ssh that cannot be used,
// as they have a passphrase or another type, are left out.
func sshIdentities(getenv func(string) string) ([]age.Identity, error) {
	var all []age.Identity
	read := func(name string) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		pem, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
		if err != nil {
			return err
		}
		identity, err := agessh.ParseIdentity(pem)
		if err == nil {
			all = append(all, identity)
		}
		return err
	}
	if name := getenv("SOPS_AGE_SSH_PRIVATE_KEY_FILE"); name != "" {
		if read(name) != nil { // the error may quote the key
			return nil, &diag.Diag{
				Code: diag.CodeDecryptionKey,
				Msg:  "SOPS_AGE_SSH_PRIVATE_KEY_FILE has no SSH key without a passphrase",
				Hint: "name the file of an ed25519 or RSA key without a passphrase",
			}
		}
	}
	if home := getenv("HOME"); home != "" {
		for _, name := range []string{"id_ed25519", "id_rsa"} {
			_ = read(filepath.Join(home, ".ssh", name))
		}
	}
	return all, nil
}

// configDir returns the user's directory of configuration as sops finds it.
func configDir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	home := getenv("HOME")
	switch {
	case runtime.GOOS == "windows":
		return getenv("AppData")
	case home == "":
		return ""
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".config")
}
