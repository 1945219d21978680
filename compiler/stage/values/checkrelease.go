package values

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// release runs the checks that need the final values: values of disabled
// dependencies, overridden global values, and the schemas of the chart and its dependencies.
func (c *checker) release() {
	r := c.root.chart
	if len(r.root.deps) == 0 && r.root.schema == nil {
		return
	}
	user, _ := c.values.Value().(map[string]any)
	on, values, err := r.root.with(user)
	if err != nil {
		return // the values of a dependency are not a map; check reports that already
	}
	c.switchedOff(r.root, on, values, nil)
	c.globals(c.values, user, values, nil)
	c.schemas(on, values, nil)
}

// switchedOff reports the values of disabled dependencies.
func (c *checker) switchedOff(all, on *node, values map[string]any, at []string) {
	for _, d := range all.deps {
		below := append(slices.Clone(at), d.name)
		if i := slices.IndexFunc(on.deps, func(o *node) bool { return o.name == d.name }); i >= 0 {
			c.switchedOff(d, on.deps[i], values, below)
			continue
		}
		if v, depth := c.values.Lookup(below...); depth == len(below) && v.IsMap() {
			c.unused(all.entry(d), v, values, below)
		}
	}
}

// unused reports the values of one disabled dependency, at the first value that
// nothing else reads.
func (c *checker) unused(d *chart.Dependency, v *fleet.Tree, values map[string]any, at []string) {
	prefix := ""
	if len(at) > 1 {
		prefix = strings.Join(at[:len(at)-1], ".") + "."
	}
	cond, _, byCondition := fleet.DependencyCondition(d, values, prefix)
	var key *fleet.Tree
	if byCondition {
		if s, depth := c.values.Lookup(strings.Split(cond, ".")...); depth == strings.Count(cond, ".")+1 {
			key = s
		}
	}
	value, below := c.firstUnused(d, v, key, at)
	if value == nil {
		return
	}
	msg, hint := fmt.Sprintf("the chart's dependency %s is disabled, and nothing uses its values", fleet.DependencyKey(d)), ""
	switch {
	case byCondition:
		hint = fmt.Sprintf("set values.%s to true, or remove them", cond)
	default:
		hint = fmt.Sprintf("set one of values.tags.%s to true, or remove them", strings.Join(d.Tags, ", values.tags."))
	}
	c.add(diag.CodeUnreadValue, below, value, msg, hint)
	if key != nil && key.Pos.IsValid() {
		f := c.found[len(c.found)-1].fault
		f.At = append(f.At, key.Pos)
	}
}

// firstUnused returns the first value of a disabled dependency that the chart
// around it does not read either. Values from an outer layer than the condition
// are not reported: other clusters use them.
func (c *checker) firstUnused(d *chart.Dependency, v, key *fleet.Tree, at []string) (*fleet.Tree, []string) {
	switches := map[string]bool{}
	for cond := range strings.SplitSeq(d.Condition, ",") {
		switches[strings.TrimSpace(cond)] = true
	}
	own := c.root.chart.own.get()
	for _, k := range at {
		own = own.at(k)
	}
	var first func(v *fleet.Tree, path []string, u *uses) (*fleet.Tree, []string)
	first = func(v *fleet.Tree, path []string, u *uses) (*fleet.Tree, []string) {
		if u != nil && u.all {
			return nil, nil
		}
		if !v.IsMap() {
			used := u != nil || switches[strings.Join(path[len(at)-1:], ".")] || switches[strings.Join(path, ".")] || c.inText(path)
			if used || v.Scalar == nil && v.List == nil || key != nil && above(v, key) {
				return nil, nil
			}
			return v, path
		}
		for _, k := range byPlace(v) {
			if k == "global" {
				continue
			}
			if f, p := first(v.Fields[k], append(slices.Clone(path), k), u.at(k)); f != nil {
				return f, p
			}
		}
		return nil, nil
	}
	if t, ok := c.root.At(at...); ok && t.imported {
		return nil, nil
	}
	return first(v, at, own)
}

// above reports whether the value is set in an outer layer of the condition's.
func above(v, key *fleet.Tree) bool {
	if v.Layer == key.Layer {
		return false
	}
	// The directory of an outer layer contains those of its inner layers.
	inner, outer := path.Dir(key.Pos.File), path.Dir(v.Pos.File)
	return inner != outer && (outer == "." || strings.HasPrefix(inner, outer+"/"))
}

