// Package secret binds the references of a cluster to its secrets, and checks where the
// rendered objects refer to them. Neither needs a key: [ParseSOPS] checks a file of SOPS
// without decrypting it. [SOPSFile.Decrypt] decrypts it with age keys, a [SOPSEditor] changes
// it, and [EncryptSecret] encrypts a Secret.
//
// The format is that of https://github.com/getsops/sops: a YAML or JSON tree whose values are
// encrypted one by one with AES-256-GCM, and a map sops with the encrypted data key and a
// checksum (MAC) of all values.
package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// Files reads the SOPS files of a fleet, each once. It is safe for concurrent use.
type Files struct {
	root  string
	files par.ResultMemo[string, *SOPSFile]
	rules par.ResultMemo[string, *SOPSRules] // by directory
}

// NewFiles returns a reader of the files below the absolute path root.
func NewFiles(root string) *Files { return &Files{root: root} }

// File returns a SOPS file. name is relative to the root and slash-separated. The error
// has the positions in the file, also of recipients that differ from the rules of the
// nearest .sops.yaml.
func (f *Files) File(name string) (*SOPSFile, error) {
	return f.files.Get(name, func() (*SOPSFile, error) {
		data, err := Read(f.root, name)
		if err != nil {
			return nil, err
		}
		file, err := ParseSOPS(name, data)
		if err == nil {
			err = f.checkRecipients(name, file.Recipients(), "fleetc secret rotate")
		}
		return file, err
	})
}

// checkRecipients compares the age recipients of a file with the rule for it in the nearest
// .sops.yaml, if there is one. command gives the file other recipients.
func (f *Files) checkRecipients(name string, recipients []string, command string) error {
	rule, err := f.rule(name)
	if err != nil || rule == nil || !rule.NamesKeys() {
		return err
	}
	missing, surplus := CompareRecipients(rule.Recipients, recipients)
	var faults diag.List
	wrong := func(msg, hint string) {
		faults.Add(&diag.Diag{Code: diag.CodeSOPSRules, At: []diag.Pos{{File: name}, rule.Pos}, Msg: msg, Hint: "run " + command + " " + name + hint})
	}
	if len(missing) > 0 {
		wrong("the file is not encrypted for "+diag.Visible(strings.Join(missing, ", "), diag.MaxText)+", which the rule names", "")
	}
	if len(surplus) > 0 {
		wrong("the file is encrypted for "+diag.Visible(strings.Join(surplus, ", "), diag.MaxText)+", which the rule does not name", "; replace values that its owner must not know any more")
	}
	return faults.Err()
}

// Read returns the content of a file below root, which must not be in .git.
func Read(root, name string) ([]byte, error) {
	if git.IsDotGit(name) {
		return nil, &diag.Diag{Code: diag.CodeSecretFile, Msg: name + " is in .git", Hint: "name a file of the fleet"}
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	// Opening a named pipe would block.
	if info, err := tree.Stat(filepath.FromSlash(name)); err == nil && !info.Mode().IsRegular() {
		return nil, &diag.Diag{Code: diag.CodeSecretFile, Msg: name + " is not a file", Hint: "name a file that sops has encrypted"}
	}
	f, err := tree.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.Diag{Code: diag.CodeSecretFile, Msg: name + " does not exist", Hint: "create it with sops, or correct the path", Cause: err}
	}
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeSecretFile, Msg: name + " cannot be read", Hint: "name a file of the fleet", Cause: err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		return nil, &diag.Diag{Code: diag.CodeSecretFile, Msg: fmt.Sprintf("%s is larger than %d MiB", name, maxSize>>20), Hint: "split it"}
	}
	return data, err
}

// Bind adds the digests of encrypted values to the references in the values, objects and
// patches of a cluster. The error has the faults of secrets, of their files, and of
// references to unknown secrets. Bind adds a check for each secret that nothing may use.
func Bind(c *fleet.Cluster, files *Files) error {
	b := binder{cluster: c, known: map[string]fleet.Secret{}, used: map[string]bool{}, reported: map[*diag.Diag]bool{}}
	for i := range c.Secrets {
		s := &c.Secrets[i]
		switch {
		case s.SOPS != "":
			b.digest(s, files)
		case s.External != nil:
			s.Digest = shortDigest(fmt.Sprintf("%q", *s.External))
		}
		b.known[s.Name] = *s
	}
	for _, r := range c.Releases {
		if len(c.Secrets) > 0 {
			b.texts(r)
		}
		b.release(r)
	}
	for _, s := range c.Secrets {
		c.Checks = append(c.Checks, fleet.RuleCheck{
			Path: "secrets." + s.Name, Pos: s.Pos, Holds: b.used[s.Name],
			Msg: "no release refers to this secret", Hint: "write it into a value, as in adminPassword: secrets." + s.Name + ".ref, or remove it",
		})
	}
	return diag.In(c.ID, b.faults.Err())
}

// A binder is the state of Bind.
type binder struct {
	cluster *fleet.Cluster
	known   map[string]fleet.Secret
	used    map[string]bool
	faults  diag.List

	reported map[*diag.Diag]bool // faults of files
}

