package values

import (
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// minHeadless is the minimum length of a key to look for the key without its first letter,
// and minShorter that of a key in a schema for it without a letter at an end.
const (
	minHeadless = 8
	minShorter  = 4
)

// slips returns the key of an open map that the user most likely meant with an
// unknown key. It is a key that the chart has, that the user does not set, that
// takes a value of this kind, and that differs by one typing error. For most
// keys there is none: they are the user's own.
func slips(key string, v *fleet.Tree, t *Type, set map[string]*fleet.Tree) string {
	for _, k := range t.Keys {
		if set[k] == nil && t.Fields[k].Kinds&kindOfTree(v) != 0 && (slipped(key, k) || !t.picked && slippedField(key, k) || t.declared && slippedAtEnd(key, k)) {
			return k
		}
	}
	return ""
}

// innerSlips reports the keys of a list's element that are misspelt keys of the
// default's elements.
func (c *checker) innerSlips(e *fleet.Tree, t *Type, path []string) {
	if len(t.inner) == 0 {
		return
	}
	for _, key := range e.Keys() {
		if t.Elem != nil && t.Elem.Fields[key] != nil || slices.Contains(t.inner, key) {
			continue
		}
		i := slices.IndexFunc(t.inner, func(k string) bool { return e.Fields[k] == nil && slippedField(key, k) })
		if below := append(path[:len(path):len(path)], key); i >= 0 && !c.namedInText(below) {
			c.slip(e.Fields[key], below, t.inner[i])
		}
	}
}

// slipped reports whether the text is the word with one typing error. It reports
// none for short words, and a replaced letter only in long ones, because real
// names differ like this: ingester-a and ingester-b, port and ports.
func slipped(text, word string) bool {
	if len(word) >= minHeadless && text == word[1:] && isLetter(word[0]) {
		return true
	}
	kind := slipOf(text, word)
	return kind != noSlip && len(word) >= minLengths[kind].chosen
}

// slippedField reports the same for the keys of a map that are fields of a
// program's configuration. The user does not choose such keys, so shorter words
// are checked, too, unless they are in upper case.
func slippedField(text, word string) bool {
	kind := slipOf(text, word)
	return kind != noSlip && len(word) >= minLengths[kind].fixed && word != strings.ToUpper(word)
}

// slippedAtEnd reports whether the text is a key that the chart's schema names, without
// its first letter, or without or with another last letter. An s at the end is a plural, and
// a single letter at the end, or one in upper case, is a name: zone-a, zoneB.
func slippedAtEnd(text, word string) bool {
	n := len(word) - 1
	if text == word || n+1 < minShorter || word == strings.ToUpper(word) || !isLetter(word[0]) || !isLetter(word[n]) {
		return false
	}
	last := strings.TrimPrefix(text, word[:n])
	return text == word[1:] || text == word[:n] && word[n] != 's' ||
		len(last) == 1 && len(text) == len(word) && isLower(last[0]) && last != "s" && isLower(word[n]) && word[n] != 's' && isLetter(word[n-1])
}

// The typing errors that differ from the ways in which real names differ.
type slip uint8

const (
	noSlip        slip = iota
	otherCase          // other upper-case letters, except for names of environment variables
	swapped            // two adjacent characters swapped
	missingLetter      // an inner letter missing
	doubled            // a letter doubled
	otherLetter        // another letter inside of a word
)

// minLengths are the minimum lengths of a key to look for each typing error: a key that the
// user may choose, and one that programs define. Many shorter words differ in one letter.
var minLengths = [...]struct{ chosen, fixed int }{
	otherCase: {5, 3}, swapped: {5, 3}, missingLetter: {5, 4}, doubled: {5, 3}, otherLetter: {8, 5},
}

// slipOf returns the typing error that turns the word into the text. A different
// ending is not a typing error.
func slipOf(text, word string) slip {
	if text != word && strings.EqualFold(text, word) {
		if text != strings.ToUpper(text) && word != strings.ToUpper(word) {
			return otherCase
		}
		return noSlip
	}
	from := 0
	for from < len(text) && from < len(word) && text[from] == word[from] {
		from++
	}
	again := from > 0 && from < len(text) && isLetter(text[from]) && text[from] == text[from-1]
	if from == len(word) && len(text) == len(word)+1 && again {
		return doubled
	}
	if from == len(word) || from == len(text) {
		return noSlip
	}
	switch rest := word[from+1:]; {
	case len(text) == len(word) && text[from+1:] == rest && insideWord(text, from) && insideWord(word, from):
		return otherLetter
	case len(text) == len(word) && rest != "" && text[from] == word[from+1] && text[from+1] == word[from] &&
		text[from+2:] == word[from+2:] && !isDigit(text[from]) && !isDigit(text[from+1]):
		return swapped
	case text[from:] == rest && from > 0 && isLetter(word[from]):
		return missingLetter
	case text[from+1:] == word[from:] && again:
		return doubled
	}
	return noSlip
}

// insideWord reports whether the byte is a letter between letters.
func insideWord(s string, i int) bool {
	return i > 0 && i+1 < len(s) && isLetter(s[i-1]) && isLetter(s[i]) && isLetter(s[i+1])
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// slip reports a key of an open map that is most likely misspelt.
func (c *checker) slip(v *fleet.Tree, path []string, meant string) {
	c.add(diag.CodeUnreadValue, path, v, "no such value: any key is allowed here, but this is most likely a misspelt "+meant,
		diag.DidYouMean(path[len(path)-1], []string{meant}), diag.Fix{Kind: diag.FixName, Old: path[len(path)-1], New: meant})
}
