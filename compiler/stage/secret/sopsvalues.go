package secret

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

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
