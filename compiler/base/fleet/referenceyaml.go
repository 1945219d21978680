package fleet

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxYAML limits the size in bytes of a text that is read as YAML.
const maxYAML = 1 << 20

// yamlDocuments returns the documents of a text if the first is a map or a list; nil for
// other texts. A text with a reference in a key, such as {((fleetc:db))}, is hardly YAML.
func yamlDocuments(text string) []*yaml.Node {
	if len(text) > maxYAML || !strings.ContainsAny(text, ":-[") {
		return nil
	}
	var out []*yaml.Node
	for document, err := range YAMLDocuments([]byte(text)) {
		if err != nil || len(document.Content) != 1 || hasReferringKey(document.Content[0]) {
			return nil
		}
		out = append(out, document.Content[0])
	}
	if len(out) == 0 || out[0].Kind != yaml.MappingNode && out[0].Kind != yaml.SequenceNode {
		return nil
	}
	return out
}

// hasReferringKey reports whether a key below a node has a reference.
func hasReferringKey(n *yaml.Node) bool {
	for i, e := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if isKey && strings.Contains(e.Value, referenceStart) || hasReferringKey(e) {
			return true
		}
	}
	return false
}

// sameDocuments reports whether documents after a replacement have the nodes of those
// before it, with the results of replace in their texts.
func sameDocuments(before, after []*yaml.Node, replace func(reference, name string) string) bool {
	return slices.EqualFunc(before, after, func(a, b *yaml.Node) bool {
		if a.Kind != b.Kind || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
			return false
		}
		if a.Kind == yaml.ScalarNode || a.Kind == yaml.AliasNode {
			want := MapReferences(a.Value, replace)
			return b.Value == want && b.ShortTag() == a.ShortTag()
		}
		return sameDocuments(a.Content, b.Content, replace)
	})
}

// quotedYAML returns a YAML document in which each plain scalar with a reference is in
// double quotes, and the quotes of its references by their positions. Other texts are
// returned as they are.
func quotedYAML(text string) (string, map[int]Quote) {
	documents := yamlDocuments(text)
	if documents == nil {
		return text, nil
	}
	r := yamlRewriter{text: text, quotes: map[int]Quote{}}
	for at := 0; ; {
		r.lines = append(r.lines, at)
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	for _, document := range documents {
		r.find(document)
	}
	return r.rewritten()
}

// A yamlRewriter quotes the scalars of a document that have references.
type yamlRewriter struct {
	text    string
	lines   []int // offsets of their beginnings
	scalars []referringScalar
	quotes  map[int]Quote
}

// A referringScalar is a scalar with references.
type referringScalar struct {
	*yaml.Node
	start int // offset
}

// find collects the scalars below a node that have references.
func (r *yamlRewriter) find(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, referenceStart) && n.Line <= len(r.lines) {
		line := r.text[r.lines[n.Line-1]:]
		start := r.lines[n.Line-1]
		for range n.Column - 1 { // columns count characters
			_, size := utf8.DecodeRuneInString(line)
			line, start = line[size:], start+size
		}
		r.scalars = append(r.scalars, referringScalar{n, start})
	}
	for _, e := range n.Content {
		r.find(e)
	}
}

// rewritten returns the text with quoted scalars, and the quotes of the references in it.
func (r *yamlRewriter) rewritten() (string, map[int]Quote) {
	slices.SortFunc(r.scalars, func(a, b referringScalar) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	from := 0
	for _, s := range r.scalars {
		if s.start < from {
			continue // an alias
		}
		b.WriteString(r.text[from:s.start])
		from = s.start
		quote := Quote{Kind: DoubleQuoted}
		switch s.Style &^ yaml.TaggedStyle {
		case yaml.SingleQuotedStyle:
			quote.Kind = SingleQuoted
		case yaml.LiteralStyle, yaml.FoldedStyle:
			quote.Kind = Block
		case 0:
			line, _, _ := strings.Cut(r.text[from:], "\n")
			if at := strings.Index(line, s.Value); at >= 0 { // after an anchor
				b.WriteString(line[:at])
				r.references(&b, `"`+escaped(s.Value)+`"`, quote)
				from += at + len(s.Value)
				continue
			}
			quote.Kind = Unquoted
		}
		count := len(referenceForm.FindAllStringIndex(s.Value, -1))
		all := referenceForm.FindAllStringIndex(r.text[from:], count)
		if len(all) < count {
			continue // the source spells a reference in another way
		}
		to := from + all[count-1][1]
		r.references(&b, r.text[from:to], quote)
		from = to
	}
	b.WriteString(r.text[from:])
	return b.String(), r.quotes
}

// references writes a scalar, and records the quotes of the references in it.
func (r *yamlRewriter) references(b *strings.Builder, text string, quote Quote) {
	for _, at := range referenceForm.FindAllStringIndex(text, -1) {
		if quote.Kind == Block {
			line := text[strings.LastIndexByte(text[:at[0]], '\n')+1 : at[0]]
			quote.Indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
		}
		r.quotes[b.Len()+at[0]] = quote
	}
	b.WriteString(text)
}
