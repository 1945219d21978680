package render

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// UsedAPIs are the API versions of a cluster on which the output of templates may depend.
// They may be more than it depends on, and never less.
type UsedAPIs struct {
	All   bool     // any
	Names []string // otherwise, these
}

// UsedAPIsOf returns the API versions that the templates of a chart and its dependencies
// use.
func UsedAPIsOf(ch *fleet.Chart) UsedAPIs {
	var all UsedAPIs
	for _, f := range ch.Files {
		switch {
		case strings.HasSuffix(f.Name, ".tgz"): // a dependency, which is not unpacked here
			return UsedAPIs{All: true}
		case bytes.Contains(f.Data, []byte("Capabilities")):
			all = all.And(UsedAPIsIn(string(f.Data)))
		}
	}
	return all
}

// UsedAPIsIn returns the API versions in a text, which a chart may evaluate as a
// template, such as an argument of tpl.
func UsedAPIsIn(text string) UsedAPIs {
	const capabilities, versions, longest = "Capabilities", ".APIVersions", 200
	var names []string
	for at := 0; ; {
		n := strings.Index(text[at:], capabilities)
		if n < 0 {
			return UsedAPIs{Names: names}
		}
		before, after := text[:at+n], text[at+n+len(capabilities):]
		at += n + len(capabilities)
		if before == "" || !strings.ContainsRune(".\"`", rune(before[len(before)-1])) {
			continue // neither a field nor the string of an index
		}
		after, ok := strings.CutPrefix(after, versions)
		if !ok && strings.HasPrefix(after, ".") {
			continue // the version of Kubernetes or Helm
		}
		before, after = before[max(0, len(before)-longest):], after[:min(len(after), longest)]
		var m []string
		if ok {
			m = usedByMethod.FindStringSubmatch(after)
		}
		if ok && m == nil && strings.IndexAny(after, " \t\n)") == 0 {
			m = usedByFunction.FindStringSubmatch(before)
		}
		if m == nil {
			return UsedAPIs{All: true}
		}
		names = append(names, m[1])
	}
}

// UsedAPIsInValues returns the API versions that templates in values use.
func UsedAPIsInValues(t *fleet.Tree) (all UsedAPIs) {
	if t == nil {
		return all
	}
	for _, f := range t.Fields {
		all = all.And(UsedAPIsInValues(f))
	}
	for _, e := range t.List {
		all = all.And(UsedAPIsInValues(e))
	}
	if text, ok := t.Scalar.(string); ok {
		all = all.And(UsedAPIsIn(text))
	}
	return all
}

// The forms in which charts test one API version: .Capabilities.APIVersions.Has "NAME",
// and has "NAME" .Capabilities.APIVersions.
var (
	usedByMethod   = regexp.MustCompile(`^\.Has\s+"([^"\\]*)"`)
	usedByFunction = regexp.MustCompile(`\bhas\s+"([^"\\]*)"\s+\$?[\w.]*\.$`)
)

// None reports whether the output does not depend on the API versions.
func (a UsedAPIs) None() bool { return !a.All && len(a.Names) == 0 }

// And returns the API versions that a or b has.
func (a UsedAPIs) And(b UsedAPIs) UsedAPIs {
	if a.All || b.All {
		return UsedAPIs{All: true}
	}
	return UsedAPIs{Names: slices.Concat(a.Names, b.Names)}
}

// Of returns the API versions of a cluster that a covers.
func (a UsedAPIs) Of(apis []string) []string {
	if a.All {
		return apis
	}
	used := []string{}
	for _, api := range apis {
		if slices.Contains(a.Names, api) {
			used = append(used, api)
		}
	}
	return used
}
