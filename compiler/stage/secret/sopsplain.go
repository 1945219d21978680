package secret

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SOPSFormat is the form of a file, as far as it concerns encryption.
type SOPSFormat int

const (
	NotSOPS     SOPSFormat = iota // without metadata of SOPS
	TreeFormat                    // encrypted by SOPS, as YAML or JSON
	OtherFormat                   // encrypted by SOPS, as ENV or INI
)

// SOPSFormatOf returns the form of a file.
func SOPSFormatOf(data []byte) SOPSFormat {
	for _, document := range documentsOf(data) {
		if child(document, "sops") != nil {
			return TreeFormat
		}
	}
	if otherFormat.Match(data) {
		return OtherFormat
	}
	return NotSOPS
}

// ageRecipient matches an age recipient in the metadata of a SOPS file as ENV or INI.
var ageRecipient = regexp.MustCompile(`(?m)^(?:sops_)?age__list_[0-9]+__map_recipient\s*=\s*(\S+)`)

// OtherRecipients returns the age recipients of a file in [OtherFormat], sorted.
func OtherRecipients(data []byte) []string {
	out := diag.Each(ageRecipient.FindAllSubmatch(data, -1), func(m [][]byte) string { return string(m[1]) })
	slices.Sort(out)
	return out
}

// NamesFiles reports whether the rule is for files with certain paths, and not for all.
func (r *SOPSRule) NamesFiles() bool { return r.paths != nil }

// Encrypts reports whether sops would encrypt a value of a file in plain text by the rule.
func (r *SOPSRule) Encrypts(data []byte) bool {
	if r.keys == nil && r.suffix == "" {
		return len(bytes.TrimSpace(data)) > 0
	}
	return slices.ContainsFunc(documentsOf(data), r.encryptsBelow)
}

// encryptsBelow reports whether a key below a node has values that the rule encrypts.
func (r *SOPSRule) encryptsBelow(n *yaml.Node) bool {
	for i, e := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && r.encryptsKey(e.Value) && !isEmpty(n.Content[i+1]) || r.encryptsBelow(e) {
			return true
		}
	}
	return false
}

func (r *SOPSRule) encryptsKey(key string) bool {
	if r.suffix != "" {
		return strings.HasSuffix(key, r.suffix)
	}
	return r.keys.MatchString(key)
}

// documentsOf returns the top nodes of the documents of a YAML or JSON file; none for
// another file.
func documentsOf(data []byte) []*yaml.Node {
	var out []*yaml.Node
	if len(data) > maxSize {
		return nil
	}
	for document, err := range fleet.YAMLDocuments(data) {
		if err == nil && len(document.Content) > 0 {
			out = append(out, document.Content[0])
		}
	}
	return out
}

// Values returns the values of the file without the metadata of SOPS. The result of secret
// takes the place of each encrypted value: key is its path as in [SOPSFile.EncryptedKeys], and
// kind the type that SOPS wrote, such as str, int or bool.
func (f *SOPSFile) Values(secret func(key, kind string) any) (map[string]any, error) {
	leaves := make(map[*yaml.Node]leaf, len(f.leaves))
	for _, l := range f.leaves {
		leaves[l.node] = l
	}
	var valueOf func(n *yaml.Node) (any, error)
	valueOf = func(n *yaml.Node) (any, error) {
		switch n.Kind {
		case yaml.MappingNode:
			out := make(map[string]any, len(n.Content)/2)
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n == f.top && n.Content[i+1] == f.sops {
					continue
				}
				v, err := valueOf(n.Content[i+1])
				if err != nil {
					return nil, err
				}
				out[n.Content[i].Value] = v
			}
			return out, nil
		case yaml.SequenceNode:
			out := []any{}
			for _, e := range elements(n) {
				v, err := valueOf(e)
				if err != nil {
					return nil, err
				}
				out = append(out, v)
			}
			return out, nil
		}
		if l := leaves[n]; l.encrypted && isEncrypted(n) {
			return secret(l.field, encryptedValue.FindStringSubmatch(n.Value)[4]), nil
		}
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, &diag.Diag{Code: diag.CodeSOPSFile, At: []diag.Pos{f.pos(n)}, Msg: fmt.Sprintf("the value is not valid: %s", diag.Brief(err)), Hint: "correct it with sops edit " + f.name}
		}
		return v, nil
	}
	out, err := valueOf(f.top)
	values, _ := out.(map[string]any)
	return values, err
}
