package report

import (
	"encoding/base64"
	"index/suffixarray"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// hidden replaces a value that occurs in a Secret.
const hidden = "<secret>"

// minPart is the length from which a value is also hidden if it is a part of a longer text
// in a Secret, such as a password in an address. Shorter texts occur everywhere.
const minPart = 6

// maxPassword is the length up to which a text of a Secret is searched in longer values.
const maxPassword = 256

// secretTexts are the texts in the Secrets of all clusters. The report hides a value that
// equals, contains or is part of one of them, because more people read the report than the
// repository. Add all Secrets before the first search.
type secretTexts struct {
	whole diff.SecretTexts
	texts map[string]bool    // decoded, of the length of parts or more
	index *suffixarray.Index // of texts; nil before the first search
	short []string           // texts that are searched in values
	known map[string]bool    // results of containsText
}

func newSecretTexts() secretTexts {
	return secretTexts{whole: diff.SecretTexts{}, texts: map[string]bool{}, known: map[string]bool{}}
}

// add adds the texts of an object if it is a Secret.
func (s *secretTexts) add(o fleet.Object) {
	s.whole.Add(o)
	if !strings.EqualFold(o.GetKind(), "Secret") {
		return
	}
	for _, key := range []string{"data", "stringData"} {
		fields, _ := o.Object[key].(map[string]any)
		for _, v := range fields {
			text, _ := v.(string)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && key == "data" {
				text = string(decoded)
			}
			if text = strings.TrimSpace(text); len(text) >= minPart {
				s.texts[text] = true
			}
		}
	}
}

// prepare prepares the search.
func (s *secretTexts) prepare() {
	texts := slices.Sorted(maps.Keys(s.texts))
	s.index = suffixarray.New([]byte(strings.Join(texts, "\x00")))
	for _, text := range texts {
		if len(text) <= maxPassword {
			s.short = append(s.short, text)
		}
	}
}

// contains reports whether a decoded JSON value contains a text that must be hidden.
func (s *secretTexts) contains(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if s.contains(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if s.contains(e) {
				return true
			}
		}
	case string:
		return s.containsText(v)
	}
	return s.whole.Contains(v)
}

// containsText reports whether a text must be hidden.
func (s *secretTexts) containsText(text string) bool {
	if found, ok := s.known[text]; ok {
		return found
	}
	if s.index == nil {
		s.prepare()
	}
	found := s.whole.Contains(text)
	if trimmed := strings.TrimSpace(text); len(trimmed) >= minPart {
		found = found || len(s.index.Lookup([]byte(trimmed), 1)) > 0 ||
			slices.ContainsFunc(s.short, func(secret string) bool { return strings.Contains(trimmed, secret) })
	}
	s.known[text] = found
	return found
}

// text returns a value in one line, without secrets.
func (s *secretTexts) text(v any) string {
	if s.contains(v) {
		return hidden
	}
	return diff.ValueText(v)
}
