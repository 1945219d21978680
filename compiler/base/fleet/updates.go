package fleet

import (
	"cmp"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Updates says which updates of charts and images are proposed together.
type Updates struct {
	ByEnvironment bool
	Patches       bool             // whether all changes of the patch version are one group
	Groups        []UpdateSelector // sorted by name
	Ignore        []UpdateSelector // left out; sorted by name
	MaxBranches   int              // 0 for no limit
	Pos           diag.Pos
}

// An UpdateSelector selects updates of charts and images.
type UpdateSelector struct {
	Name           string
	Charts, Images []UpdatePattern
	Reason         string   // why updates are left out
	Until          string   // the last day on which updates are left out; empty for no end
	Pos            diag.Pos // position of the selector
}

// An UpdatePattern is a pattern of a selector, see [path.Match].
type UpdatePattern struct {
	Text string
	Path string // in the configuration
	Pos  diag.Pos
}

// UpdateKind says what a pattern is for.
type UpdateKind string

// The kinds of patterns.
const (
	UpdateCharts UpdateKind = "charts"
	UpdateImages UpdateKind = "images"
)

// Patterns returns all patterns of a kind.
func (u *Updates) Patterns(kind UpdateKind) []UpdatePattern {
	var out []UpdatePattern
	for _, s := range slices.Concat(u.Groups, u.Ignore) {
		if kind == UpdateCharts {
			out = append(out, s.Charts...)
		} else {
			out = append(out, s.Images...)
		}
	}
	return out
}

// Check says whether the pattern matches a name. msg is the beginning of the fault if it
// matches none in any cluster.
func (p UpdatePattern) Check(names []string, match func(pattern, name string) bool, msg string) RuleCheck {
	c := RuleCheck{Path: p.Path, Pos: p.Pos, Holds: slices.ContainsFunc(names, func(name string) bool { return match(p.Text, name) })}
	if !c.Holds {
		c.setFault(msg+diag.Visible(p.Text, diag.MaxText), cmp.Or(diag.OneOf(p.Text, names), "correct the pattern, or remove it"), diag.Respell(p.Text, names))
	}
	return c
}

// Has reports whether the selector selects the chart or image of the name.
func (s *UpdateSelector) Has(kind UpdateKind, name string) bool {
	patterns, match := s.Charts, MatchChart
	if kind == UpdateImages {
		patterns, match = s.Images, MatchImage
	}
	return slices.ContainsFunc(patterns, func(p UpdatePattern) bool { return match(p.Text, name) })
}

// MatchChart reports whether a pattern matches the name of a chart.
func MatchChart(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// MatchImage reports whether a pattern matches the repository of an image, or its last part.
func MatchImage(pattern, repository string) bool {
	return MatchChart(pattern, repository) || MatchChart(pattern, path.Base(repository))
}

// ChartName returns the name of a chart, without its repository.
func (r ChartRef) ChartName() string {
	switch {
	case r.Git.URL != "":
		return path.Base(path.Join(r.Git.URL, r.Git.Path))
	case r.Path != "":
		return path.Base(r.Path)
	}
	return r.Name
}
