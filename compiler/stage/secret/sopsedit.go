package secret

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"filippo.io/age"
	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A SOPSEditor changes a decrypted file. Unchanged values keep their ciphertext, their order
// and their comments.
type SOPSEditor struct {
	file    *SOPSFile
	key     []byte
	changed bool // whether the checksum must be computed again

	comments map[string]string // ciphertexts of comments, by path and text; set by Document
}

// Edit decrypts a file for changes. The faults are those of [SOPSFile.Decrypt]. The File must
// not be used until the editor has written it.
func (f *SOPSFile) Edit(identities []age.Identity) (*SOPSEditor, error) {
	if f.hasCommentRules() {
		return nil, f.fault(diag.CodeSecretEdit, "comments in the file decide which values are encrypted", "change it with sops edit "+f.name)
	}
	key, err := f.dataKey(identities)
	if err != nil {
		return nil, err
	}
	if _, err := f.decrypt(key); err != nil {
		return nil, err
	}
	return &SOPSEditor{file: f, key: key}, nil
}

func (f *SOPSFile) fault(code diag.Code, msg, hint string) error {
	return &diag.Diag{Code: code, At: []diag.Pos{{File: f.name}}, Msg: msg, Hint: hint}
}

// Set sets the text at a path, and adds missing maps. An element of a list can be replaced,
// and added at its end. An equal text leaves the file as it is.
func (e *SOPSEditor) Set(path, value string) error {
	field, ok := fleet.ParseField(path)
	if !ok || field[0] == "sops" {
		return e.invalid(diag.CodeSecretEdit, path, "the path is not valid", `write it as in db.password, list[0] or data."tls.crt"`)
	}
	node, err := e.place(path, field)
	if err != nil {
		return err
	}
	keys := e.keys(field)
	encrypted, err := e.file.rules()
	if err != nil {
		return err
	}
	if node.Kind == yaml.ScalarNode && node.Tag != "" {
		old, err := e.file.value(leaf{path, keys, node, encrypted(keys)}, e.key)
		if err != nil {
			return err
		}
		if old != nil && displayed(node, old) == value {
			return nil
		}
	}
	e.changed = true
	text := value
	if encrypted(keys) && value != "" {
		text = e.sealer().seal([]byte(value), "str", authenticated(keys))
	}
	node.Kind, node.Tag, node.Value, node.Style = yaml.ScalarNode, "!!str", text, 0
	if text == value {
		node.SetString(value)
	}
	return nil
}

// CheckEncrypts returns a fault if the rules of the file leave a value at a path in plain text.
func (e *SOPSEditor) CheckEncrypts(path string) error {
	field, _ := fleet.ParseField(path)
	encrypted, err := e.file.rules()
	if err != nil || encrypted(e.keys(field)) {
		return err
	}
	return e.invalid(diag.CodePlainText, path, "the rules of the file leave the value in plain text", "choose another path, or write the value with sops edit "+e.file.name)
}

func (e *SOPSEditor) sealer() encrypter { return encrypter{key: e.key} }

func (e *SOPSEditor) invalid(code diag.Code, path, msg, hint string) error {
	return &diag.Diag{Code: code, At: []diag.Pos{{File: e.file.name}}, Path: diag.Visible(path, diag.MaxText), Msg: msg, Hint: hint}
}

// keys returns a path without list indices, as SOPS authenticates it.
func (e *SOPSEditor) keys(field []string) []string {
	var out []string
	n := e.file.top
	for _, key := range field {
		if n != nil && n.Kind == yaml.SequenceNode {
			n = element(n, key)
			continue
		}
		out = append(out, key)
		if n != nil {
			n = child(n, key)
		}
	}
	return out
}

// place returns the scalar at a path, which it adds if it is missing.
func (e *SOPSEditor) place(path string, field []string) (*yaml.Node, error) {
	n := e.file.top
	for i, key := range field {
		if found := element(n, key); found != nil {
			n = found
			continue
		}
		if slices.ContainsFunc(field[i+1:], isIndex) {
			return nil, e.invalid(diag.CodeSecretEdit, path, "the list does not exist", "add the list with sops edit "+e.file.name)
		}
		next := new(yaml.Node)
		switch n.Kind {
		case yaml.MappingNode:
			name := new(yaml.Node)
			name.SetString(key)
			n.Content = append(n.Content, name, next)
		case yaml.SequenceNode:
			if size := strconv.Itoa(len(elements(n))); key != size {
				return nil, e.invalid(diag.CodeSecretEdit, path, "the list has "+size+" elements", "name one of them, or the next one")
			}
			n.Content = append(n.Content, next)
		default:
			return nil, e.invalid(diag.CodeSecretEdit, path, "a part of the path is a single value", "remove that value first, or use another path")
		}
		if n = next; i < len(field)-1 {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		} else {
			n.Kind = yaml.ScalarNode
		}
	}
	if n.Kind != yaml.ScalarNode {
		return nil, e.invalid(diag.CodeSecretEdit, path, "the value is a map or a list", "name the path of a single value")
	}
	return n, nil
}

