package fleet

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// FieldPosition returns the line and column of a field in a YAML document: of
// the value for a scalar, and of the key for other fields.
func FieldPosition(text string, field []string) (line, col int, ok bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		return 0, 0, false
	}
	at, place := doc.Content[0], doc.Content[0]
	for _, key := range field {
		if at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		var next *yaml.Node
		switch at.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(at.Content); i += 2 {
				if at.Content[i].Value == key {
					place, next = at.Content[i], at.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(at.Content) {
				next = at.Content[i]
				place = next
			}
		}
		if next == nil {
			return 0, 0, false
		}
		at = next
	}
	if at.Kind == yaml.ScalarNode && at.Line > 0 {
		place = at
	}
	return place.Line, place.Column, true
}
