package secret

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Limits of a file.
const (
	maxSize   = 4 << 20 // bytes
	maxDepth  = 100
	maxValues = 20_000
)

// A SOPSFile is a SOPS file that is not decrypted.
type SOPSFile struct {
	name   string
	leaves []leaf // in the order of the file
	meta   metadata

	text      []byte
	top, sops *yaml.Node // the tree, and its map sops
}

// A leaf is a scalar of the tree outside of the map sops.
type leaf struct {
	field     string   // path, see [fleet.FieldText]
	keys      []string // path without list indices, which SOPS authenticates
	node      *yaml.Node
	encrypted bool // whether the rules of the file say so
}

// metadata is the map sops of a file.
type metadata struct {
	Age []struct {
		Recipient string `yaml:"recipient"`
		Enc       string `yaml:"enc"`
	} `yaml:"age"`
	KMS       []any `yaml:"kms"`
	GCP       []any `yaml:"gcp_kms"`
	HCKMS     []any `yaml:"hckms"`
	Azure     []any `yaml:"azure_kv"`
	Vault     []any `yaml:"hc_vault"`
	PGP       []any `yaml:"pgp"`
	KeyGroups []any `yaml:"key_groups"`

	Threshold        int    `yaml:"shamir_threshold"`
	LastModified     string `yaml:"lastmodified"`
	MAC              string `yaml:"mac"`
	Version          string `yaml:"version"`
	MACOnlyEncrypted bool   `yaml:"mac_only_encrypted"`

	UnencryptedSuffix string `yaml:"unencrypted_suffix"`
	EncryptedSuffix   string `yaml:"encrypted_suffix"`
	UnencryptedRegex  string `yaml:"unencrypted_regex"`
	EncryptedRegex    string `yaml:"encrypted_regex"`
	UnencryptedNotes  string `yaml:"unencrypted_comment_regex"`
	EncryptedNotes    string `yaml:"encrypted_comment_regex"`
}

// encryptedValue matches a value that SOPS has encrypted.
var encryptedValue = regexp.MustCompile(`^ENC\[AES256_GCM,data:([A-Za-z0-9+/=]*),iv:([A-Za-z0-9+/=]+),tag:([A-Za-z0-9+/=]+),type:(str|int|float|bool|bytes|comment|time)\]$`)

// otherFormat matches the metadata of a SOPS file in the formats ENV and INI.
var otherFormat = regexp.MustCompile(`(?m)^(sops_mac=|\[sops\]$)`)

func otherFormatFault(name string) error {
	return &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{{File: name}}, Msg: "the file is encrypted by SOPS as ENV or INI", Hint: "write its values as YAML or JSON, and encrypt that"}
}

// ParseSOPS reads a SOPS file in YAML or JSON. name is its path for positions. The error has a
// fault for a file that SOPS has not encrypted, and for each value in plain text that the
// rules of the file encrypt.
func ParseSOPS(name string, data []byte) (*SOPSFile, error) {
	if len(data) > maxSize {
		return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{{File: name}}, Msg: fmt.Sprintf("the file is larger than %d MiB", maxSize>>20), Hint: "split it"}
	}
	if len(bytes.TrimSpace(data)) == 0 { // as after sops encrypt FILE > NAME with a fault
		return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{{File: name}}, Msg: "the file is empty", Hint: "encrypt it again: sops encrypt --filename-override " + name + " FILE > " + name}
	}
	f := &SOPSFile{name: name, text: data}
	var root yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&root); err != nil || len(root.Content) == 0 {
		if otherFormat.Match(data) {
			return nil, otherFormatFault(name)
		}
		return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{{File: name}}, Msg: "the file is not valid YAML or JSON", Hint: "encrypt a YAML or JSON file with sops", Cause: err}
	}
	var next yaml.Node
	if decoder.Decode(&next) == nil && len(next.Content) > 0 {
		return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(next.Content[0])}, Msg: "the file has several documents", Hint: "write one document for each file of secrets"}
	}
	top := root.Content[0]
	sops := child(top, "sops")
	if sops == nil && otherFormat.Match(data) {
		return nil, otherFormatFault(name)
	}
	if sops == nil && bytes.Contains(data, []byte("ENC[AES256_GCM,data:")) {
		return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(top)}, Msg: "the file has encrypted values but no SOPS metadata", Hint: "restore it from version control: without the metadata it cannot be decrypted"}
	}
	if top.Kind != yaml.MappingNode || sops == nil {
		return nil, &diag.Diag{
			Code: diag.CodePlainText,
			At:   []diag.Pos{f.pos(top)}, Msg: "the file is not encrypted: it has no SOPS metadata",
			Hint: "encrypt it: sops encrypt --in-place " + name + "; replace values that were committed in plain text",
		}
	}
	f.top, f.sops = top, sops
	if err := sops.Decode(&f.meta); err != nil {
		return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(sops)}, Msg: "the SOPS metadata is not valid", Hint: "restore the file from version control, or encrypt it again", Cause: err}
	}
	if err := f.collect(top); err != nil {
		return nil, err
	}
	return f, f.check(sops)
}

