package values

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// waive returns the faults that no waiver accepts, and a fault for each waiver
// that accepts nothing or is incomplete.
func (c *checker) waive(open []fleet.Waiver) diag.List {
	var out diag.List
	needed := make([]bool, len(open))
	paths := make([][]string, len(open))
	for i, w := range open {
		path, err := splitPath(w.Path)
		if err != nil {
			out = append(out, waiverFault(diag.CodeTextForm, w, err.Error(), `write it as in a.b, or a."b.c" for a key with a dot`))
			needed[i] = true
		}
		if strings.TrimSpace(w.Reason) == "" {
			out = append(out, waiverFault(diag.CodeMissingValue, w, "a waiver needs a reason", "say why the types are wrong"))
		}
		paths[i] = path
	}
	for _, f := range c.found {
		waived := false
		for i, path := range paths {
			if path != nil && isWithin(f.path, path) {
				waived, needed[i] = true, true
			}
		}
		if !waived {
			out = append(out, f.waivable())
		}
	}
	for i, w := range open {
		if !needed[i] {
			out = append(out, waiverFault(diag.CodeUnusedRule, w, fmt.Sprintf("the waiver for %s has no effect: the value has no fault", w.Path), "remove it"))
		}
	}
	return out
}

// waivable returns the fault, with the waiver that accepts it as a fix if one can: that for
// the value, or for the list around it. The waiver's path is that below the release.
func (f finding) waivable() *diag.Diag {
	path := f.path
	if i := slices.IndexFunc(path, isIndex); i >= 0 {
		path = path[:i]
	}
	text := strings.TrimPrefix(pathText(path), "values.")
	if keys, err := splitPath(text); err != nil || len(path) == 0 || !slices.Equal(keys, path) {
		return f.fault
	}
	d := *f.fault
	d.Fixes = append(slices.Clone(d.Fixes), diag.Fix{Kind: diag.FixWaiver, Path: "open." + strconv.Quote(text), New: strconv.Quote(diag.Reason)})
	return &d
}

// isIndex reports whether a step of a path is the index of a list.
func isIndex(step string) bool { return strings.HasPrefix(step, "[") && strings.HasSuffix(step, "]") }

func waiverFault(code diag.Code, w fleet.Waiver, msg, hint string) *diag.Diag {
	return &diag.Diag{Code: code, At: diag.Positions(w.Pos), Path: "open", Msg: msg, Hint: hint}
}

// splitPath returns the keys of a path, some of which may be quoted. The path *,
// for the whole chart, has no keys.
func splitPath(s string) ([]string, error) {
	keys := []string{}
	if s == "*" {
		return keys, nil
	}
	for rest := strings.TrimPrefix(s, "values."); ; rest = rest[1:] {
		var key string
		var ok bool
		if key, rest, ok = fleet.ParseWord(rest, `."`); !ok || key == "" || rest != "" && rest[0] != '.' {
			return nil, fmt.Errorf("%q is not a valid path", s)
		}
		if keys = append(keys, key); rest == "" {
			return keys, nil
		}
	}
}