// byPlace returns the keys of a map in the order of their source positions.
func byPlace(v *fleet.Tree) []string {
	keys := v.Keys()
	slices.SortStableFunc(keys, func(a, b string) int { return v.Fields[a].Pos.Compare(v.Fields[b].Pos) })
	return keys
}

// schemas validates the final values with the schemas of the chart and of its
// enabled dependencies.
func (c *checker) schemas(n *node, values map[string]any, at []string) {
	if n.schema != nil {
		validator, err := n.schema.validator()
		if err != nil {
			c.add(diag.CodeSchemaDocument, at, nil, fmt.Sprintf("the schema of chart %s is not a valid JSON Schema: %v", n.name, err), fleet.SchemaHint)
			return
		}
		if tooMuchWork(validator, values) {
			c.add(diag.CodeSchemaDocument, at, nil, fmt.Sprintf("the schema of chart %s takes too long to check: its definitions refer to others too often", n.name),
				"use another version of the chart")
			return
		}
		err = validate(validator, values)
		if errors.Is(err, errUnsupported) {
			c.add(diag.CodeSchemaDocument, at, nil, fmt.Sprintf("the schema of chart %s cannot be checked: %v", n.name, err), fleet.SchemaHint)
			return
		}
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			for _, leaf := range withoutRepeatedKeys(leaves(invalid)) {
				c.refused(leaf, n, at, validator)
			}
		}
	}
	for _, d := range n.deps {
		if below, ok := values[d.name].(map[string]any); ok {
			c.schemas(d, below, append(slices.Clone(at), d.name))
		}
	}
}

// refused adds a fault for one error of the validator.
func (c *checker) refused(e *jsonschema.ValidationError, n *node, at []string, validator *jsonschema.Schema) {
	full := slices.Concat(at, e.InstanceLocation)
	msg := printed(e.ErrorKind)
	hint := ""
	beside := func(key string, missing []string) {
		full = append(full, key)
		msg, hint = requires(missing)
		msg += " when " + key + " is set"
		hint += ", or remove " + key
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, p := range slices.Sorted(slices.Values(k.Properties)) {
			c.refusedAt(append(slices.Clone(full), p), n, "not allowed by the chart's schema", "")
		}
		return
	case *kind.Type:
		msg = fmt.Sprintf("this is %s, and the chart's schema expects %s", withArticle(jsonKind(k.Got)), orList(k.Want))
		hint = "set it to " + orList(k.Want)
		if want := choices(validator, e.InstanceLocation); len(want) > 0 {
			hint = "use one of " + strings.Join(want, ", ")
		}
	case *kind.Enum:
		msg = fmt.Sprintf("%s is not one of the values that the chart's schema allows", diag.AsJSON(k.Got))
		if want := literals(k.Want); len(want) > 0 {
			hint = "use one of " + strings.Join(want, ", ")
			if s, ok := k.Got.(string); ok {
				if near := diag.DidYouMean(s, stringsOf(k.Want)); near != "" {
					hint = near
				}
			}
		}
	case *kind.FalseSchema, *kind.Not:
		msg = "not allowed by the chart's schema"
	case *kind.PropertyNames: // its location can be wrong
		full, msg = at, "the chart's schema does not allow the key "+diag.Visible(k.Property, diag.MaxText)
	case *refusedKey:
		full, msg = append(full, k.Property), "this key is not allowed by the chart's schema: "+msg
	case *kind.Contains:
		msg = "the chart's schema requires an item that this list does not have"
	case *kind.UniqueItems:
		full = append(full, strconv.Itoa(max(k.Duplicates[0], k.Duplicates[1])))
		msg = fmt.Sprintf("this repeats item [%d], and the chart's schema requires unique items", min(k.Duplicates[0], k.Duplicates[1]))
		hint = "remove it"
	case *kind.Dependency:
		beside(k.Prop, k.Missing)
	case *kind.DependentRequired:
		beside(k.Prop, k.Missing)
	case *kind.Required:
		msg, hint = requires(k.Missing)
		if want := choices(validator, append(slices.Clone(e.InstanceLocation), k.Missing[0])); len(k.Missing) == 1 && len(want) > 0 {
			hint += " to one of " + strings.Join(want, ", ")
		}
	default:
		msg += ", according to the chart's schema"
	}
	c.refusedAt(full, n, msg, hint)
}

