package values

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// A function models a template function: it returns the result and records how
// the function uses its arguments.
type function func(a arguments) *value

// arguments holds the arguments of a function call.
type arguments struct {
	*interpreter
	site parse.Node // the expression that calls it
	list []*value
}

// at returns an argument, nil when there are fewer.
func (a arguments) at(i int) *value {
	if i < 0 || i >= len(a.list) {
		return nil
	}
	return a.list[i]
}

// last returns an argument counted from the end.
func (a arguments) last(i int) *value { return a.at(len(a.list) - 1 - i) }

// rest returns the arguments after the first.
func (a arguments) rest() []*value { return a.list[min(1, len(a.list)):] }

// useAll records that the function uses all arguments in this way.
func (a arguments) useAll(m Mode) { useEach(a, a.list, m) }

// apply evaluates a function call. A function without a model counts as printing
// all its arguments.
func (r *interpreter) apply(name string, site parse.Node, args []*value) *value {
	a := arguments{interpreter: r, site: site, list: args}
	if base, ok := strings.CutPrefix(name, "must"); ok && base != "" {
		name = strings.ToLower(base[:1]) + base[1:]
	}
	a.checkForms(name)
	if f := r.functions[name]; f != nil {
		return f(a)
	}
	a.useAll(Printed)
	return anything()
}

// functions returns the models of the functions that pass values on.
func functions() map[string]function {
	table := map[string]function{}
	for _, part := range []map[string]function{mapFunctions(), listFunctions(), textFunctions(), choiceFunctions(), kindFunctions()} {
		maps.Copy(table, part)
	}
	return table
}

// choiceFunctions are the functions that test values or return one of several.
func choiceFunctions() map[string]function {
	table := map[string]function{
		"ternary": func(a arguments) *value {
			a.use(a.at(2), Tested|Decides)
			switch truth, known := a.at(2).truth(); {
			case known && truth:
				return a.at(0)
			case known:
				return a.at(1)
			}
			return a.union(a.at(0), a.at(1))
		},
		"required": func(a arguments) *value {
			a.use(a.at(0), Printed)
			a.use(a.at(1), Tested)
			return a.at(1)
		},
		"fail": func(a arguments) *value {
			a.useAll(Printed)
			return textOf("")
		},
		"include": func(a arguments) *value {
			if out := a.include(a.at(0), a.at(1)); out != nil {
				return out
			}
			return textOf(wild)
		},
		"tpl": arguments.tpl,
	}
	for _, name := range []string{"default", "coalesce", "and", "or"} {
		table[name] = func(a arguments) *value {
			a.useAll(Tested)
			return a.unionAll(a.list...)
		}
	}
	for _, name := range []string{
		"not", "empty", "all", "any", "len", "lt", "le", "gt", "ge", "contains", "hasPrefix", "hasSuffix", "semverCompare",
	} {
		table[name] = func(a arguments) *value {
			a.useAll(Tested)
			return anything()
		}
	}
	return table
}

// kindFunctions are the functions that depend on the kind of a value.
func kindFunctions() map[string]function {
	table := map[string]function{}
	for _, name := range []string{"kindIs", "typeIs", "typeIsLike"} {
		table[name] = func(a arguments) *value {
			a.useAll(Tested)
			a.testsFor(kindsNamed(a.at(0)), a.rest()...)
			return a.isOfKind(name)
		}
	}
	for _, name := range []string{"kindOf", "typeOf"} {
		table[name] = kindOfValue
	}
	for _, name := range []string{"eq", "ne"} {
		table[name] = func(a arguments) *value {
			a.useAll(Tested)
			a.asksOf(a.list, a.list)
			if slices.ContainsFunc(a.list, isWord) {
				a.takes(stringForm, a.list...)
				a.compared(a.list...)
			}
			return anything()
		}
	}
	for _, name := range []string{
		"int", "int64", "float64", "add", "add1", "sub", "mul", "div", "mod", "max", "min", "ceil", "floor", "round", "addf", "subf", "mulf", "divf",
	} {
		table[name] = func(a arguments) *value {
			for _, v := range a.list {
				a.useAt(v, arithmetic)
			}
			return anything()
		}
	}
	return table
}

// yes and no are bools that a function returns for all values of the user.
const (
	yes = number + "true"
	no  = number + "false"
)

// truth returns the bool that the value is; known is false when it can be
// anything else.
func (v *value) truth() (truth, known bool) {
	if _, known = v.literal(); !known || len(v.texts) != 1 {
		return false, false
	}
	return v.texts[0] == yes, v.texts[0] == yes || v.texts[0] == no
}

