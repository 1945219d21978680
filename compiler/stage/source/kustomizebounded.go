package source

import (
	"bytes"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxNested limits the nesting of YAML in strings that is measured.
const maxNested = 4

// smallExpanded reports whether the YAML stays small when kustomize expands its
// aliases, including YAML in strings, such as patches. Invalid YAML is small.
func smallExpanded(data []byte) bool { return within(data, maxNested) }

func within(data []byte, nested int) bool {
	if !bytes.ContainsRune(data, '&') || !bytes.ContainsRune(data, '*') {
		return true
	}
	total := 0
	for doc, err := range fleet.YAMLDocuments(data) {
		if err != nil {
			return true
		}
		total += fleet.ExpandedYAMLSize(doc, func(text string) bool {
			return nested > 0 && strings.Contains(text, "*") && !within([]byte(text), nested-1)
		})
		if total > fleet.MaxExpandedYAML {
			return false
		}
	}
	return true
}