func (f *SOPSFile) pos(n *yaml.Node) diag.Pos {
	return diag.Pos{File: f.name, Line: n.Line, Col: n.Column}
}

// child returns the value of a key of a map; nil when there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// collect adds the leaves of the tree, without the map sops.
func (f *SOPSFile) collect(top *yaml.Node) error {
	rules, err := f.rules()
	if err != nil {
		return err
	}
	var walk func(n *yaml.Node, field, keys []string) error
	walk = func(n *yaml.Node, field, keys []string) error {
		switch {
		case n.Kind == yaml.AliasNode:
			return &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(n)}, Msg: "SOPS does not support aliases", Hint: "write the value instead of the alias"}
		case len(field) > maxDepth || len(f.leaves) > maxValues:
			return &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(n)}, Msg: fmt.Sprintf("the file has more than %d values or %d levels", maxValues, maxDepth), Hint: "split it"}
		case n.Kind == yaml.MappingNode:
			seen := make(map[string]bool, len(n.Content)/2)
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i].Value
				if n.Content[i].Kind != yaml.ScalarNode || n.Content[i].ShortTag() != "!!str" {
					return &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(n.Content[i])}, Path: fleet.FieldText(field), Msg: "the key " + diag.Visible(key, diag.MaxText) + " is not a string, which sops cannot read", Hint: "write it in quotes"}
				}
				if seen[key] {
					return &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(n.Content[i])}, Path: fleet.FieldText(append(slices.Clone(field), key)), Msg: "duplicate key", Hint: "remove one of them with sops edit " + f.name}
				}
				seen[key] = true
				if len(field) == 0 && key == "sops" {
					continue
				}
				if err := walk(n.Content[i+1], append(slices.Clone(field), key), append(slices.Clone(keys), key)); err != nil {
					return err
				}
			}
		case n.Kind == yaml.SequenceNode:
			for i, e := range elements(n) {
				if err := walk(e, append(slices.Clone(field), fmt.Sprint(i)), keys); err != nil {
					return err
				}
			}
		case isComment(n):
		default:
			encrypted := rules(keys)
			if f.hasCommentRules() {
				encrypted = isEncrypted(n)
			}
			f.leaves = append(f.leaves, leaf{fleet.FieldText(field), keys, n, encrypted})
		}
		return nil
	}
	return walk(top, nil, nil)
}

// elements returns the elements of a list. SOPS writes encrypted comments of lists as
// elements, too, which are left out.
func elements(list *yaml.Node) []*yaml.Node {
	return slices.DeleteFunc(slices.Clone(list.Content), isComment)
}

// isComment reports whether a value is an encrypted comment.
func isComment(n *yaml.Node) bool {
	return strings.HasSuffix(n.Value, ",type:comment]") && isEncrypted(n)
}

// isEncrypted reports whether a value has the form of one that SOPS has encrypted.
func isEncrypted(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && encryptedValue.MatchString(n.Value)
}

// hasCommentRules reports whether comments decide which values are encrypted.
func (f *SOPSFile) hasCommentRules() bool {
	return f.meta.UnencryptedNotes != "" || f.meta.EncryptedNotes != ""
}

// rules returns a function that reports whether the value at a path is encrypted.
func (f *SOPSFile) rules() (func(keys []string) bool, error) {
	m := f.meta
	var plain, secret *regexp.Regexp
	for text, into := range map[string]**regexp.Regexp{m.UnencryptedRegex: &plain, m.EncryptedRegex: &secret} {
		if text == "" {
			continue
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{{File: f.name}}, Msg: "the SOPS metadata has an invalid regular expression: " + diag.Brief(err), Hint: "encrypt the file again"}
		}
		*into = re
	}
	hasSuffix := func(suffix string) func(string) bool {
		return func(key string) bool { return strings.HasSuffix(key, suffix) }
	}
	return func(keys []string) bool {
		switch {
		case m.EncryptedSuffix != "":
			return slices.ContainsFunc(keys, hasSuffix(m.EncryptedSuffix))
		case secret != nil:
			return slices.ContainsFunc(keys, secret.MatchString)
		case m.UnencryptedSuffix != "" && slices.ContainsFunc(keys, hasSuffix(m.UnencryptedSuffix)):
			return false
		}
		return plain == nil || !slices.ContainsFunc(keys, plain.MatchString)
	}, nil
}

