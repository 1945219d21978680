package validate

import "encoding/json"

// text returns the fields of the CRD that matter for validation as JSON: its
// name, its approval and its spec, without descriptions. Equal CRDs have equal
// texts. problem is an exceeded limit.
func (d *definition) text() (text []byte, problem string) {
	meta := map[string]any{"name": d.object.GetName()}
	if v, ok := d.object.GetAnnotations()[approval]; ok {
		meta["annotations"] = map[string]any{approval: v}
	}
	m := meter{inSchema: true}
	text, err := json.Marshal(m.normalize(map[string]any{
		"apiVersion": definitionVersion, "kind": definitionKind, "metadata": meta, "spec": d.object.Object["spec"],
	}, 0))
	if err != nil && m.problem == "" {
		m.problem = notJSON
	}
	return text, m.problem
}
