package values

import (
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// minSlip is the minimum length of a key to look for misspellings of. Many
// shorter words differ in one letter.
const minSlip = 5

// slips returns the key of an open map that the user most likely meant with an
// unknown key. It is a key that the chart has, that the user does not set, that
// takes a value of this kind, and that differs by one typing error. For most
// keys there is none: they are the user's own.
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

// slipped reports whether the text is the word with two adjacent characters
// swapped, with one inner letter missing, with a letter doubled, with another
// letter inside of a long word, or with other upper-case letters. Other different
// letters and different endings do not count: they distinguish real names such as
// ingester-a and ingester-b, or port and ports. So do
// words in upper case, which name environment variables.
func slipped(text, word string) bool {
	if text != word && strings.EqualFold(text, word) {
		return text != strings.ToUpper(text) && word != strings.ToUpper(word)
	}
	from := 0
	for from < len(text) && from < len(word) && text[from] == word[from] {
		from++
	}
	if from == len(word) && len(text) == len(word)+1 {
		return from > 0 && isLetter(text[from]) && text[from] == text[from-1]
	}
	if from == len(word) || from == len(text) {
		return false
	}
	switch len(text) - len(word) {
	case 0:
		if from > 0 && len(word) >= minReplaced && text[from+1:] == word[from+1:] && insideWord(text, from) && insideWord(word, from) {
			return true
		}
		return from+1 < len(word) && text[from] == word[from+1] && text[from+1] == word[from] &&
			text[from+2:] == word[from+2:] && !isDigit(text[from]) && !isDigit(text[from+1])
	case -1:
		return from > 0 && isLetter(word[from]) && text[from:] == word[from+1:]
	case 1:
		return from > 0 && isLetter(text[from]) && text[from] == text[from-1] && text[from+1:] == word[from:]
	}
	return false
}

// minReplaced is the minimum length of a key to look for one other letter.
const minReplaced = 8

// insideWord reports whether the byte is a letter between letters.
func insideWord(s string, i int) bool {
	return i > 0 && i+1 < len(s) && isLetter(s[i-1]) && isLetter(s[i]) && isLetter(s[i+1])
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// slip reports a key of an open map that is most likely misspelt.
func (c *checker) slip(v *fleet.Tree, path []string, meant string) {
	c.add(path, v, "no such value: any key can stand here, but this is most likely "+meant+" misspelt",
		diag.DidYouMean(path[len(path)-1], []string{meant}), diag.Fix{Kind: diag.FixName, Old: path[len(path)-1], New: meant})
}