// isOfKind evaluates kindIs for lists, maps and texts that templates make.
func (a arguments) isOfKind(name string) *value {
	kinds, _ := a.at(0).literal()
	v := a.at(1)
	if name != "kindIs" || len(kinds) != 1 || v == nil || len(v.places)+len(v.roots) > 0 || v.unknown {
		return anything()
	}
	kindsOfValue := map[string]bool{}
	for _, o := range v.objects {
		switch {
		case o.isMap():
			kindsOfValue["map"] = true
		case o.isList() && len(o.keys) > 0:
			kindsOfValue["slice"] = true
		default:
			return anything()
		}
	}
	for _, t := range v.texts {
		if strings.HasPrefix(t, number) || strings.Contains(t, wild) && !isUserKey(t) {
			return anything()
		}
		kindsOfValue["string"] = true
	}
	switch {
	case !kindsOfValue[kinds[0]]:
		return textOf(no)
	case len(kindsOfValue) == 1:
		return textOf(yes)
	}
	return anything()
}

// arithmetic is the sink of values that a template computes with.
var arithmetic = &shape{form: digitForm}

// isWord reports whether the value can be a text that is neither empty nor a
// number.
func isWord(v *value) bool {
	texts, _ := v.literal()
	return slices.ContainsFunc(texts, func(t string) bool { return t != "" && !hasDigitFirst(t) })
}

// mapFunctions are the functions that create, modify and query maps.
func mapFunctions() map[string]function {
	return map[string]function{
		"dict":     dictOf,
		"get":      func(a arguments) *value { return a.index(a.at(0), a.at(1)) },
		"index":    indexOf,
		"dig":      digIn,
		"hasKey":   func(a arguments) *value { a.use(a.index(a.at(0), a.at(1)), Tested); return anything() },
		"pluck":    pluckOf,
		"omit":     func(a arguments) *value { useEach(a, a.rest(), Tested); return a.at(0) },
		"pick":     pickOf,
		"keys":     keysOfMaps,
		"values":   func(a arguments) *value { return a.listOf(a.site, a.elements(a.at(0))) },
		"deepCopy": copyOf,
		"set": func(a arguments) *value {
			a.use(a.at(1), Tested)
			a.store(a.at(0), a.at(1), a.at(2))
			return a.at(0)
		},
		"unset":          func(a arguments) *value { a.use(a.at(1), Tested); return a.at(0) },
		"merge":          mergeOf,
		"mergeOverwrite": mergeOf,
		"lookup":         func(a arguments) *value { a.useAll(Printed); return anything() },
	}
}

func useEach(a arguments, vs []*value, m Mode) {
	for _, v := range vs {
		a.use(v, m)
	}
}

func dictOf(a arguments) *value {
	var content strings.Builder
	for _, v := range a.list {
		content.WriteString(v.key() + ",")
	}
	o, _ := a.object(a.site, content.String())
	for i := 0; i+1 < len(a.list); i += 2 {
		key := a.list[i]
		a.use(key, Tested)
		for _, name := range key.written() {
			a.put(o, name, a.list[i+1])
		}
	}
	return o.self
}

func indexOf(a arguments) *value {
	v := a.at(0)
	for _, key := range a.rest() {
		v = a.index(v, key)
	}
	return v
}

// digIn models dig "a" "b" default map.
func digIn(a arguments) *value {
	if len(a.list) < 3 {
		a.useAll(Printed)
		return anything()
	}
	v := a.last(0)
	for _, key := range a.list[:len(a.list)-2] {
		v = a.index(v, key)
	}
	return a.union(v, a.last(1))
}

func pluckOf(a arguments) *value {
	var elem *value
	for _, m := range a.rest() {
		elem = a.union(elem, a.index(m, a.at(0)))
	}
	return a.listOf(a.site, elem)
}

// pickOf models pick: it returns a map of the keys when they are known, else the
// whole map.
func pickOf(a arguments) *value {
	var names []string
	for _, key := range a.rest() {
		a.use(key, Tested)
		texts, ok := key.literal()
		if !ok {
			return a.at(0)
		}
		names = append(names, texts...)
	}
	o, _ := a.object(a.site, "pick "+a.at(0).key()+strings.Join(names, ","))
	for _, name := range names {
		a.put(o, name, a.field(a.at(0), name))
	}
	return o.self
}

func keysOfMaps(a arguments) *value {
	var names *value
	for _, m := range a.list {
		a.use(m, Tested|Ranged)
		for _, p := range m.placesOrNil() {
			a.mark(a.anyKey(p), 0)
		}
		names = a.union(names, a.keysOf(m))
	}
	return a.listOf(a.site, names)
}

// copyOf models a deep copy: it returns a new map, so that later changes of the
// copy do not affect the original.
func copyOf(a arguments) *value {
	v := a.at(0)
	if v == nil || len(v.places)+len(v.objects) == 0 {
		return v
	}
	a.modified[a.site] = true
	o, _ := a.object(a.site, "copy "+v.key())
	a.putAll(o, &value{places: v.places, objects: v.objects})
	return a.union(o.self, &value{roots: v.roots, texts: v.texts, unknown: v.unknown})
}

// mergeOf models merge: it merges into the first map and returns that.
func mergeOf(a arguments) *value {
	out := a.at(0)
	if len(a.list) == 0 {
		return anything()
	}
	from := a.unionAll(a.rest()...)
	a.mergeInto(out, from)
	if out == nil || out.unknown {
		out = a.union(out, from)
	}
	return out
}
