package edit

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// ReleaseNotes has the release notes of a new version. All texts are untrusted.
type ReleaseNotes struct {
	Name    string   `json:"name"` // of the chart or the repository of the image
	Version string   `json:"version"`
	Changes []string `json:"changes,omitempty"` // of the annotation artifacthub.io/changes
	TooLong bool     `json:"tooLong,omitempty"` // whether the list of changes is too long to read
	Links   []string `json:"links,omitempty"`   // https addresses, at most five
}

const (
	maxChangesText = 64 << 10 // bytes of the annotation
	maxChanges     = 50
	maxLinks       = 5
	maxImageNotes  = 20 // images of a group whose annotations are read
)

// notes returns what the new versions of a group say about their changes.
func (f *updateFinder) notes(ctx context.Context, g *UpdateGroup, moves []Move, after State) []ReleaseNotes {
	var out []ReleaseNotes
	for _, m := range moves {
		ch, ok := after.Charts[m.To]
		if !ok || slices.ContainsFunc(out, func(n ReleaseNotes) bool { return n.Name == m.To.Location() && n.Version == m.NewVersion }) {
			continue
		}
		n := chartNotes(ch.Chart)
		n.Name, n.Version = m.To.Location(), m.NewVersion
		if n.TooLong || len(n.Links)+len(n.Changes) > 0 {
			out = append(out, n)
		}
	}
	asked := 0
	for _, u := range g.Updates {
		if u.Kind != ImageUpdateKind || asked == maxImageNotes || slices.ContainsFunc(out, func(n ReleaseNotes) bool { return n.Name == u.Name && n.Version == u.To }) {
			continue
		}
		asked++
		// Images without annotations are common, and notes are not worth a fault.
		at, err := f.client.Source(ctx, fleet.FullImageName(u.Name), u.To)
		if links := safeLinks(at); err == nil && len(links) > 0 {
			out = append(out, ReleaseNotes{Name: u.Name, Version: u.To, Links: links})
		}
	}
	slices.SortFunc(out, func(a, b ReleaseNotes) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return out
}

// chartNotes reads the notes in the Chart.yaml of a chart.
func chartNotes(ch *fleet.Chart) ReleaseNotes {
	meta := ch.Metadata()
	n := ReleaseNotes{Links: safeLinks(append([]string{meta.Home}, meta.Sources...)...)}
	text := meta.Annotations["artifacthub.io/changes"]
	if n.TooLong = len(text) > maxChangesText; n.TooLong {
		return n
	}
	var list []any
	_ = yaml.Unmarshal([]byte(text), &list)
	for _, one := range list[:min(len(list), maxChanges)] {
		switch one := one.(type) {
		case string:
			n.Changes = append(n.Changes, one)
		case map[string]any:
			text, _ := one["description"].(string)
			if kind, ok := one["kind"].(string); ok {
				text = kind + ": " + text
			}
			n.Changes = append(n.Changes, text)
		}
	}
	return n
}

// safeLink matches addresses that need no escape in Markdown, HTML and terminals.
var safeLink = regexp.MustCompile(`^https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9./~+,=-]*(_[A-Za-z0-9./~+,=-]+)*)?$`)

// safeLinks returns those of the addresses that are safe to show as links.
func safeLinks(addresses ...string) []string {
	const most = 200
	var out []string
	for _, at := range addresses {
		if len(at) > most || !safeLink.MatchString(at) || slices.Contains(out, at) {
			continue
		}
		if out = append(out, at); len(out) == maxLinks {
			break
		}
	}
	return out
}
