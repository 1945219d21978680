package importer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// compare marks the releases with values, objects or patches that templates compute from
// secrets: those that differ in the second evaluation by more than the references.
func (e *environmentRun) compare(other *environmentRun) {
	for _, d := range e.found {
		if d.out == nil {
			continue
		}
		e.noteDecisions(d)
		i := slices.IndexFunc(other.found, func(o *helmfileRelease) bool { return o.out != nil && o.out.Name == d.out.Name })
		if i >= 0 && !hasComputed(d.out.Nodes(), other.found[i].out.Nodes()) {
			continue
		}
		if len(e.cluster.Secrets) > 0 {
			e.note(d.at("values"), d.title(), "values", "a value is computed from an encrypted one, or is an encrypted number or bool: make the result a secret, see docs/secrets.md")
		}
		d.out.Unproven = cmp.Or(d.out.Unproven, "its values depend on encrypted values")
	}
}

// computedText is in place of a text that a template computes from a secret: the text itself
// would be computed from the reference.
const computedText = "${computed from a secret}"

// hasComputed reports whether nodes differ from those of the second evaluation. It replaces
// differing strings that have no whole reference and no placeholder.
func hasComputed(first, second []*Node) bool {
	found := len(first) != len(second)
	for i := range min(len(first), len(second)) {
		found = isComputed(first[i], second[i]) || found
	}
	return found
}

// isComputed is [hasComputed] for one node.
func isComputed(n, second *Node) bool {
	if n == nil || second == nil || n.IsMap != second.IsMap || n.IsList != second.IsList || len(n.Fields) != len(second.Fields) {
		return n != second
	}
	found := hasComputed(n.List, second.List)
	for _, f := range n.Fields {
		found = isComputed(f.Value, second.Get(f.Key)) || found
	}
	text, ok := n.Scalar.(string)
	if !ok {
		return found || n.Scalar != second.Scalar
	}
	if second.Scalar == fleet.MapReferences(text, secondName) {
		return found
	}
	hasPlaceholder := len(fleet.References(text)) > 0 || strings.Contains(text, "${")
	if !hasPlaceholder || fleet.HasDamagedReference(text) {
		n.Scalar = computedText
	}
	return true
}
