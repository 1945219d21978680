package objects

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A problem is the reason why a patch does not fit an object.
type problem struct {
	at        []string // the path in the patch, innermost step first
	msg, hint string
	lacks     bool // whether the problem is a missing key
}

// in returns the problem with another step in front of its path.
func (p *problem) in(step string) *problem {
	if p != nil {
		p.at = append(p.at, step)
	}
	return p
}

func under(step string, all []*problem) []*problem {
	for _, p := range all {
		p.in(step)
	}
	return all
}

// An objectProblem is a problem with an object.
type objectProblem struct {
	*problem
	id string
}

// maxNamed is the maximum number of objects or words in a list; the rest is
// counted.
const maxNamed = 3

// faults returns the faults of a patch. Equal problems of several objects are
// one fault.
func (a *application) faults(p *fleet.Patch, problems []objectProblem) diag.List {
	type key struct {
		at              diag.Pos
		path, msg, hint string
	}
	ids := map[key][]string{}
	var keys []key
	for _, f := range problems {
		steps := slices.Clone(f.at)
		slices.Reverse(steps)
		path := a.release.Path("patches", label(p.Name))
		for _, step := range steps {
			path += "." + label(step)
		}
		k := key{cmp.Or(p.PosAt(steps...), a.release.Pos), path, f.msg, f.hint}
		if ids[k] == nil {
			keys = append(keys, k)
		}
		ids[k] = append(ids[k], visible(f.id))
	}
	var out diag.List
	for _, k := range keys {
		out = append(out, &diag.Diag{Code: diag.CodePatchFailed, At: []diag.Pos{k.at}, Path: k.path, Msg: diag.JoinFirst(ids[k], maxNamed) + ": " + k.msg, Hint: k.hint})
	}
	return out
}

// plain matches a label or index that CUE accepts without quotes.
var plain = regexp.MustCompile(`^([a-zA-Z$][a-zA-Z0-9_$]*|[0-9]+)$`)

// label returns a step of a path in CUE syntax.
func label(step string) string {
	if plain.MatchString(step) && len(step) <= maxShown {
		return step
	}
	return strconv.Quote(visible(step))
}

// maxShown is the maximum number of bytes of a value in a message.
const maxShown = 80

// visible returns an untrusted text for a message: short, on one line and
// without control characters.
func visible(text string) string {
	quoted := strconv.Quote(diag.Start(text, maxShown))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// show returns a value for messages.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return strconv.Quote(diag.Start(v, maxShown))
	case map[string]any, []any:
		return diag.TypeOf(v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return diag.TypeOf(v)
	}
	return string(data)
}

// oneOf is [diag.OneOf] without long words, and with a default hint.
func oneOf(word string, among []string, otherwise string) string {
	return suggest(diag.OneOf, word, among, otherwise)
}

// suggest returns what hint returns for a word and its alternatives, made printable, or
// otherwise for a long word or without a hint.
func suggest(hint func(word string, among []string) string, word string, among []string, otherwise string) string {
	if len(word) > maxShown {
		return otherwise
	}
	return cmp.Or(hint(word, diag.Distinct(diag.Each(among, visible))), otherwise)
}
