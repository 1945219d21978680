package edit

import (
	"context"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// RotateOptions are the options of [RotateSecrets].
type RotateOptions struct {
	Files   []string            // names relative to the root; all SOPS files if empty
	DataKey bool                // whether each file gets a new data key
	DryRun  bool                // whether nothing is written
	Getenv  func(string) string // finds the age keys that decrypt the files
	Now     time.Time           // of the change
}

// A RotatedFile says what a rotation changes in a SOPS file.
type RotatedFile struct {
	File    string         `json:"file"`              // relative to the root
	Added   []string       `json:"added,omitempty"`   // recipients
	Removed []string       `json:"removed,omitempty"` // recipients
	DataKey bool           `json:"dataKey"`           // whether the data key is new
	Replace []ExposedValue `json:"replace,omitempty"` // values that removed recipients may know
	Manual  bool           `json:"manual,omitempty"`  // whether only the sops program can rotate the file, which stays as it is
}

// An ExposedValue is a value in a SOPS file that a removed recipient may know.
type ExposedValue struct {
	Key      string   `json:"key"`
	Secrets  []string `json:"secrets,omitempty"`  // names of the secrets with the value
	Clusters []string `json:"clusters,omitempty"` // IDs
}

// RotateSecrets gives SOPS files the age recipients that the nearest .sops.yaml names. A
// file from which a recipient is removed gets a new data key, so that the owner of the
// removed key cannot read its later versions. It returns the files that change, and writes
// none if one of them cannot be decrypted.
func RotateSecrets(ctx context.Context, c *compiler.Compiler, o RotateOptions) ([]RotatedFile, error) {
	e := c.Evaluate(ctx, nil) // faults of recipients are expected
	if e.Fleet == nil {
		return nil, e.Faults
	}
	identities, err := secret.Identities(o.Getenv)
	if err != nil {
		return nil, err
	}
	r := rotation{RotateOptions: o, root: e.Dir, files: e.SOPSFiles, clusters: e.All().Clusters}
	r.edit = func(f *secret.SOPSFile) (*secret.SOPSEditor, error) { return f.Edit(identities) }
	names := o.Files
	if len(names) == 0 {
		if names, err = r.all(); err != nil {
			return nil, err
		}
	}
	var faults diag.List
	var out []RotatedFile
	texts := map[string][]byte{}
	for _, name := range names {
		rotated, text, err := r.file(name)
		if faults.Add(err); rotated != nil {
			out, texts[name] = append(out, *rotated), text
		}
	}
	if err := faults.Err(); err != nil || o.DryRun {
		return out, err
	}
	for _, f := range out {
		if f.Manual {
			continue
		}
		if err := WriteFile(e.Dir, f.File, texts[f.File]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A rotation is the state of RotateSecrets.
type rotation struct {
	RotateOptions
	root     string
	files    *secret.Files
	clusters []*fleet.Cluster
	edit     func(f *secret.SOPSFile) (*secret.SOPSEditor, error) // decrypts a file
}

// all returns the SOPS files of secrets, and those that rules name, sorted.
func (r *rotation) all() ([]string, error) {
	var out []string
	ruled, err := r.files.Ruled()
	if err != nil {
		return nil, err
	}
	for _, name := range ruled {
		if data, err := secret.Read(r.root, name); err == nil && secret.SOPSFormatOf(data) != secret.NotSOPS {
			out = append(out, name)
		}
	}
	for _, c := range r.clusters {
		for _, s := range c.Secrets {
			if s.SOPS != "" {
				out = append(out, s.SOPS)
			}
		}
	}
	return diag.Distinct(out), nil
}

// manual returns the recipients that a file in the format ENV or INI must gain or lose; nil
// if there are none.
func (r *rotation) manual(name string, data []byte) (*RotatedFile, error) {
	want, hasRule, err := r.files.Recipients(name)
	if err != nil || !hasRule {
		return nil, err
	}
	out := &RotatedFile{File: name, Manual: true}
	out.Added, out.Removed = secret.CompareRecipients(want, secret.OtherRecipients(data))
	if len(out.Added)+len(out.Removed) == 0 {
		return nil, nil
	}
	return out, nil
}

// file returns what changes in a file, and its new text; nil if nothing does.
func (r *rotation) file(name string) (*RotatedFile, []byte, error) {
	data, err := secret.Read(r.root, name)
	if err != nil {
		return nil, nil, err
	}
	if len(r.Files) == 0 && secret.SOPSFormatOf(data) == secret.OtherFormat {
		out, err := r.manual(name, data)
		return out, nil, err
	}
	f, err := secret.ParseSOPS(name, data)
	if err != nil {
		return nil, nil, err
	}
	want, hasRule, err := r.files.Recipients(name)
	switch {
	case err != nil:
		return nil, nil, err
	case !hasRule && !r.DataKey && len(r.Files) > 0:
		return nil, nil, &diag.Diag{
			Code: diag.CodeSOPSRules, At: []diag.Pos{{File: name}},
			Msg:  "no rule of a .sops.yaml names age recipients for the file",
			Hint: "add one, or pass --data-key to keep its recipients",
		}
	case !hasRule:
		want = f.Recipients()
	}
	out := &RotatedFile{File: name}
	out.Added, out.Removed = secret.CompareRecipients(want, f.Recipients())
	if out.DataKey = r.DataKey || len(out.Removed) > 0; !out.DataKey && len(out.Added) == 0 {
		return nil, nil, nil
	}
	if len(out.Removed) > 0 {
		out.Replace = r.exposed(name, f)
	}
	editor, err := r.edit(f)
	if err != nil {
		return nil, nil, err
	}
	if out.DataKey {
		err = editor.Rotate(want)
	} else {
		err = editor.SetRecipients(want)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := editor.Bytes(r.Now)
	return out, text, err
}

// exposed returns the values of a file with the secrets and clusters that have them.
func (r *rotation) exposed(name string, f *secret.SOPSFile) []ExposedValue {
	var out []ExposedValue
	for _, key := range f.EncryptedKeys() {
		v := ExposedValue{Key: key}
		for _, c := range r.clusters {
			for _, s := range c.Secrets {
				if s.SOPS == name && secret.SamePath(s.Key, key) {
					v.Secrets, v.Clusters = append(v.Secrets, s.Name), append(v.Clusters, c.ID)
				}
			}
		}
		v.Secrets, v.Clusters = diag.Distinct(v.Secrets), diag.Distinct(v.Clusters)
		out = append(out, v)
	}
	return out
}
