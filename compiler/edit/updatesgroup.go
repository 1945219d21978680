package edit

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// patchesGroup is the name of the group of all changes of patch versions.
const patchesGroup = "patches"

// A layerClusters is the layer of an environment with some of its clusters.
type layerClusters struct {
	dir      string // below environments; empty for none
	clusters []string
}

// environments divides clusters by the layer below the root. A cluster directly below the
// root is a layer, too. All are in one layer without a directory if the configuration does
// not divide them.
func (f *updateFinder) environments(clusters []string) []layerClusters {
	if !f.config.ByEnvironment {
		return []layerClusters{{clusters: clusters}}
	}
	var out []layerClusters
	for _, id := range clusters {
		dir, _, _ := strings.Cut(id, "/")
		if n := len(out); n == 0 || out[n-1].dir != dir {
			out = append(out, layerClusters{dir: dir})
		}
		last := &out[len(out)-1]
		last.clusters = append(last.clusters, id)
	}
	return out
}

// group divides updates into groups, sorted by name.
func (f *updateFinder) group(updates []Update) ([]*UpdateGroup, error) {
	byName := map[string]*UpdateGroup{}
	var faults diag.List
	for _, u := range updates {
		name, err := f.groupOf(u)
		if faults.Add(err); err != nil {
			continue
		}
		if byName[name] == nil {
			byName[name] = &UpdateGroup{Name: name}
		}
		byName[name].Updates = append(byName[name].Updates, u)
	}
	return diag.Each(slices.Sorted(maps.Keys(byName)), func(name string) *UpdateGroup { return byName[name] }), faults.Err()
}

// groupOf returns the name of the group of an update.
func (f *updateFinder) groupOf(u Update) (string, error) {
	var named []string
	var at []diag.Pos
	for i := range f.config.Groups {
		if s := &f.config.Groups[i]; u.isIn(s) {
			named, at = append(named, s.Name), append(at, s.Pos)
		}
	}
	suffix := ""
	if f.config.ByEnvironment {
		suffix = "-" + slug(u.Layer)
	}
	switch {
	case len(named) > 1:
		return "", &diag.Diag{
			Code: diag.CodeUpdateRule,
			At:   at, Path: "updates.groups." + named[0], Msg: fmt.Sprintf("the groups %s both have the %s %s", strings.Join(named, " and "), u.Kind, diag.Visible(u.Name, diag.MaxText)),
			Hint: "change the patterns of one of them",
		}
	case len(named) == 1:
		return named[0] + suffix, nil
	case f.config.Patches && isPatch(u.From, u.To):
		return patchesGroup + suffix, nil
	case f.config.ByEnvironment:
		return slug(u.Layer), nil
	case len(u.Releases) == 1:
		return slug(u.Releases[0]), nil
	}
	return slug(path.Base(u.Short)), nil
}

// isPatch reports whether only the patch version changes.
func isPatch(from, to string) bool {
	a, err := semver.NewVersion(from)
	b, err2 := semver.NewVersion(to)
	return err == nil && err2 == nil && a.Major() == b.Major() && a.Minor() == b.Minor() && a.Prerelease() == b.Prerelease()
}

var notInSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns a text as part of the name of a branch.
func slug(text string) string {
	const most = 60
	text = strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return cmp.Or(strings.Trim(text[:min(len(text), most)], "-"), "updates")
}

// Title returns the title of a pull request for the group.
func (g *UpdateGroup) Title() string {
	if len(g.Updates) == 1 {
		u := g.Updates[0]
		text := fmt.Sprintf("Update %s %s from %s", u.Kind, path.Base(u.Short), u.Text(" to "))
		if u.Layer != "" {
			text += " in " + u.Layer
		}
		return diag.Visible(text, diag.MaxText)
	}
	counts := map[UpdateKind]int{}
	for _, u := range g.Updates {
		counts[u.Kind]++
	}
	var parts []string
	for _, k := range []UpdateKind{ChartUpdateKind, ImageUpdateKind} {
		switch n := counts[k]; {
		case n == 1:
			parts = append(parts, "1 "+string(k))
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, k))
		}
	}
	return "Update " + g.Name + ": " + strings.Join(parts, " and ")
}

// brief shortens a commit or another long version.
func brief(version string) string {
	const commit, short, most = 40, 12, 60
	if len(version) == commit {
		return version[:short]
	}
	return cmp.Or(diag.Visible(version, most), "no version")
}

// Message returns the message of a commit of the group, without trailers.
func (g *UpdateGroup) Message() string {
	const subject, most = 72, 100
	title := g.Title()
	if len(title) > subject {
		title = "Update " + g.Name
	}
	var b strings.Builder
	b.WriteString(title + "\n\n")
	for i, u := range g.Updates {
		if i == most {
			fmt.Fprintf(&b, "and %d more\n", len(g.Updates)-most)
			break
		}
		fmt.Fprintf(&b, "%s %s: %s%s\n", u.Kind, diag.Visible(u.Short, diag.MaxText), u.Text(" -> "), inLayer(u.Layer))
	}
	return b.String()
}

func inLayer(layer string) string {
	if layer == "" {
		return ""
	}
	return " in " + diag.Visible(layer, diag.MaxText)
}
