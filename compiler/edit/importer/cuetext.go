package importer

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A cuePrinter writes nodes as CUE. Its output is formatted afterwards; it only takes care
// of the indentation of texts with several lines.
type cuePrinter struct {
	bytes.Buffer
	depth int
	used  map[string]bool // gets the facts of the cluster to which the text refers

	encodes bool // whether the text needs the package encoding/base64
}

// plainKey matches labels that need no quotes.
var plainKey = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

// keywords are identifiers that labels cannot be, or that expressions of a layer use.
const keywords = " package import for in if let else true false null cluster releases secrets base64 fleet self "

// cueLabel returns a label.
func cueLabel(key string) string {
	if plainKey.MatchString(key) && !strings.Contains(keywords, " "+key+" ") {
		return key
	}
	return quote(key)
}

// quote returns a string literal of CUE, which JSON strings are.
func quote(s string) string { return diag.AsJSON(s) }

// fact returns the reference to a fact of the cluster; to its name if that of the fact is empty.
func (p *cuePrinter) fact(name string) string {
	if name == "" {
		return "cluster.name"
	}
	p.used[name] = true
	return "cluster.facts." + name
}

func (p *cuePrinter) indent() { p.WriteString(strings.Repeat("\t", p.depth)) }

// comment writes comment lines.
func (p *cuePrinter) comment(text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		p.indent()
		p.WriteString("// " + line + "\n")
	}
}

// field writes a field of a map. A map with one field is written in the same line.
func (p *cuePrinter) field(key string, n *Node) {
	p.comment(n.Comment)
	p.indent()
	p.chain(key, n)
	p.WriteString("\n")
}

func (p *cuePrinter) chain(key string, n *Node) {
	p.WriteString(cueLabel(key) + ": ")
	if n.IsMap && len(n.Fields) == 1 && n.Fields[0].Value.Comment == "" {
		p.chain(n.Fields[0].Key, n.Fields[0].Value)
		return
	}
	p.value(n)
}

// value writes a value.
func (p *cuePrinter) value(n *Node) {
	if text, ok := p.inline(n); ok {
		p.WriteString(text)
		return
	}
	switch {
	case n.IsMap && len(n.Fields) == 0:
		p.WriteString("{}")
	case n.IsMap:
		p.WriteString("{\n")
		p.depth++
		for _, f := range n.Fields {
			p.field(f.Key, f.Value)
		}
		p.depth--
		p.indent()
		p.WriteString("}")
	case n.IsList:
		p.list(n)
	case len(n.Parts) == 3 && n.Parts[0] == "" && n.Parts[2] == "":
		p.WriteString(p.fact(n.Parts[1]))
	case n.Parts != nil:
		p.WriteString(`"`)
		for i, part := range n.Parts {
			if i%2 == 1 {
				p.WriteString(`\(` + p.fact(part) + `)`)
				continue
			}
			text := quote(part)
			p.WriteString(text[1 : len(text)-1])
		}
		p.WriteString(`"`)
	default:
		if text, ok := n.Scalar.(string); ok {
			p.text(text)
			return
		}
		p.WriteString(diag.AsJSON(n.Scalar))
	}
}

// inline returns a map as one line when it is short.
func (p *cuePrinter) inline(n *Node) (string, bool) {
	const most, width = 4, 80
	if !n.IsMap || len(n.Fields) == 0 || len(n.Fields) > most {
		return "", false
	}
	line := cuePrinter{used: p.used}
	for i, f := range n.Fields {
		if v := f.Value; v.Comment != "" || v.IsMap && len(v.Fields) > 1 || v.IsList && len(v.List) > 1 {
			return "", false
		}
		if i > 0 {
			line.WriteString(", ")
		}
		line.chain(f.Key, f.Value)
	}
	if text := line.String(); len(text) <= width && !strings.Contains(text, "\n") {
		p.encodes = p.encodes || line.encodes
		return "{" + text + "}", true
	}
	return "", false
}

// list writes a list, in one line when its elements are short scalars. The brackets of a list
// of maps stand beside the braces.
func (p *cuePrinter) list(n *Node) {
	long, width := false, 0
	for _, e := range n.List {
		text, _ := e.Scalar.(string)
		width += len(text) + len(", ")
		long = long || e.IsMap || e.IsList || e.Comment != "" || strings.Contains(text, "\n")
	}
	const most = 100
	if !long && width < most || p.joinsBraces(n) {
		p.WriteString("[")
		for i, e := range n.List {
			if i > 0 {
				p.WriteString(", ")
			}
			p.value(e)
		}
		p.WriteString("]")
		return
	}
	p.WriteString("[\n")
	p.depth++
	for _, e := range n.List {
		p.comment(e.Comment)
		p.indent()
		p.value(e)
		p.WriteString(",\n")
	}
	p.depth--
	p.indent()
	p.WriteString("]")
}

// joinsBraces reports whether a list of maps is written with each bracket beside a brace.
func (p *cuePrinter) joinsBraces(n *Node) bool {
	return !slices.ContainsFunc(n.List, func(e *Node) bool {
		_, short := p.inline(e)
		return !e.IsMap || e.Comment != "" || len(e.Fields) == 0 || short && len(n.List) > 1
	})
}

// secretReference matches a reference to a secret in a text.
var secretReference = regexp.MustCompile(`\(\(fleetc:([-_.A-Za-z0-9]+)\)\)`)

// text writes a string, as a block where that is readable. References to secrets become
// references of CUE, also in base64.
func (p *cuePrinter) text(v string) {
	field := func(reference string) string {
		name := secretReference.FindStringSubmatch(reference)[1]
		if !plainKey.MatchString(name) {
			name = quote(name)
		}
		return "secrets." + name + ".ref"
	}
	if secretReference.FindString(v) == v && v != "" {
		p.WriteString(field(v))
		return
	}
	if decoded, err := base64.StdEncoding.DecodeString(v); err == nil && utf8.Valid(decoded) && secretReference.Match(decoded) {
		p.encodes = true
		p.WriteString("base64.Encode(null, ")
		p.text(string(decoded))
		p.WriteString(")")
		return
	}
	out := cuePrinter{depth: p.depth}
	if !out.block(v) {
		out.WriteString(quote(v))
	}
	hash := ""
	if strings.HasPrefix(out.String(), "#") {
		hash = "#"
	}
	p.WriteString(secretReference.ReplaceAllStringFunc(out.String(), func(reference string) string { return `\` + hash + "(" + field(reference) + ")" }))
}

// block writes a text of several lines as a block, and reports whether it can be one.
func (p *cuePrinter) block(text string) bool {
	if !strings.Contains(strings.TrimSuffix(text, "\n"), "\n") || strings.ContainsAny(text, "\r\x00\ufeff") || strings.ToValidUTF8(text, "") != text {
		return false
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' {
			return false
		}
	}
	hash := ""
	if strings.ContainsAny(text, `\`) || strings.Contains(text, `"""`) {
		hash = "#"
		if strings.Contains(text, `\#`) || strings.Contains(text, `"""#`) {
			return false
		}
	}
	p.WriteString(hash + `"""` + "\n")
	p.depth++
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			p.indent()
			p.WriteString(line)
		}
		p.WriteString("\n")
	}
	p.indent()
	p.WriteString(`"""` + hash)
	p.depth--
	return true
}
