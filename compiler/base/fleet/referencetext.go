package fleet

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A TextPart is a part of a text with references: a literal, a reference, or base64 of a
// text with references.
type TextPart struct {
	Text      string // the literal, or the text that is encoded
	IsEncoded bool   // whether Text is encoded
	Reference string // the reference; empty for other parts
	Name      string // of the secret
	Quote     Quote  // how the document around the reference writes its value
}

// A Quote says how a document writes a value.
type Quote struct {
	Kind   QuoteKind
	Indent string // of the lines of a block
}

// A QuoteKind is a kind of [Quote].
type QuoteKind int

const (
	Unquoted     QuoteKind = iota
	DoubleQuoted           // inside of a string of JSON, or of YAML in double quotes
	SingleQuoted           // inside of a string of YAML in single quotes
	Block                  // in a block scalar of YAML
)

// Write returns a value as the document writes it.
func (q Quote) Write(value string) string {
	switch q.Kind {
	case DoubleQuoted:
		return escaped(value)
	case SingleQuoted:
		return strings.ReplaceAll(value, "'", "''")
	case Block:
		return strings.ReplaceAll(value, "\n", "\n"+q.Indent)
	}
	return value
}

// escaped returns a text as it stands between the quotes of a JSON string.
func escaped(text string) string {
	text = diag.AsJSON(text)
	return text[1 : len(text)-1]
}

// ParseReferences returns the parts of a text. References in a JSON document are in double
// quotes. In a YAML document each scalar with a reference is rewritten so that any value
// can stand in it, if that can be done. A text without references has one part.
func ParseReferences(text string) []TextPart { return parseReferences(text, true, maxEncodings) }

// parseReferences is [ParseReferences]. quoteYAML says whether to rewrite scalars of YAML.
func parseReferences(text string, quoteYAML bool, depth int) []TextPart {
	var out []TextPart
	from := 0
	literal := func(to int) {
		out = append(out, splitEncoded(text[from:to], depth)...)
		from = to
	}
	if strings.Contains(text, referenceStart) {
		var quotes map[int]Quote
		if isJSON(text) {
			quotes = allQuoted
		} else if quoteYAML {
			text, quotes = quotedYAML(text)
		}
		for _, at := range referenceForm.FindAllStringSubmatchIndex(text, -1) {
			literal(at[0])
			quote, ok := quotes[at[0]]
			if !ok {
				quote = quotes[everywhere]
			}
			out = append(out, TextPart{Reference: text[at[0]:at[1]], Name: text[at[2]:at[3]], Quote: quote})
			from = at[1]
		}
	}
	literal(len(text))
	return out
}

// everywhere is the key of the quote of all other references.
const everywhere = -1

// allQuoted are the quotes of the references in a JSON document.
var allQuoted = map[int]Quote{everywhere: {Kind: DoubleQuoted}}

// isJSON reports whether a text is an object or a list of JSON.
func isJSON(text string) bool { return isFlow(text) && json.Valid([]byte(text)) }

// isFlow reports whether a text begins like an object or a list of JSON.
func isFlow(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// splitEncoded returns the parts of a text without plain references: base64 of texts with
// references, and literals.
func splitEncoded(text string, depth int) []TextPart {
	if depth == 0 || !encodedSearch.in(text) {
		if text == "" {
			return nil
		}
		return []TextPart{{Text: text}}
	}
	var out []TextPart
	from := 0
	for _, at := range base64Run.FindAllStringIndex(text, -1) {
		decoded, err := base64.StdEncoding.DecodeString(text[at[0]:at[1]])
		if err != nil || !hasReference(string(decoded), depth-1) {
			continue
		}
		if at[0] > from {
			out = append(out, TextPart{Text: text[from:at[0]]})
		}
		out = append(out, TextPart{Text: string(decoded), IsEncoded: true})
		from = at[1]
	}
	if from < len(text) {
		out = append(out, TextPart{Text: text[from:]})
	}
	return out
}

// hasReference reports whether a text has a reference, also in base64.
func hasReference(text string, depth int) bool {
	return slices.ContainsFunc(parseReferences(text, false, depth), func(part TextPart) bool { return part.Reference != "" || part.IsEncoded })
}

// MapReferences returns a text with each reference replaced by the result of replace, also
// in base64 inside of the text. In a JSON or YAML document the result is quoted where it
// must be, so that the document stays valid and its other values stay. A text without
// references is returned as it is.
func MapReferences(text string, replace func(reference, name string) string) string {
	if !startSearch.in(text) {
		return text
	}
	out, _ := mapReferences(text, replace, maxEncodings)
	return out
}

// FitsDocument reports whether the text that [MapReferences] returns is the same document
// as text but for the values of references. It is true for a text that is not YAML.
func FitsDocument(text string, replace func(reference, name string) string) bool {
	if !startSearch.in(text) {
		return true
	}
	_, fits := mapReferences(text, replace, maxEncodings)
	return fits
}

func mapReferences(text string, replace func(reference, name string) string, depth int) (out string, fits bool) {
	out, fits = joinParts(parseReferences(text, false, depth), replace, depth)
	if !strings.Contains(text, referenceStart) || isJSON(text) {
		return out, fits
	}
	before := yamlDocuments(text)
	if before != nil && isFlow(text) && !strings.Contains(out, referenceStart) { // perhaps JSON with references that are not in quotes
		if quoted, fits := joinParts(parseReferences(text, true, depth), replace, depth); isJSON(quoted) {
			return quoted, fits
		}
	}
	isSame := before == nil || sameDocuments(before, yamlDocuments(out), replace)
	if before == nil || isSame && !hasAmbiguous(text, replace) {
		return out, fits
	}
	quoted, quotedFits := joinParts(parseReferences(text, true, depth), replace, depth)
	if sameDocuments(before, yamlDocuments(quoted), replace) {
		return quoted, quotedFits
	}
	return out, fits && isSame
}

// ambiguous matches values that YAML 1.1 does not read as texts, or not in all parsers.
var ambiguous = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$|^[-+]?[0-9][0-9_]*_[0-9_]*$|\t|:$`)

// hasAmbiguous reports whether a reference in a text has a value that only quotes make a text
// in all parsers of YAML.
func hasAmbiguous(text string, replace func(reference, name string) string) bool {
	return slices.ContainsFunc(referenceForm.FindAllStringSubmatch(text, -1), func(m []string) bool { return ambiguous.MatchString(replace(m[0], m[1])) })
}

// joinParts returns a text with the results of replace, and whether all documents in base64
// inside of it are valid.
func joinParts(parts []TextPart, replace func(reference, name string) string, depth int) (out string, fit bool) {
	var b strings.Builder
	fit = true
	for _, part := range parts {
		switch {
		case part.IsEncoded:
			mapped, fits := mapReferences(part.Text, replace, depth-1)
			b.WriteString(base64.StdEncoding.EncodeToString([]byte(mapped)))
			fit = fit && fits
		case part.Reference != "":
			b.WriteString(part.Quote.Write(replace(part.Reference, part.Name)))
		default:
			b.WriteString(part.Text)
		}
	}
	return b.String(), fit
}
