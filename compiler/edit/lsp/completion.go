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
func (s *server) completion(ctx context.Context, p positionParams) (any, error) {
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
	listed := c.listed()
	for _, w := range c.values() {
		if slices.Contains(listed, w.text) {
			continue
		}
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

// listed returns the texts of the list around the position, except for the one that is typed.
func (c *completer) listed() (out []string) {
	for i, n := range slices.Backward(c.nodes) {
		list, ok := n.(*ast.ListLit)
		if !ok {
			continue
		}
		for _, e := range list.Elts {
			if i+1 == len(c.nodes) || c.nodes[i+1] != e {
				out = append(out, c.key(e))
			}
		}
		return out
	}
	return nil
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
