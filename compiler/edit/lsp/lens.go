package lsp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// codeLens is a text above a line. Its command does nothing.
type codeLens struct {
	Range   textRange `json:"range"`
	Command command   `json:"command"`
}

// codeLens returns a lens for each release of a document: its charts with their versions, a
// newer version that another cluster of the fleet has, and its clusters. It does not use the
// network.
func (s *server) codeLens(ctx context.Context, p positionParams) (any, error) {
	cur := s.cursorAt(p.TextDocument.URI, position{})
	if cur == nil {
		return nil, nil //nolint:nilnil // the result of a request is null
	}
	snap, err := s.snapshot(ctx, cur.root)
	if err != nil || snap == nil {
		return nil, err
	}
	q := &question{cursor: cur, snapshot: snap}
	clusters := snap.below(q.scope())
	out, seen := []codeLens{}, map[string]bool{}
	eachField(cur.syntax.Decls, nil, func(path []string, f *ast.Field) {
		if len(path) != 2 || path[0] != "releases" || seen[path[1]] {
			return
		}
		seen[path[1]] = true
		if title := snap.releaseTitle(path[1], clusters); title != "" {
			out = append(out, codeLens{nodeRange(cur.text, f.Label), command{Title: title}})
		}
	})
	return out, nil
}

// releaseTitle describes a release in one line; empty when none of the clusters has it.
func (s *snapshot) releaseTitle(name string, clusters []*fleet.Cluster) string {
	count, charts := 0, map[fleet.ChartRef]int{}
	var only string
	for _, c := range clusters {
		if r := c.Release(name); r != nil {
			count++
			only = c.ID
			charts[r.Chart]++
		}
	}
	if count == 0 {
		return ""
	}
	delete(charts, fleet.ChartRef{}) // another source
	refs := slices.SortedFunc(maps.Keys(charts), func(a, b fleet.ChartRef) int {
		return cmp.Or(cmp.Compare(charts[b], charts[a]), strings.Compare(a.String(), b.String()))
	})
	var parts []string
	for _, ref := range refs {
		text := diag.OneLine(ref.String())
		if ref.Version == "" && s.fleet != nil {
			text = strings.TrimRight(text+" "+diag.OneLine(s.fleet.Charts[ref].Metadata().Version), " ")
		}
		if len(refs) > 1 {
			text += fmt.Sprintf(" in %d", charts[ref])
		}
		if newer, in := s.newerThan(ref); newer != "" {
			text += fmt.Sprintf(" (newer: %s in %s)", diag.OneLine(newer), diag.OneLine(in))
		}
		parts = append(parts, text)
	}
	if count == 1 {
		parts = append(parts, diag.OneLine(only))
	} else {
		parts = append(parts, fmt.Sprintf("%d of %d clusters", count, len(clusters)))
	}
	return strings.Join(parts, " · ")
}

// newerThan returns the newest version of a chart in the fleet that is newer, and the first
// cluster that has it.
func (s *snapshot) newerThan(ref fleet.ChartRef) (version, cluster string) {
	newest, err := semver.NewVersion(versionOf(ref))
	if err != nil {
		return "", ""
	}
	for _, c := range s.clusters {
		for _, r := range c.Releases {
			if r.Chart.Location() != ref.Location() || r.Chart == ref {
				continue
			}
			if v, err := semver.NewVersion(versionOf(r.Chart)); err == nil && v.GreaterThan(newest) {
				newest, version, cluster = v, versionOf(r.Chart), c.ID
			}
		}
	}
	return version, cluster
}

func versionOf(ref fleet.ChartRef) string { return cmp.Or(ref.Version, ref.Git.Ref) }
