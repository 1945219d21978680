package values

import (
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// minSlip is how long a key is at least of which a slip is looked for: the
// shorter words are, the more of them are a letter apart.
const minSlip = 5

// slips returns the key of an open map that the user most likely meant with a
// key that nobody names: one that the chart has, that the user does not set,
// that takes such a value, and that differs by one slip of the fingers. There
// is none for most keys, which are the user's own.
func slips(key string, v *fleet.Tree, t *Type, set map[string]*fleet.Tree) string {
	if len(key) < minSlip-1 {
		return ""
	}
	for _, k := range t.Keys {
		if len(k) >= minSlip && set[k] == nil && t.Fields[k].Kinds&kindOfTree(v) != 0 && slipped(key, k) {
			return k
		}
	}
	return ""
}

// slipped reports whether the text is the word with two neighbours swapped, or
// with one letter within it left out or typed twice. Other letters and other
// ends are what tells names apart: ingester-a and ingester-b, port and ports.
func slipped(text, word string) bool {
	from := 0
	for from < len(text) && from < len(word) && text[from] == word[from] {
		from++
	}
	if from == len(word) || from == len(text) {
		return false
	}
	switch len(text) - len(word) {
	case 0:
		return from+1 < len(word) && text[from] == word[from+1] && text[from+1] == word[from] &&
			text[from+2:] == word[from+2:] && !isDigit(text[from]) && !isDigit(text[from+1])
	case -1:
		return from > 0 && isLetter(word[from]) && text[from:] == word[from+1:]
	case 1:
		return from > 0 && isLetter(text[from]) && text[from] == text[from-1] && text[from+1:] == word[from:]
	}
	return false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// slip reports a key that is most likely misspelt where any key can stand.
func (c *checker) slip(v *fleet.Tree, path []string, meant string) {
	c.add(path, v, "no such value: any key can stand here, but this is most likely "+meant+" misspelt",
		diag.DidYouMean(path[len(path)-1], []string{meant}))
}
