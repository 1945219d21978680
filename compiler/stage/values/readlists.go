package values

import (
	"strconv"
	"strings"
)

// listFunctions are those that make lists and take them apart. A list is known
// by what its elements can be, not by their order.
func listFunctions() map[string]function {
	table := map[string]function{
		"list":   listOfAll,
		"tuple":  listOfAll,
		"concat": concatLists,
		"append": addToList, "push": addToList, "prepend": addToList,
		"first": func(a arguments) *value { return endOf(a, false) },
		"last":  func(a arguments) *value { return endOf(a, true) },
		"slice": func(a arguments) *value { useEach(a, a.rest(1), Tested); return a.at(0) },
		"without": func(a arguments) *value {
			useEach(a, a.rest(1), Printed)
			a.use(a.elements(a.at(0)), Tested)
			return a.at(0)
		},
		"has":       hasIn,
		"contains":  func(a arguments) *value { a.useAll(Tested); return anything() },
		"splitList": splitTexts,
		"split":     splitTexts,
		"chunk":     func(a arguments) *value { return a.listOf(a.site, a.last(0)) },
		"seq":       numbers,
		"until":     numbers,
		"untilStep": numbers,
	}
	for _, name := range []string{"rest", "initial", "uniq", "compact", "reverse"} {
		table[name] = func(a arguments) *value { a.use(a.at(0), Tested); return a.at(0) }
	}
	table["sortAlpha"] = func(a arguments) *value {
		a.use(a.elements(a.at(0)), Printed)
		return a.at(0)
	}
	return table
}

// listOfAll gives a list of which each element is known.
func listOfAll(a arguments) *value {
	content := make([]string, len(a.list))
	for i, v := range a.list {
		content[i] = v.key()
	}
	o, _ := a.object(a.site, "list "+strings.Join(content, ","))
	for i, v := range a.list {
		a.put(o, number+strconv.Itoa(i), v)
	}
	return o.self
}

// endOf gives the first or the last element.
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
	var elem *value
	for _, l := range a.list {
		a.use(l, Tested)
		elem = a.union(elem, a.elements(l))
	}
	return a.listOf(a.site, elem)
}

// addToList gives a list of the elements of the list and the one more.
func addToList(a arguments) *value {
	a.use(a.at(0), Tested)
	return a.listOf(a.site, a.union(a.elements(a.at(0)), a.at(1)))
}

func hasIn(a arguments) *value {
	a.use(a.at(0), Printed)
	a.use(a.at(1), Tested)
	a.use(a.elements(a.at(1)), Printed)
	return anything()
}

func numbers(a arguments) *value {
	a.useAll(Tested)
	return a.listOf(a.site, anything())
}

// splitTexts gives the parts of texts that are known.
func splitTexts(a arguments) *value {
	a.useAll(Printed)
	separators, ok := a.at(0).literal()
	texts, known := a.at(1).literal()
	if !ok || !known {
		return a.listOf(a.site, textOf(wild))
	}
	var parts []string
	for _, sep := range separators {
		for _, t := range texts {
			parts = append(parts, strings.Split(t, sep)...)
		}
	}
	return a.listOf(a.site, textOf(parts...))
}
