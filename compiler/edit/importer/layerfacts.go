package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// reference returns the parts of a text that is equal for all clusters when facts of the
// cluster are replaced; nil when there is none.
func (d *divider) reference(ids []string, of map[string]*Node) []string {
	texts := map[string]string{}
	for _, id := range ids {
		text, ok := of[id].Scalar.(string)
		if !ok || of[id].Parts != nil || fleet.MayRefer(text) {
			return nil
		}
		texts[id] = text
	}
	usable := diag.Filter(slices.Sorted(maps.Keys(d.known[ids[0]])), func(name string) bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return len(d.known[id][name]) < 2 })
	})
	if len(usable) > 0 && usable[0] == "" { // the name of the cluster: facts say more
		usable = append(usable[1:], "")
	}
	for _, names := range append(slices.Collect(slices.Chunk(usable, 1)), usable) {
		if parts := d.common(ids, texts, names); parts != nil {
			return parts
		}
	}
	return nil
}

// common returns the parts of the texts with the values of some facts replaced, when
// they are equal.
func (d *divider) common(ids []string, texts map[string]string, names []string) []string {
	var first []string
	for i, id := range ids {
		parts := replaceFacts(texts[id], d.known[id], names)
		if i == 0 {
			first = parts
		}
		if !slices.Equal(first, parts) || len(parts) < 3 {
			return nil
		}
	}
	return first
}

// replaceFacts divides a text at the values of facts: texts at even indexes, names of
// facts at odd ones. The longest value is used.
func replaceFacts(text string, values map[string]string, names []string) []string {
	parts, plain := []string{}, ""
	for text != "" {
		best, found := "", false // the name of the cluster has an empty name
		for _, name := range names {
			if v := values[name]; strings.HasPrefix(text, v) && (!found || len(v) > len(values[best])) {
				best, found = name, true
			}
		}
		if !found {
			plain, text = plain+text[:1], text[1:]
			continue
		}
		parts, plain, text = append(parts, plain, best), "", text[len(values[best]):]
	}
	return append(parts, plain)
}
