package render

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// AskedAPIs are the API versions of a cluster on which the output of templates may depend.
// They may be more than it depends on, and never less.
type AskedAPIs struct {
	All   bool     // any
	Names []string // otherwise, these
}

// AskedAPIsOf returns the API versions that the templates of a chart and its dependencies
// ask for.
func AskedAPIsOf(ch *fleet.Chart) AskedAPIs {
	var all AskedAPIs
	for _, f := range ch.Files {
		switch {
		case strings.HasSuffix(f.Name, ".tgz"): // a dependency, which is not unpacked here
			return AskedAPIs{All: true}
		case bytes.Contains(f.Data, []byte("Capabilities")):
			all = all.And(AskedAPIsIn(string(f.Data)))
		}
	}
	return all
}

// AskedAPIsIn returns the API versions that a text asks for, which a chart may use as a
// template, such as an argument of tpl.
func AskedAPIsIn(text string) AskedAPIs {
	const capabilities, versions, longest = "Capabilities", ".APIVersions", 200
	var names []string
	for at := 0; ; {
		n := strings.Index(text[at:], capabilities)
		if n < 0 {
			return AskedAPIs{Names: names}
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
			m = askedByMethod.FindStringSubmatch(after)
		}
		if ok && m == nil && strings.IndexAny(after, " \t\n)") == 0 {
			m = askedByFunction.FindStringSubmatch(before)
		}
		if m == nil {
			return AskedAPIs{All: true}
		}
		names = append(names, m[1])
	}
}

// AskedAPIsInValues returns the API versions that templates in values ask for.
func AskedAPIsInValues(t *fleet.Tree) (all AskedAPIs) {
	if t == nil {
		return all
	}
	for _, f := range t.Fields {
		all = all.And(AskedAPIsInValues(f))
	}
	for _, e := range t.List {
		all = all.And(AskedAPIsInValues(e))
	}
	if text, ok := t.Scalar.(string); ok {
		all = all.And(AskedAPIsIn(text))
	}
	return all
}

// The forms in which charts ask for one API version: .Capabilities.APIVersions.Has "NAME",
// and has "NAME" .Capabilities.APIVersions.
var (
	askedByMethod   = regexp.MustCompile(`^\.Has\s+"([^"\\]*)"`)
	askedByFunction = regexp.MustCompile(`\bhas\s+"([^"\\]*)"\s+\$?[\w.]*\.$`)
)

// None reports whether the output does not depend on the API versions.
func (a AskedAPIs) None() bool { return !a.All && len(a.Names) == 0 }

// And returns the API versions that a or b asks for.
func (a AskedAPIs) And(b AskedAPIs) AskedAPIs {
	if a.All || b.All {
		return AskedAPIs{All: true}
	}
	return AskedAPIs{Names: slices.Concat(a.Names, b.Names)}
}

// Of returns the API versions of a cluster that a covers.
func (a AskedAPIs) Of(apis []string) []string {
	if a.All {
		return apis
	}
	asked := []string{}
	for _, api := range apis {
		if slices.Contains(a.Names, api) {
			asked = append(asked, api)
		}
	}
	return asked
}
