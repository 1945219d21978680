package edit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// parsePaths parses paths of releases and values. A path at which no layer sets a literal is
// a fault.
func (t *tree) parsePaths(texts []string) ([][]string, error) {
	var out [][]string
	var faults diag.List
	for _, text := range texts {
		path, ok := fleet.ParseField(text)
		switch {
		case !ok:
			faults.Add(&diag.Diag{
				Code: diag.CodeFieldPath,
				Msg:  fmt.Sprintf("malformed path %s", diag.Visible(text, diag.MaxText)),
				Hint: `write it as in releases.web.values.image.tag, or releases.web.values."a.b" for a key with a dot`,
			})
		case path[0] != releasesField || len(path) == 1 || len(path) >= prefixLength && path[2] != valuesField:
			faults.Add(&diag.Diag{
				Code: diag.CodeFieldPath,
				Msg:  fmt.Sprintf("%s is not the path of a release or of its values", diag.Visible(text, diag.MaxText)),
				Hint: "write it as in releases.web, or releases.web.values.replicas",
			})
		default:
			faults.Add(t.checkPath(text, path))
			out = append(out, path)
		}
	}
	return out, faults.Err()
}

// checkPath returns a fault for a path at which no layer sets a literal.
func (t *tree) checkPath(text string, path []string) error {
	all := t.paths()
	if slices.ContainsFunc(all, func(p []string) bool { return isBelow(p, path) }) {
		return nil
	}
	var names []string
	for _, p := range all {
		if len(p) >= len(path) {
			name := pathText(p[:len(path)])
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return &diag.Diag{
		Code: diag.CodeNoMatch,
		Msg:  "no layer sets literal values at " + text,
		Hint: cmp.Or(diag.DidYouMean(text, names), "see where values are set with fleetc explain CLUSTER "+diag.Visible(text, diag.MaxText)),
	}
}

// paths returns the paths of literal values of all layers, each once, as explain has them.
func (t *tree) paths() [][]string {
	var out [][]string
	seen := map[string]bool{}
	for _, l := range t.layers {
		l.settings.leaves(nil, func(path []string) {
			path = slices.Clone(path)
			path[prefixLength-1] = valuesField
			if key := strings.Join(path, "\x00"); !seen[key] {
				seen[key] = true
				out = append(out, path)
			}
		})
	}
	return out
}

// pathText returns a path as parsePaths takes it.
func pathText(path []string) string {
	keys := make([]string, len(path))
	for i, key := range path {
		if keys[i] = key; key == "" || strings.ContainsAny(key, `."[] `) {
			keys[i] = strconv.Quote(key)
		}
	}
	return strings.Join(keys, ".")
}

// LiftPaths returns the paths of releases and values that lift takes, for completion.
func LiftPaths(c *compiler.Compiler) ([]string, error) {
	t, err := readTree(c)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, path := range t.paths() {
		seen[pathText(path[:2])] = true
		seen[pathText(path)] = true
	}
	return slices.Sorted(maps.Keys(seen)), nil
}