// isIndex reports whether a part of a path is the index of a list.
func isIndex(key string) bool {
	_, err := strconv.ParseUint(key, 10, 16)
	return err == nil
}

// element returns the value of a key or an index; nil when there is none.
func element(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		all := elements(n)
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(all) {
			return all[i]
		}
		return nil
	}
	return child(n, key)
}

// SetRecipients encrypts the data key for other age recipients. The entries of recipients
// that stay keep their bytes, and no value changes: those that are removed can still read
// the values with the old file, see [SOPSEditor.Rotate].
func (e *SOPSEditor) SetRecipients(recipients []string) error {
	list, err := e.ageList(recipients, "change")
	if err != nil {
		return err
	}
	var kept []*yaml.Node
	missing := diag.Distinct(slices.Clone(recipients))
	for _, entry := range list.Content {
		recipient := child(entry, "recipient")
		if recipient == nil {
			continue
		}
		if i := slices.Index(missing, recipient.Value); i >= 0 {
			kept, missing = append(kept, entry), slices.Delete(missing, i, i+1)
		}
	}
	added, err := e.entries(e.sealer(), missing)
	if err != nil {
		return err
	}
	list.Content = append(kept, added...)
	return nil
}

// ageList returns the list of the age recipients in the metadata, which the given ones
// replace. verb names the change for a fault.
func (e *SOPSEditor) ageList(recipients []string, verb string) (*yaml.Node, error) {
	if len(recipients) == 0 {
		return nil, e.file.fault(diag.CodeArguments, "the list of recipients is empty", "name at least one age recipient")
	}
	list := child(e.file.sops, "age")
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, e.file.fault(diag.CodeSecretEdit, "the file has no list of age recipients", verb+" it with the sops program")
	}
	return list, nil
}

// entries returns the data key of an encrypter for recipients, as in the metadata.
func (e *SOPSEditor) entries(of encrypter, recipients []string) ([]*yaml.Node, error) {
	wrapped, err := of.wrap(recipients)
	if err != nil {
		return nil, e.file.fault(diag.CodeFlagValue, "a recipient is not a valid age recipient", "write a recipient that begins with age1, as age-keygen prints it")
	}
	var out []*yaml.Node
	for _, w := range wrapped {
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range []string{"recipient", "enc"} {
			name, value := new(yaml.Node), new(yaml.Node)
			name.SetString(key)
			value.SetString(w.(map[string]any)[key].(string))
			n.Content = append(n.Content, name, value)
		}
		out = append(out, n)
	}
	return out, nil
}

// Rotate encrypts all values and comments with a new data key, for age recipients alone.
// Owners of the old key cannot read later versions of the file. The values stay the same, so
// that values which a removed recipient knows must be replaced, too.
func (e *SOPSEditor) Rotate(recipients []string) error {
	if others := e.file.OtherKeys(); len(others) > 0 {
		return e.file.fault(diag.CodeSecretEdit, "the file has keys other than age keys", "rotate it with sops rotate --in-place "+e.file.name)
	}
	list, err := e.ageList(recipients, "rotate")
	if err != nil {
		return err
	}
	fresh := newEncrypter()
	entries, err := e.entries(fresh, diag.Distinct(slices.Clone(recipients)))
	if err != nil {
		return err
	}
	if err := e.reencrypt(fresh); err != nil {
		return err
	}
	e.key, e.changed, list.Content = fresh.key, true, entries
	return nil
}

// collect finds the values of the changed tree.
func (e *SOPSEditor) collect() error {
	e.file.leaves = nil
	return e.file.collect(e.file.top)
}

// Bytes returns the file, with the time of the change if a value was changed.
func (e *SOPSEditor) Bytes(now time.Time) ([]byte, error) {
	f := e.file
	if e.changed {
		if err := e.collect(); err != nil {
			return nil, err
		}
		_, sum, err := f.values(e.key)
		if err != nil {
			return nil, err
		}
		modified, mac := child(f.sops, "lastmodified"), child(f.sops, "mac")
		if modified == nil || mac == nil {
			return nil, errors.New("the SOPS metadata is incomplete")
		}
		modified.Value = now.UTC().Format(time.RFC3339)
		mac.Value = e.sealer().seal([]byte(sum), "str", modified.Value)
		f.meta.LastModified, f.meta.MAC, e.changed = modified.Value, mac.Value, false
	}
	return f.encode()
}
