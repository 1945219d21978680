package values

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// listFunctions are the functions that create and split lists. A list is the set
// of its possible elements, without an order unless all are texts.
func listFunctions() map[string]function {
	table := map[string]function{
		"list":    listOfAll,
		"tuple":   listOfAll,
		"concat":  concatLists,
		"append":  func(a arguments) *value { return addToList(a, false) },
		"push":    func(a arguments) *value { return addToList(a, false) },
		"prepend": func(a arguments) *value { return addToList(a, true) },
		"first":   func(a arguments) *value { return endOf(a, false) },
		"last":    func(a arguments) *value { return endOf(a, true) },
		"slice":   func(a arguments) *value { useEach(a, a.rest(), Tested); return a.at(0) },
		"without": func(a arguments) *value {
			useEach(a, a.rest(), Printed)
			a.use(a.elements(a.at(0)), Tested)
			return a.at(0)
		},
		"has":       hasIn,
		"splitList": func(a arguments) *value { return splitTexts(a, false) },
		"split":     func(a arguments) *value { return splitTexts(a, true) },
		"chunk":     func(a arguments) *value { return a.listOf(a.site, a.last(0)) },
		"seq":       numbers,
		"until":     numbers,
		"untilStep": numbers,
	}
	for _, name := range []string{"rest", "initial", "uniq", "compact", "reverse"} {
		table[name] = func(a arguments) *value { a.use(a.at(0), Tested); return a.at(0) }
	}
	table["join"] = joinOf
	table["sortAlpha"] = func(a arguments) *value {
		a.use(a.elements(a.at(0)), Printed)
		return a.at(0)
	}
	return table
}

// joinOf models join: it prints the elements of a list, or a single value.
func joinOf(a arguments) *value {
	v := a.last(0)
	if v == nil || len(a.list) != 2 {
		a.useAll(Printed)
		return textOf(wild)
	}
	rest := &value{places: v.places, roots: v.roots}
	for _, o := range v.objects {
		if !o.isList() {
			rest.objects = append(rest.objects, o)
			continue
		}
		elems := a.elements(o.self)
		a.printBare(elems)
		a.use(elems, Printed)
	}
	a.use(a.at(0), Printed)
	a.use(rest, Printed)
	return textOf(wild)
}

// listOfAll returns a list whose elements are all known.
func listOfAll(a arguments) *value {
	content := diag.Each(a.list, (*value).key)
	o, _ := a.object(a.site, "list "+strings.Join(content, ","))
	for i, v := range a.list {
		a.put(o, number+strconv.Itoa(i), v)
	}
	return o.self
}

// endOf returns the first or the last element.
func endOf(a arguments, last bool) *value {
	v := a.at(0)
	a.use(v, Tested)
	if v == nil {
		return nil
	}
	out := a.elements(&value{places: v.places, roots: v.roots, unknown: v.unknown}) // a text has no elements
	for _, o := range v.objects {
		i := 0
		if last {
			i = len(o.keys) - 1
		}
		if end, ok := o.keys[number+strconv.Itoa(i)]; ok && !o.summary && o.elem == nil && o.parts == nil {
			o.read = true
			out = a.union(out, end)
		} else {
			out = a.union(out, a.elements(o.self))
		}
	}
	return out
}

func concatLists(a arguments) *value {
	if all, ok := a.joinedWords(); ok {
		a.list = all
		return listOfAll(a)
	}
	var elem *value
	for _, l := range a.list {
		a.use(l, Tested)
		elem = a.union(elem, a.elements(l))
	}
	return a.listOf(a.site, elem)
}

// joinedWords returns the elements of all arguments when these are lists of
// known texts.
func (a arguments) joinedWords() (all []*value, ok bool) {
	for _, l := range a.list {
		words, ok := wordsOf(l)
		if !ok || len(all)+len(words) > maxWords || a.coarse {
			return nil, false
		}
		all = append(all, words...)
	}
	return all, true
}

// addToList returns the list with one more element. The elements of a list of
// known texts remain known.
func addToList(a arguments, first bool) *value {
	a.use(a.at(0), Tested)
	if words, ok := wordsOf(a.at(0)); ok && !a.coarse {
		if len(words) < maxWords && (len(words) > 0 || a.at(1).isWordOrKey()) {
			if first {
				a.list = slices.Concat([]*value{a.at(1)}, words)
			} else {
				a.list = append(words, a.at(1))
			}
			return listOfAll(a)
		}
	}
	return a.listOf(a.site, a.union(a.elements(a.at(0)), a.at(1)))
}

// wordsOf returns the elements of a list of known texts, in order. ok is false
// when the value can be anything else.
func wordsOf(v *value) (words []*value, ok bool) {
	if v == nil || len(v.objects) != 1 || len(v.places)+len(v.roots)+len(v.texts) > 0 || v.unknown {
		return nil, false
	}
	o := v.objects[0]
	if !o.isList() || !o.hasWords() {
		return nil, false
	}
	o.read = true
	for i := range len(o.keys) {
		words = append(words, o.keys[number+strconv.Itoa(i)])
	}
	return words, true
}

func hasIn(a arguments) *value {
	if len(a.list) != 2 {
		return anything()
	}
	if a.at(0) == nil || len(a.at(0).objects) == 0 {
		a.use(a.at(0), Printed)
	}
	a.use(a.at(1), Tested)
	a.use(a.elements(a.at(1)), Printed)
	a.asksOf(a.list[:1], []*value{a.elements(a.at(1))})
	a.compared(a.at(0), a.elements(a.at(1)))
	return anything()
}

func numbers(a arguments) *value {
	a.useAll(Tested)
	return a.listOf(a.site, anything())
}

// splitTexts returns the parts of known texts: a list for each text. With
// fields, it returns maps, as split does.
func splitTexts(a arguments, fields bool) *value {
	a.useAll(Printed)
	separators, ok := a.at(0).literal()
	texts, known := a.at(1).literal()
	if !ok || !known {
		return a.listOf(a.site, textOf(wild))
	}
	var out *value
	for _, sep := range separators {
		for _, t := range texts {
			parts := strings.Split(t, sep)
			o, _ := a.object(a.site, "split "+strings.Join(parts, wild))
			for i, part := range parts {
				key := number + strconv.Itoa(i)
				if fields {
					key = "_" + strconv.Itoa(i)
				}
				a.put(o, key, textOf(part))
			}
			out = a.union(out, o.self)
		}
	}
	return out
}
