package values

import (
	"slices"
	"strings"
)

// This file infers the kind of a value from its name when the chart's default
// and its templates allow several.

// switchWords are the first or last words in the names of toggles.
var switchWords = struct{ first, last []string }{
	strings.Fields("enable disable create use skip is has allow install automount"),
	strings.Fields("enabled disabled enable create install"),
}

// isSwitch reports whether a value with this name is a toggle.
func isSwitch(key string) bool {
	words := wordsIn(key)
	n := len(words)
	return n > 0 && (slices.Contains(switchWords.last, words[n-1]) || n > 1 && slices.Contains(switchWords.first, words[0]))
}

// wordsIn returns the lower-case words of a name, split at punctuation and at
// capital letters.
func wordsIn(key string) []string {
	var words []string
	from := 0
	for i := range len(key) + 1 {
		capital := i < len(key) && i > from && 'A' <= key[i] && key[i] <= 'Z' && key[i-1] >= 'a'
		if i < len(key) && !capital && isLetter(key[i]) {
			continue
		}
		if i > from {
			words = append(words, strings.ToLower(key[from:i]))
		}
		if from = i + 1; capital {
			from = i
		}
	}
	return words
}

// isEnabled reports whether a value with this name enables or disables
// something, regardless of the map that contains it.
func isEnabled(key string) bool {
	words := wordsIn(key)
	return len(words) > 0 && (words[len(words)-1] == "enabled" || words[len(words)-1] == "disabled")
}

// toggleForms returns the conditions on a value whose default is a bool. It does
// not accept text, except true and false where templates print it. A default of
// false can also mean "not set"; then a number or text can replace it.
func toggleForms(t *Type, r readSummary, in reach) form {
	enabled := isEnabled(in.key)
	switch {
	case t.seen&^Null != Bool || r.text || r.fields || r.words || r.may&(Bool|Number|String) != 0,
		!enabled && (in.ranged || len(r.keys) > 0 || r.testedFor != 0),
		!isSwitch(in.key) && (t.Default != true || in.part):
		return 0
	case r.mode&Decides != 0:
		return toggleForm | truthForm
	}
	return toggleForm
}

// mapNames and listNames are the endings of the names of values that charts
// print where Kubernetes accepts a map of texts, or a list.
var (
	mapNames  = []string{"annotations", "labels", "nodeselector"}
	listNames = []string{"tolerations", "pullsecrets", "topologyspreadconstraints", "hostaliases", "loadbalancersourceranges", "accessmodes", "hostnames", "externalips"}
)

// collectionForms returns the condition on an empty map or list, inferred from
// its name.
func collectionForms(t *Type, in reach) form {
	if len(t.Keys) > 0 {
		return 0
	}
	key := strings.ToLower(in.key)
	ends := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(key, name) })
	}
	switch {
	case t.seen&^Null == Map && ends(mapNames):
		return mapForm
	case t.seen&^Null == List && ends(listNames):
		return listForm
	}
	return 0
}
