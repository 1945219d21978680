package query

import (
	"encoding/base64"
	"encoding/json"
	"index/suffixarray"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// hidden replaces a value that occurs in a Secret.
const hidden = "<secret>"

// minPart is the length from which a value is also hidden if it is a part of a longer text
// in a Secret, such as a password in an address. Shorter texts occur everywhere.
const minPart = diff.MinText

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
			s.addText(text)
			for _, part := range base64Part.FindAllString(text, -1) { // as in the credentials of a registry
				if decoded, err := base64.StdEncoding.DecodeString(part); err == nil && utf8.Valid(decoded) {
					s.addText(string(decoded))
				}
			}
		}
	}
}

// addText adds a text unless it is too short.
func (s *secretTexts) addText(text string) {
	if text = strings.TrimSpace(text); len(text) >= minPart {
		s.texts[text] = true
	}
}

// base64Part matches a part of a text that may be in base64.
var base64Part = regexp.MustCompile(`[A-Za-z0-9+/]{8,}={0,2}`)

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
		for k, e := range v {
			if s.whole.Contains(k) || s.contains(e) { // parts of Secrets are often keys
				return true
			}
		}
	case []any:
		if slices.ContainsFunc(v, s.contains) {
			return true
		}
	}
	return slices.ContainsFunc(diff.ScalarTexts(v), s.containsText)
}

// containsText reports whether a text must be hidden.
func (s *secretTexts) containsText(text string) bool {
	if found, ok := s.known[text]; ok {
		return found
	}
	if s.index == nil {
		s.prepare()
	}
	found := s.whole.Contains(text) || slices.ContainsFunc(forms(text), s.containsPart)
	s.known[text] = found
	return found
}

// containsPart reports whether a form of a text is a part of a secret, or has one in it.
func (s *secretTexts) containsPart(form string) bool {
	return len(s.index.Lookup([]byte(form), 1)) > 0 ||
		slices.ContainsFunc(s.short, func(secret string) bool { return strings.Contains(form, secret) })
}

// forms returns a text as charts print it into Secrets: in JSON, in an address, decoded from
// base64, and line by line with an indent. It leaves out forms that are too short.
func forms(text string) []string {
	text = strings.TrimSpace(text)
	out := []string{text, url.QueryEscape(text), url.PathEscape(text)}
	if quoted, err := json.Marshal(text); err == nil {
		inner := string(quoted[1 : len(quoted)-1])
		out = append(out, inner, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(inner))
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if decoded, err := encoding.DecodeString(text); err == nil {
			out = append(out, strings.TrimSpace(string(decoded)))
		}
	}
	const line = 16 // shorter lines occur in many texts
	for part := range strings.Lines(text) {
		if part = strings.TrimSpace(part); len(part) >= line {
			out = append(out, part)
		}
	}
	return slices.DeleteFunc(diag.Distinct(out), func(form string) bool { return len(form) < minPart })
}

// text returns a value in one line, without secrets.
func (s *secretTexts) text(v any) string {
	if s.contains(v) {
		return hidden
	}
	return diff.ValueText(v)
}
