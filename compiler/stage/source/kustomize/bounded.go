package kustomize

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/blockyaml"
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
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	total := 0
	for {
		var doc yaml.Node
		if err := decoder.Decode(&doc); err != nil {
			return true
		}
		total += blockyaml.ExpandedSize(&doc, func(text string) bool {
			return nested > 0 && strings.Contains(text, "*") && !within([]byte(text), nested-1)
		})
		if total > blockyaml.MaxExpanded {
			return false
		}
	}
}