// digest sets the digest of a secret in a SOPS file.
func (b *binder) digest(s *fleet.Secret, files *Files) {
	path := "secrets." + s.Name
	file, err := files.File(s.SOPS)
	if err != nil {
		for _, d := range diag.All(err) {
			if b.reported[d] {
				continue // another secret has the same file
			}
			b.reported[d] = true
			of := *d
			if len(d.At) == 0 {
				of.Path, of.At = path, []diag.Pos{s.Pos}
			}
			b.faults.Add(&of)
		}
		return
	}
	if !file.Has(s.Key) {
		b.faults.Add(&diag.Diag{
			Code: diag.CodeUnknownSecret,
			At:   []diag.Pos{s.Pos}, Path: path + ".key", Msg: fmt.Sprintf("%s has no key %s", s.SOPS, diag.Visible(s.Key, diag.MaxText)),
			Hint: diag.OneOf(s.Key, file.Keys()), Fixes: diag.Respell(s.Key, file.Keys()),
		})
		return
	}
	if !file.IsEncrypted(s.Key) {
		b.faults.Add(&diag.Diag{
			Code: diag.CodePlainText,
			At:   []diag.Pos{s.Pos}, Path: path + ".key", Msg: fmt.Sprintf("%s has no encrypted value at %s: it is null, or the rules of the file leave it in plain text", s.SOPS, diag.Visible(s.Key, diag.MaxText)),
			Hint: "encrypt it, see the rules at the end of the file; or write it as a plain value in CUE if it is not secret",
		})
		return
	}
	s.Digest = shortDigest(file.Ciphertext(s.Key))
}

// shortDigest returns a digest of which only a change matters.
func shortDigest(text string) string {
	const length = 6 // bytes
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:length])
}

// texts reports the references in the values and objects of a release that an expression
// has changed, as strings.ToUpper does, and those in quotes, which are texts.
func (b *binder) texts(r *fleet.Release) {
	for _, t := range append([]*fleet.Tree{r.Values}, r.Objects...) {
		t.EachScalar(func(path []string, scalar *fleet.Tree) {
			text, _ := scalar.Scalar.(string)
			d := &diag.Diag{Code: diag.CodeSecretValue, At: []diag.Pos{scalar.Pos}, Path: r.Path(), Msg: diag.Visible(fleet.FieldText(path), diag.MaxText)}
			switch {
			case fleet.HasDamagedReference(text):
				d.Msg += " contains a damaged reference to a secret"
				d.Hint = "use ref unchanged, as in secrets.db.ref; you can only add text before or after it"
			case b.isQuoted(text):
				d.Msg += " is the text " + text + ", not the secret"
				d.Hint = "write " + text + " without quotes"
			default:
				return
			}
			b.faults.Add(d)
		})
	}
}

// isQuoted reports whether a text is the reference to a secret of the cluster, such as
// secrets.db.ref, written in quotes.
func (b *binder) isQuoted(text string) bool {
	rest, ok := strings.CutPrefix(text, "secrets.")
	name, isReference := strings.CutSuffix(rest, ".ref")
	_, known := b.known[strings.Trim(name, `"`)]
	return ok && isReference && known
}

// release binds the references of a release.
func (b *binder) release(r *fleet.Release) {
	r.Values = b.tree(r, r.Values)
	for i, o := range r.Objects {
		r.Objects[i] = b.tree(r, o)
	}
	for i := range r.Patches {
		p := &r.Patches[i]
		replace := b.replace(r, p.Pos)
		p.Strategic, _ = fleet.MapReferencesIn(p.Strategic, replace).(map[string]any)
		p.Merge, _ = fleet.MapReferencesIn(p.Merge, replace).(map[string]any)
		for j := range p.JSON {
			p.JSON[j].Value = fleet.MapReferencesIn(p.JSON[j].Value, replace)
		}
	}
}

// tree binds the references in a tree, with faults at their leaves.
func (b *binder) tree(r *fleet.Release, t *fleet.Tree) *fleet.Tree {
	if !t.MayRefer() {
		return t
	}
	b.check(r, t)
	return t.WithReferences(b.replace(r, diag.Pos{}))
}

// check reports the unknown secrets in a tree.
func (b *binder) check(r *fleet.Release, t *fleet.Tree) {
	t.EachScalar(func(_ []string, scalar *fleet.Tree) {
		text, _ := scalar.Scalar.(string)
		fleet.MapReferences(text, b.replace(r, scalar.Pos))
	})
}

// replace returns the replacement of a reference. It reports unknown secrets at a
// position, if it is valid.
func (b *binder) replace(r *fleet.Release, pos diag.Pos) func(reference, name string) string {
	return func(reference, name string) string {
		s, ok := b.known[name]
		if ok {
			b.used[name] = true
			return s.Reference()
		}
		if pos.IsValid() {
			b.faults.Add(&diag.Diag{Code: diag.CodeUnknownSecret, At: []diag.Pos{pos}, Path: r.Path(), Msg: "no secret is called " + name, Hint: hintUnknown(name, b.cluster)})
		}
		return reference
	}
}

// hintUnknown returns the hint for a name that is not a secret of the cluster.
func hintUnknown(name string, c *fleet.Cluster) string {
	if len(c.Secrets) == 0 {
		return `declare it: secrets: "` + name + `": {sops: "secrets/prod.yaml", key: "path.of.the.value"}`
	}
	return diag.OneOf(name, diag.Each(c.Secrets, func(s fleet.Secret) string { return s.Name }))
}
