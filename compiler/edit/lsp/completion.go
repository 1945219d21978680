package lsp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
)

// Kinds of completion items.
const (
	itemField      = 5
	itemValue      = 12
	itemEnumMember = 20
)

type completionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
}

type completionItem struct {
	Label         string         `json:"label"`
	Kind          int            `json:"kind"`
	Detail        string         `json:"detail,omitempty"`
	Documentation *markupContent `json:"documentation,omitempty"`
	FilterText    string         `json:"filterText"`
	TextEdit      textEdit       `json:"textEdit"`
}

// proposal is a word that fits at a position.
type proposal struct {
	text, detail, doc string
}

// completer finds the words that fit at a position, from the last state of the fleet.
type completer struct {
	*cursor
	*snapshot // without clusters before the first check
	types     chartTypes
}

// completion returns the words that fit at a position. It works in a text with syntax
// errors, since the user is typing.
func (s *server) completion(ctx context.Context, p completionParams) (any, error) {
	items := []completionItem{}
	at := s.cursorAt(p.TextDocument.URI, p.Position)
	if at == nil || at.isComment {
		return items, nil
	}
	last, err := s.snapshot(ctx, at.root)
	if err != nil {
		return nil, err
	}
	c := completer{at, last, s.chartTypes(at.root)}
	if last == nil {
		c.snapshot = &snapshot{}
	}
	token := c.token
	if token == (textRange{}) {
		here := positionOf(c.text, c.offset) // within the text
		token = textRange{here, here}
	}
	for _, w := range c.values() {
		quoted := literal.String.Quote(w.text)
		items = append(items, w.item(itemEnumMember, token, quoted, quoted))
	}
	colon := ": "
	if rest := strings.TrimLeft(c.text[offset(c.text, token.End):], " \t"); strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "?:") || strings.HasPrefix(rest, "!:") {
		colon = ""
	}
	for _, w := range c.keys() {
		filter := w.text
		if strings.HasPrefix(c.text[offset(c.text, token.Start):], `"`) {
			filter = literal.String.Quote(w.text)
		}
		label := w.text
		if filter != w.text || ast.StringLabelNeedsQuoting(w.text) {
			label = literal.Label.Quote(w.text)
		}
		items = append(items, w.item(itemField, token, filter, label+colon))
	}
	return items, nil
}

// item returns the proposal as an item that replaces a range.
func (w proposal) item(kind int, at textRange, filter, text string) completionItem {
	i := completionItem{Label: w.text, Kind: kind, Detail: w.detail, FilterText: filter, TextEdit: textEdit{at, text}}
	if w.doc != "" {
		i.Documentation = &markupContent{"markdown", w.doc}
	}
	return i
}

// keys returns the keys that fit at the position: those of the map around it, or of the map
// that is the value of the field whose value is typed.
func (c *completer) keys() []proposal {
	path := c.path
	if c.part == onLabel {
		path = path[:len(path)-1]
	}
	if c.part == onValue && c.isInQuotes() && !c.isAlone() {
		return nil // a text that is the value of a field
	}
	switch n := len(path); {
	case n == 1 && path[0] == "releases":
		return words("release", c.releaseNames())
	case n == 1 && path[0] == "health", n == 3 && path[0] == "releases" && path[2] == "health":
		return c.kinds()
	case n == 3 && path[0] == "releases" && path[2] == "depends":
		return words("release", slices.DeleteFunc(c.releaseNames(), func(name string) bool { return name == path[1] }))
	case n == 3 && path[0] == "releases" && path[2] == "defaults":
		return words("layer of this file", c.layerNames())
	case isSelector(path, n-1) && path[n-1] == "labels":
		return c.labelKeys()
	case n >= 4 && path[0] == "releases" && path[2] == "patches":
		return c.patchKeys(path)
	case n >= 3 && path[0] == "policies" && path[2] == "object":
		return c.objectKeys(append(slices.Clone(path[:2]), "match"), path[3:])
	}
	if value, layer := valuePath(path); len(value) >= 3 && value[0] == "releases" && value[2] == "values" && (layer != "" || path[2] == "values") {
		return c.chartKeys(value[1], value[3:])
	}
	return nil
}

// values returns the texts that fit at the position as the value of a field, or in a list.
func (c *completer) values() []proposal {
	path, n := c.path, len(c.path)
	if c.isInList() {
		path, n = append(slices.Clone(path), "0"), n+1 // in front of an element, or behind the last one
	} else if c.part != onValue {
		return nil
	}
	if n < 2 {
		return nil
	}
	last, above := path[n-1], path[n-2]
	switch {
	case last == "stage":
		return words("stage", c.stages())
	case isSelector(path, n-2) && above == "ids":
		return c.clusterPatterns()
	case isSelector(path, n-2) && above == "environments":
		return words("environment", c.environments())
	case isSelector(path, n-2) && above == "labels":
		return words("label "+last, c.labelValues(last))
	case above == "kinds", above == "replace" && path[0] == "releases":
		return c.kinds()
	case above == "releases" && n >= 3 && (path[n-3] == "match" || path[n-3] == "target"):
		return words("release", c.releaseNames())
	case above == "fields" && n >= 4:
		return c.fieldPaths(path[:n-2], c.typed())
	}
	return nil
}

// isSelector reports whether the field of a path at an index is in a selector of clusters.
func isSelector(path []string, at int) bool {
	return at >= 1 && at < len(path) && (path[at-1] == "clusters" || path[at-1] == "except")
}

// isInQuotes reports whether the token at the position is a text.
func (c *completer) isInQuotes() bool {
	return strings.HasPrefix(c.text[offset(c.text, c.token.Start):], `"`) && c.token != (textRange{})
}

// isAlone reports whether the token is a whole declaration, such as the beginning of a key.
func (c *completer) isAlone() bool {
	n := len(c.nodes)
	if n < 2 {
		return false
	}
	_, ok := c.nodes[n-2].(*ast.EmbedDecl)
	return ok
}

// isInList reports whether the innermost node is a list.
func (c *completer) isInList() bool {
	_, ok := c.nodes[len(c.nodes)-1].(*ast.ListLit)
	return ok
}

// typed returns the text of the token in front of the position, without its quote.
func (c *completer) typed() string {
	from := offset(c.text, c.token.Start)
	if c.token == (textRange{}) || from > c.offset {
		return ""
	}
	return strings.TrimPrefix(c.text[from:c.offset], `"`)
}

// words returns proposals with the same detail, sorted.
func words(detail string, texts []string) []proposal {
	texts = slices.Sorted(slices.Values(texts))
	var out []proposal
	for _, text := range slices.Compact(texts) {
		if text != "" {
			out = append(out, proposal{text: text, detail: detail})
		}
	}
	return out
}

// sorted sorts proposals and removes equal texts.
func sorted(all []proposal) []proposal {
	slices.SortStableFunc(all, func(a, b proposal) int { return cmp.Compare(a.text, b.text) })
	return slices.CompactFunc(all, func(a, b proposal) bool { return a.text == b.text })
}
