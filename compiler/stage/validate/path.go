package validate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// add reports a fault of the current value, or of a value below it at the path
// more, with names of fields and indexes of items. It reports nothing for a text
// with a reference to a secret: the text with the value may be valid.
func (w *walk) add(hint, msg string, more ...any) {
	w.report(diag.CodeObjectValue, hint, msg, false, more...)
}

// report is like add for a fault with the code. With inReferences, it also reports strings with references: no value
// can make them valid.
func (w *walk) report(code diag.Code, hint, msg string, inReferences bool, more ...any) {
	if w.full() {
		return
	}
	path := w.path
	for _, m := range more {
		switch m := m.(type) {
		case int:
			path = append(path[:len(path):len(path)], step{index: m})
		case string:
			path = append(path[:len(path):len(path)], step{name: m})
		case step:
			path = append(path[:len(path):len(path)], m)
		}
	}
	msg = written(path) + " " + msg + " ("
	if named := namedItems(path); len(named) > 0 {
		msg += strings.Join(named, ", ") + "; "
	}
	o := w.object
	cause := &fleet.FieldError{Object: o, Field: make([]string, len(path))}
	for i, s := range path {
		if cause.Field[i] = s.name; s.name == "" && !s.key {
			cause.Field[i] = strconv.Itoa(s.index)
		}
	}
	v, _ := fleet.Lookup(o.Object, cause.Field)
	if text, isText := v.(string); isText && !inReferences && fleet.MayRefer(text) {
		return
	}
	w.faults = append(w.faults, &diag.Diag{Code: code, At: diag.Positions(o.Pos), Path: o.Title(), Msg: msg + o.Origin() + ")", Hint: hint, Cause: cause})
}

// inKey descends to a key of a map.
func inKey(key string) step { return step{name: key, key: true} }

// plainKey matches keys that need no quotes in a path.
var plainKey = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

// written returns a path for messages:
// spec.template.spec.containers[0].resources.limits["nvidia.com/gpu"].
func written(path []step) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case s.name == "" && !s.key:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		case !plainKey.MatchString(s.name) && !strings.HasPrefix(s.name, "$"), len(s.name) > maxShown:
			b.WriteString("[" + show(s.name) + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(visible(s.name))
	}
	return b.String()
}

// namedItems lists the names of the items on a path: containers[0] is web.
func namedItems(path []step) []string {
	var out []string
	for i, s := range path {
		m, ok := s.item.(map[string]any)
		if !ok || i == 0 {
			continue
		}
		if name, ok := m["name"].(string); ok && name != "" && i < len(path)-1 {
			out = append(out, fmt.Sprintf("%s[%d] is %s", visible(path[i-1].name), s.index, shorten(name)))
		}
	}
	return out
}