func (c *checker) refusedAt(full []string, n *node, msg, hint string) {
	at, full := c.find(full)
	// A fault at the path or above it covers this one.
	covers := func(f finding) bool { return !f.schema && isWithin(full, f.path) }
	if slices.ContainsFunc(c.found, covers) {
		return
	}
	if hint == "" {
		hint = fmt.Sprintf("look at values.schema.json of chart %s", n.name)
	}
	c.add(diag.CodeChartSchema, full, at, msg, hint)
	last := &c.found[len(c.found)-1]
	last.schema = true
	if len(last.fault.At) == 0 && c.values.Pos.IsValid() {
		last.fault.At = []diag.Pos{c.values.Pos}
	}
}

// find returns the user's value at or around a path of the validator, nil when
// there is none, and the path with list indexes in brackets.
func (c *checker) find(path []string) (*fleet.Tree, []string) {
	path = slices.Clone(path)
	at, deepest := c.values, (*fleet.Tree)(nil)
	for i, key := range path {
		if at != nil && at.List != nil {
			path[i] = "[" + key + "]"
		}
		if at = at.At(key); at == nil {
			break
		}
		deepest = at
	}
	return deepest, path
}

// leaves returns the innermost errors. When all alternatives of an anyOf or
// oneOf fail, it returns the errors of the one that fits best: the one that
// fails deepest. For propertyNames and contains, it returns the error itself: the
// location of its causes is not that of one value.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return alternatives(e)
	case *kind.PropertyNames, *kind.Contains, *kind.MinContains:
		return []*jsonschema.ValidationError{e}
	}
	return slices.Concat(diag.Each(e.Causes, leaves)...)
}

func alternatives(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	var best []*jsonschema.ValidationError
	depth := -1
	wants := &kind.Type{}
	for _, c := range e.Causes {
		l := leaves(c)
		d := slices.MaxFunc(l, func(a, b *jsonschema.ValidationError) int {
			return cmp.Compare(len(a.InstanceLocation), len(b.InstanceLocation))
		})
		here := len(d.InstanceLocation)
		if k, ok := d.ErrorKind.(*kind.Type); ok && here == len(e.InstanceLocation) {
			wants.Got, wants.Want = k.Got, append(wants.Want, k.Want...)
			here-- // prefer an alternative of the value's kind
		}
		if here > depth {
			best, depth = l, here
		}
	}
	if len(wants.Want) == len(e.Causes) && len(wants.Want) > 1 {
		one := *e
		one.Causes, one.ErrorKind = nil, wants
		return []*jsonschema.ValidationError{&one}
	}
	return best
}

// requires returns the message and the hint for keys that a schema requires.
func requires(keys []string) (msg, hint string) {
	names := strings.Join(keys, ", ")
	return "the chart's schema requires " + names, "set " + names
}

// printed returns the validator's message.
func printed(k jsonschema.ErrorKind) string {
	return k.LocalizedString(message.NewPrinter(language.English))
}

// jsonKind returns the name that messages use for a JSON Schema type.
func jsonKind(s string) string {
	if k, ok := typeKinds[s]; ok && k != Number {
		return k.Names()[0]
	}
	return s
}

func orList(names []string) string {
	var out []string
	for _, n := range names {
		if n = withArticle(jsonKind(n)); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, " or ")
}

// choices returns the literals that a schema lists for the value at a path; none if it lists
// none, or not as a plain property.
func choices(s *jsonschema.Schema, path []string) []string {
	const maxReferences = 16
	target := func(s *jsonschema.Schema) *jsonschema.Schema {
		for range maxReferences {
			if s == nil || s.Ref == nil {
				break
			}
			s = s.Ref
		}
		return s
	}
	for _, key := range path {
		if s = target(s); s == nil {
			return nil
		}
		s = s.Properties[key]
	}
	if s = target(s); s == nil || s.Enum == nil {
		return nil
	}
	return literals(s.Enum.Values)
}

func literals(values []any) []string {
	var out []string
	for _, v := range values {
		if s := diag.AsJSON(v); len(s) <= 60 && len(out) < 20 {
			out = append(out, s)
		}
	}
	return out
}

func stringsOf(values []any) []string {
	var out []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
