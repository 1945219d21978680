package lsp

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// release returns the text about a release: its charts and clusters, and its sources, namespaces
// and stages by cluster. It is empty if no cluster has the release.
func (q *question) release() string {
	title := q.releaseTitle(q.field[1], q.below(q.scope()))
	if title == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\n", codeSpan(fleet.FieldText(q.field)), escaped(title))
	for _, name := range []string{"jsonnet", "kustomize", "manifests", "namespace", "stage"} {
		groups, _ := q.groups(q.scope(), append(q.field[:2:2], name))
		for i, g := range groups {
			if i == maxListed {
				fmt.Fprintf(&b, "- %s: and %d more values\n", name, len(groups)-i)
				break
			}
			if g.isSet {
				fmt.Fprintf(&b, "- %s: %s in %s\n", name, codeSpan(g.text), clustersText(g.clusters, fleet.IDs(q.clusters)))
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
