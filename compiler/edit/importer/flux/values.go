package flux

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/edit/importer"
)

// values returns the values of a HelmRelease as helm-controller merges them: those of
// valuesFrom in order, then spec.values. A value for a targetPath is set in place, so that
// it also changes the maps and lists that the result shares with spec.values, and these
// are merged last. unproven says which part is unknown.
func (s *state) values(o *object) (values map[string]any, unproven string, err error) {
	own := deepCopy(mapping(o.content, "spec", "values"))
	result := map[string]any{}
	for i, ref := range list(o.content, "spec", "valuesFrom") {
		at := "spec.valuesFrom." + strconv.Itoa(i)
		key := text(ref, "valuesKey")
		if key == "" {
			key = "values.yaml"
		}
		title := text(ref, "kind") + " " + text(ref, "name")
		source := s.byID[text(ref, "kind")+". "+o.namespace()+"/"+text(ref, "name")]
		if source == nil {
			if isTrue(ref, "optional") {
				continue
			}
			unproven = "the repository has no " + title + " with values"
			s.note(importer.Note{Pos: s.at(o, strings.Split(at, ".")...), Doc: o.title(), Field: "spec.valuesFrom", Do: unproven + ": write the values into the release"})
			continue
		}
		data, encrypted := stringData(source)
		value, ok := data[key]
		switch {
		case encrypted[key]:
			unproven = "the values in " + title + " are encrypted"
			s.note(importer.Note{Pos: s.at(o, strings.Split(at, ".")...), Doc: o.title(), Field: "spec.valuesFrom", Do: unproven + ": let the chart read an existing Secret, or write the values into the release"})
			continue
		case !ok && isTrue(ref, "optional"):
			continue
		case !ok:
			return nil, "", s.fault(o, at, title+" has no key "+key, "correct valuesKey")
		}
		if target := text(ref, "targetPath"); target != "" {
			result = merge(result, own)
			if err := setPath(result, target, value, isTrue(ref, "literal")); err != nil {
				unproven = "the value for " + target + " is not imported"
				s.note(importer.Note{Pos: s.at(o, strings.Split(at, ".")...), Doc: o.title(), Field: "spec.valuesFrom.targetPath", Do: err.Error() + ": write the value into the release"})
			}
			continue
		}
		var more map[string]any
		if err := yaml.Unmarshal([]byte(value), &more); err != nil {
			return nil, "", s.fault(o, at, title+" "+key+" is not valid YAML: "+oneLine(err), "correct the values")
		}
		result = merge(result, more)
	}
	return merge(result, own), unproven, nil
}

// deepCopy returns a copy of a map that shares nothing with it.
func deepCopy(m map[string]any) map[string]any {
	out, _ := runtime.DeepCopyJSONValue(m).(map[string]any)
	return out
}

// merge returns a with the values of b, which replace others than maps.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range b {
		below, ok := v.(map[string]any)
		have, ok2 := out[key].(map[string]any)
		if ok && ok2 {
			out[key] = merge(have, below)
			continue
		}
		out[key] = v
	}
	return out
}

// setPath sets the value at a path of keys and list indices in place, as helm --set does.
// Texts with a meaning for --set are an error.
func setPath(values map[string]any, path, value string, literal bool) error {
	steps, err := parsePath(path)
	if err != nil {
		return err
	}
	if !literal && strings.ContainsAny(value, `,{}[]\`) {
		return errors.New("the value has characters with a meaning for helm --set")
	}
	var at any = values
	for i, step := range steps {
		last := i == len(steps)-1
		switch in := at.(type) {
		case map[string]any:
			if last {
				in[step] = typed(value, literal)
				return nil
			}
			below, ok := in[step]
			if !isContainer(below) || !ok {
				below = map[string]any{}
				in[step] = below
			}
			at = below
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(in) {
				return fmt.Errorf("the path %s names no element of its list", path)
			}
			if last {
				in[n] = typed(value, literal)
				return nil
			}
			if !isContainer(in[n]) {
				return fmt.Errorf("the path %s leads through a text or number", path)
			}
			at = in[n]
		}
	}
	return nil
}

// isContainer reports whether a value is a map or a list.
func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// parsePath parses a.b[0].c, with a backslash before a dot in a key.
func parsePath(path string) ([]string, error) {
	var steps []string
	var key strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path):
			i++
			key.WriteByte(path[i])
		case c == '.' || c == '[':
			if key.Len() > 0 {
				steps = append(steps, key.String())
			}
			key.Reset()
		case c == ']':
		case c == ',' || c == '=' || c == '{' || c == '}':
			return nil, fmt.Errorf("the path %s has a character with a meaning for helm --set", path)
		default:
			key.WriteByte(c)
		}
	}
	if key.Len() > 0 {
		steps = append(steps, key.String())
	}
	if len(steps) == 0 {
		return nil, errors.New("the path is empty")
	}
	return steps, nil
}

// typed returns the value that helm --set makes of a text.
func typed(value string, literal bool) any {
	if literal {
		return value
	}
	for _, quote := range []string{"'", `"`} {
		if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return strings.Trim(value, `'"`)
		}
	}
	switch strings.ToLower(value) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	if value == "0" || value != "" && value[0] != '0' {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	return value
}