// check returns the faults of the metadata and of values in plain text.
func (f *SOPSFile) check(sops *yaml.Node) error {
	var faults diag.List
	wrong := func(msg string) {
		faults.Add(&diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(sops)}, Msg: "the SOPS metadata " + msg, Hint: "restore the file from version control, or encrypt it again with sops"})
	}
	switch {
	case !encryptedValue.MatchString(f.meta.MAC):
		wrong("has no checksum (mac)")
	case f.meta.LastModified == "":
		wrong("has no time of the last change (lastmodified)")
	case len(f.meta.Age) == 0 && len(f.OtherKeys()) == 0:
		wrong("names no recipient")
	}
	if f.hasCommentRules() {
		return faults.Err()
	}
	for _, l := range f.leaves {
		if isEmpty(l.node) || !l.encrypted || isEncrypted(l.node) {
			continue
		}
		faults.Add(&diag.Diag{
			Code: diag.CodePlainText,
			At:   []diag.Pos{f.pos(l.node)}, Path: l.field, Msg: "the value is in plain text",
			Hint: "replace it, since everyone who reads the repository knows it, and set the new value with sops edit " + f.name,
		})
	}
	return faults.Err()
}

// isEmpty reports whether SOPS leaves a value as it is: null and the empty string.
func isEmpty(n *yaml.Node) bool {
	return n.ShortTag() == "!!null" || n.Value == "" && n.ShortTag() == "!!str"
}

// Keys returns the paths of all values, sorted. Paths are as in [fleet.FieldText].
func (f *SOPSFile) Keys() []string {
	out := diag.Each(f.leaves, func(l leaf) string { return l.field })
	slices.Sort(out)
	return out
}

// EncryptedKeys returns the paths of the encrypted values, sorted.
func (f *SOPSFile) EncryptedKeys() []string {
	var out []string
	for _, l := range f.leaves {
		if l.encrypted && !isEmpty(l.node) {
			out = append(out, l.field)
		}
	}
	slices.Sort(out)
	return out
}

// find returns the value at a path.
func (f *SOPSFile) find(path string) (leaf, bool) {
	text := normalized(path)
	i := slices.IndexFunc(f.leaves, func(l leaf) bool { return l.field == text })
	if i < 0 {
		return leaf{}, false
	}
	return f.leaves[i], true
}

// normalized returns a path as [fleet.FieldText] writes it; the path itself if it is not
// valid.
func normalized(path string) string {
	if field, ok := fleet.ParseField(path); ok {
		return fleet.FieldText(field)
	}
	return path
}

// Has reports whether the file has a value at a path.
func (f *SOPSFile) Has(path string) bool {
	_, ok := f.find(path)
	return ok
}

// IsEncrypted reports whether the value at a path is encrypted. SOPS leaves an empty text as
// it is, also where it encrypts.
func (f *SOPSFile) IsEncrypted(path string) bool {
	l, ok := f.find(path)
	return ok && l.encrypted && l.node.ShortTag() != "!!null"
}

// Ciphertext returns the encrypted value at a path, which changes when the value changes.
func (f *SOPSFile) Ciphertext(path string) string {
	l, ok := f.find(path)
	if !ok {
		return ""
	}
	return l.node.Value
}

// Recipients returns the age recipients of the file, sorted.
func (f *SOPSFile) Recipients() []string {
	var out []string
	for _, a := range f.meta.Age {
		out = append(out, a.Recipient)
	}
	slices.Sort(out)
	return out
}

// LastModified returns the time of the last change of the file, RFC 3339.
func (f *SOPSFile) LastModified() string { return f.meta.LastModified }

// OtherKeys names the services and programs other than age that can decrypt the file.
func (f *SOPSFile) OtherKeys() []string {
	m := f.meta
	var out []string
	for _, k := range []struct {
		name string
		of   []any
	}{{"AWS KMS", m.KMS}, {"GCP KMS", m.GCP}, {"HuaweiCloud KMS", m.HCKMS}, {"Azure Key Vault", m.Azure}, {"HashiCorp Vault", m.Vault}, {"PGP", m.PGP}, {"key groups", m.KeyGroups}} {
		if len(k.of) > 0 {
			out = append(out, k.name)
		}
	}
	return out
}

// sopsKeysOf returns the age recipients and the names of other keys in the metadata of an object
// that SOPS encrypted, as [SOPSFile.Recipients] and [SOPSFile.OtherKeys] do.
func sopsKeysOf(object map[string]any) (recipients, others []string, err error) {
	var f SOPSFile
	text, err := yaml.Marshal(object["sops"])
	if err == nil {
		err = yaml.Unmarshal(text, &f.meta)
	}
	return f.Recipients(), f.OtherKeys(), err
}

// ErrNoIdentity is the cause of a fault when no identity can decrypt a file.
var ErrNoIdentity = errors.New("no age key fits")

// SamePath reports whether two paths name the same value.
func SamePath(a, b string) bool { return normalized(a) == normalized(b) }
