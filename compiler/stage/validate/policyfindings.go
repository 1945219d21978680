package validate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// findings returns CUE's errors about an object, or an error that is the rule's.
func (c *compiledRule) findings(err error, o *policyObject) (v result) {
	for _, d := range diag.RawCUEFaults("", err, cue.Value{}) {
		f := finding{text: d.Msg}
		if e, ok := d.Cause.(errors.Error); ok {
			f.path = pathInObject(e.Path())
		}
		f.line = c.line(f.path)
		if strings.HasPrefix(d.Msg, "invalid regexp: ") {
			if o.isSecret(f.path) { // the expression may come from another field
				return result{fault: "invalid regular expression", faultAt: f.line}
			}
			return result{fault: first(d.Cause), faultAt: f.line}
		}
		if value, known := fleet.Lookup(o.plain, f.path); known && len(f.path) > 0 {
			f.text = reworded(d.Msg, inline(value))
		}
		switch {
		case strings.HasPrefix(d.Msg, "field is required but not present"):
			f.text = "is missing"
		case strings.HasPrefix(d.Msg, "incomplete value "):
			f.text = "is missing: it must be " + strings.TrimPrefix(d.Msg, "incomplete value ")
		case o.isSecret(f.path):
			f.text = withoutValue(d.Msg, o, f.path)
		}
		v.found = append(v.found, f)
	}
	return v
}

var (
	conflict   = regexp.MustCompile(`^conflicting values (.+?) and (.+?)(?: \(mismatched types [^()]* and [^()]*\))?$`)
	outOfBound = regexp.MustCompile(`^invalid value .+ \(out of bound (.+)\)$`)
	noneOf     = regexp.MustCompile(`^.+ is not one of (.+)$`)
)

// reworded returns CUE's message with the value in front, if the value has a
// short form.
func reworded(msg, value string) string {
	if value == "" {
		return msg
	}
	must := ""
	if m := conflict.FindStringSubmatch(msg); m != nil {
		must = "it must be " + m[1]
		if m[1] == value {
			must = "it must be " + m[2]
		}
	} else if m := outOfBound.FindStringSubmatch(msg); m != nil {
		must = "it must be " + m[1]
	} else if m := noneOf.FindStringSubmatch(msg); m != nil {
		must = "it must be one of " + m[1]
	} else if must = msg; strings.Contains(msg, value) {
		return msg
	}
	return "is " + value + ": " + must
}

// withoutValue returns a message of CUE about a secret value, unless it
// contains the value.
func withoutValue(msg string, o *policyObject, path []string) string {
	value, _ := fleet.Lookup(o.plain, path)
	if s, ok := value.(string); ok && !conflict.MatchString(msg) && !outOfBound.MatchString(msg) && !noneOf.MatchString(msg) && !strings.HasPrefix(msg, "invalid value") && !strings.Contains(msg, s) {
		return msg
	}
	return "is not allowed by the rule"
}

// pathInObject returns the path of a field relative to the object.
func pathInObject(path []string) []string {
	i := slices.Index(path, "object")
	if len(path) > 2 && path[0] == "policies" && path[2] == "object" {
		i = 2 // the policy itself may be called object
	}
	if i < 0 {
		return nil // a field of another value in the rule
	}
	path = path[i+1:]
	var out []string
	for _, s := range path {
		if u, err := strconv.Unquote(s); err == nil {
			s = u
		}
		out = append(out, s)
	}
	return out
}

// line returns the position of a field of the rule, or of its nearest parent.
func (c *compiledRule) line(path []string) diag.Pos {
	at := "object"
	best := c.lines[at]
	for _, s := range path {
		if _, err := strconv.Atoi(s); err == nil {
			at += ".[]"
		} else {
			at += "." + cue.Str(s).String()
		}
		if pos, ok := c.lines[at]; ok {
			best = pos
		}
	}
	return best
}

// missing returns the fields that the rule sets and the object lacks, since
// unification adds them. Empty structs and lists count as missing.
func (c *compiledRule) missing(result cue.Value, plain any, path []string, found []finding) []finding {
	switch plain := plain.(type) {
	case map[string]any:
		it, err := result.Fields()
		for err == nil && it.Next() {
			name := it.Selector().Unquoted()
			existing, ok := plain[name]
			if ok {
				switch existing.(type) {
				case map[string]any, []any:
					found = c.missing(it.Value(), existing, append(slices.Clip(path), name), found)
				}
				continue
			}
			if data, err := it.Value().MarshalJSON(); err == nil && hasLeaf(data) {
				at := append(slices.Clip(path), name)
				found = append(found, finding{path: at, text: "is missing: it must be " + visible(string(data)), line: c.line(at)})
			}
		}
	case []any:
		it, err := result.List()
		for i := 0; err == nil && it.Next() && i < len(plain); i++ {
			found = c.missing(it.Value(), plain[i], append(slices.Clip(path), strconv.Itoa(i)), found)
		}
	}
	return found
}

// hasLeaf reports whether a JSON value contains anything but empty structs and
// lists.
func hasLeaf(data []byte) bool {
	var v any
	return json.Unmarshal(data, &v) != nil || fleet.AnyLeaf(v, func(any) bool { return true })
}

// inline returns a scalar for messages, or an empty string for other values.
func inline(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(visible(v))
	case bool, int64, float64:
		return fmt.Sprint(v)
	}
	return ""
}
