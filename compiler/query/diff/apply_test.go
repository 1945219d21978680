package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A patch is a field change with the remaining steps of its path.
type patch struct {
	steps []string // keys in quotes or not, elements in brackets
	FieldChange
}

// applied applies changes to an object. It relies only on the documentation of
// FieldChange.
func applied(t *testing.T, before any, changes []FieldChange) any {
	t.Helper()
	patches := make([]patch, len(changes))
	for i, c := range changes {
		patches[i] = patch{splitPath(t, c.Path), c}
	}
	v, ok := apply(t, before, true, patches)
	if !ok {
		return nil
	}
	return v
}

func splitPath(t *testing.T, path string) (steps []string) {
	t.Helper()
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		end := 0
		for end < len(path) && (path[end] != '.' && path[end] != '[' || end == 0) {
			switch path[end] {
			case '"':
				quoted, err := strconv.QuotedPrefix(path[end:])
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				end += len(quoted)
				continue
			case '[':
				for end++; path[end] != ']'; {
					if path[end] == '"' {
						quoted, err := strconv.QuotedPrefix(path[end:])
						if err != nil {
							t.Fatalf("%s: %v", path, err)
						}
						end += len(quoted)
						continue
					}
					end++
				}
			}
			end++
		}
		steps = append(steps, path[:end])
		path = path[end:]
	}
	return steps
}

// apply returns the value after the patches, and whether it exists.
func apply(t *testing.T, v any, present bool, patches []patch) (any, bool) {
	t.Helper()
	if len(patches) == 1 && len(patches[0].steps) == 0 && !patches[0].Reordered {
		p := patches[0]
		if p.HasBefore != present || present && !equal(v, p.Before) {
			t.Fatalf("%s was %v, not %v", p.Path, v, p.Before)
		}
		return p.After, p.HasAfter
	}
	switch v := v.(type) {
	case map[string]any:
		return applyFields(t, v, patches), true
	case []any:
		return applyElements(t, v, patches), true
	}
	t.Fatalf("%d patches of %v, the first of which is %+v", len(patches), v, patches[0])
	return nil, false
}

func applyFields(t *testing.T, m map[string]any, patches []patch) map[string]any {
	t.Helper()
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	for step, group := range byStep(patches) {
		k := step
		if unquoted, err := strconv.Unquote(step); err == nil {
			k = unquoted
		}
		old, present := m[k]
		if v, ok := apply(t, old, present, group); ok {
			out[k] = v
		} else {
			delete(out, k)
		}
	}
	return out
}

func byStep(patches []patch) map[string][]patch {
	out := map[string][]patch{}
	for _, p := range patches {
		out[p.steps[0]] = append(out[p.steps[0]], patch{p.steps[1:], p.FieldChange})
	}
	return out
}

func applyElements(t *testing.T, list []any, patches []patch) []any {
	t.Helper()
	var order *FieldChange
	var rest []patch
	for _, p := range patches {
		if len(p.steps) == 0 {
			order = &p.FieldChange
			continue
		}
		rest = append(rest, p)
	}
	var key []string // of the list, if it has one
	for _, p := range rest {
		if strings.Contains(p.steps[0], "=") {
			key = keyFields(p.steps[0])
		}
	}
	if order != nil {
		key = keyFields("[" + order.After.([]any)[0].(string) + "]")
	}
	if key == nil {
		return applyIndexes(t, list, rest)
	}
	kept := map[string]any{}
	var names []string
	for _, e := range list {
		name := elementName(key, e.(map[string]any))
		kept[name] = e
		names = append(names, name)
	}
	var added []FieldChange
	for step, group := range byStep(rest) {
		old, present := kept[step]
		v, ok := apply(t, old, present, group)
		switch {
		case !ok:
			names = slices.DeleteFunc(names, func(n string) bool { return n == step })
		case !present:
			added = append(added, group[0].FieldChange)
		default:
			kept[step] = v
		}
	}
	if order != nil {
		checkOrder(t, names, order.Before)
		names = bracketed(order.After)
	}
	var out []any
	for _, n := range names {
		out = append(out, kept[n])
	}
	slices.SortFunc(added, func(a, b FieldChange) int { return cmp.Compare(a.Index, b.Index) })
	for _, f := range added {
		out = slices.Insert(out, f.Index, f.After)
	}
	return append([]any{}, out...)
}

func bracketed(v any) (out []string) {
	for _, e := range v.([]any) {
		out = append(out, "["+e.(string)+"]")
	}
	return out
}

func checkOrder(t *testing.T, names []string, before any) {
	t.Helper()
	if !slices.Equal(names, bracketed(before)) {
		t.Fatalf("the order was %v, not %v", names, before)
	}
}

func keyFields(step string) (fields []string) {
	step = strings.TrimSuffix(strings.TrimPrefix(step, "["), "]")
	for step != "" {
		name, value, _ := strings.Cut(step, "=")
		fields = append(fields, name)
		end := strings.IndexByte(value, ',')
		if quoted, err := strconv.QuotedPrefix(value); err == nil {
			end = len(quoted)
		}
		if end < 0 || end >= len(value) {
			break
		}
		step = strings.TrimPrefix(value[end:], ",")
	}
	return fields
}

// elementName formats an element's key independently of the tested code,
// except for quoting.
func elementName(key []string, m map[string]any) string {
	var parts []string
	for _, k := range key {
		v, ok := m[k]
		if !ok {
			v = "TCP"
		}
		if s, ok := v.(string); ok && !bare(s) {
			v = strconv.Quote(s)
		} else if f, ok := v.(float64); ok {
			v = strconv.FormatFloat(f, 'f', -1, 64)
		}
		parts = append(parts, fmt.Sprintf("%s=%v", k, v))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func applyIndexes(t *testing.T, list []any, patches []patch) []any {
	t.Helper()
	index := func(step string) int {
		i, err := strconv.Atoi(strings.Trim(step, "[]"))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	removed := map[int]bool{}
	added := map[int]any{}
	changed := map[int][]patch{}
	for _, p := range patches {
		i := index(p.steps[0])
		switch {
		case len(p.steps) == 1 && !p.HasAfter:
			if removed[i] || !equal(list[i], p.Before) {
				t.Fatalf("%s was %v, not %v", p.Path, list[i], p.Before)
			}
			removed[i] = true
		case len(p.steps) == 1 && !p.HasBefore:
			if p.Index != i {
				t.Fatalf("%s has the index %d", p.Path, p.Index)
			}
			added[i] = p.After
		default:
			changed[i] = append(changed[i], patch{p.steps[1:], p.FieldChange})
		}
	}
	var kept []any
	for i, e := range list {
		if !removed[i] {
			kept = append(kept, e)
		}
	}
	out := []any{}
	for i := range len(kept) + len(added) {
		v, isNew := added[i]
		if !isNew {
			v, kept = kept[0], kept[1:]
			if p := changed[i]; p != nil {
				v, _ = apply(t, v, true, p)
			}
		}
		out = append(out, v)
	}
	return out
}

func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
