package edit

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An inserter inserts fields into the files of a layer.
type inserter struct {
	files  []*sourceFile // as they are before
	origin string        // base name of the file that the fields come from
	places []*place
}

// A place is where fields go: the braces of a struct, or the top of a file.
type place struct {
	file   *sourceFile
	lit    *ast.StructLit // nil for the top of the file
	path   []string       // of the struct
	fields []insertedField
}

// An insertedField is a field with its text.
type insertedField struct {
	keys []string // of the field and of the chain below it
	text string
}

// insert adds the fields below releases to the files of the layer, and returns the new texts
// by name.
func (in *inserter) insert(releases *branch) map[string][]byte {
	for _, r := range releases.below {
		top := in.at(in.fileOf(r.key), nil, nil)
		in.descend([]*branch{releases, r}, top)
	}
	out := map[string][]byte{}
	for _, f := range in.files {
		var splices []splice
		for _, p := range in.places {
			if p.file == f {
				splices = append(splices, p.splices()...)
			}
		}
		if len(splices) > 0 {
			out[f.name] = spliced(f.text, splices)
		}
	}
	return out
}

// descend inserts the last branch of a trail into the innermost struct with braces that the
// files have for it. trail has the branches from releases on.
func (in *inserter) descend(trail []*branch, within *place) {
	b, at := trail[len(trail)-1], keysOf(trail)
	if file, lit := in.braces(at); lit != nil {
		within = in.at(file, lit, at)
	}
	var rest []*branch
	for _, c := range b.below {
		if in.reaches(c, append(slices.Clone(at), c.key)) {
			in.descend(append(slices.Clone(trail), c), within)
		} else {
			rest = append(rest, c)
		}
	}
	if len(rest) == 0 {
		return
	}
	extra := slices.Concat(diag.Each(trail[:len(within.path)], (*branch).takeComments)...)
	if len(within.path) == len(at) {
		for _, c := range rest {
			within.fields = append(within.fields, insertedField{c.keys(), c.text(extra)})
			extra = nil
		}
		return
	}
	for i := len(trail) - 1; i >= len(within.path); i-- {
		whole := *trail[i]
		whole.below = rest
		trail[i].comment = comment{}
		rest = []*branch{&whole}
	}
	within.fields = append(within.fields, insertedField{rest[0].keys(), rest[0].text(extra)})
}

// takeComments returns the comments of a branch that is not written itself, and removes them
// from it.
func (b *branch) takeComments() []string {
	out := b.above
	if b.after != "" {
		out = append(slices.Clone(out), b.after)
	}
	b.comment = comment{}
	return out
}

// keys returns the key of a branch and those of the chain below it.
func (b *branch) keys() []string {
	if b.isChain() {
		return append([]string{b.key}, b.below[0].keys()...)
	}
	return []string{b.key}
}

func keysOf(trail []*branch) []string {
	return diag.Each(trail, func(b *branch) string { return b.key })
}

// reaches reports whether the files have a struct with braces for a branch or one below it.
func (in *inserter) reaches(b *branch, at []string) bool {
	if _, lit := in.braces(at); lit != nil && len(b.below) > 0 {
		return true
	}
	return slices.ContainsFunc(b.below, func(c *branch) bool { return in.reaches(c, append(slices.Clone(at), c.key)) })
}

// braces returns the first struct with braces at a path.
func (in *inserter) braces(at []string) (*sourceFile, *ast.StructLit) {
	bracesOf := func(f *ast.Field) (braces *ast.StructLit) {
		structs := structsIn(f.Value)
		if i := slices.IndexFunc(structs, func(lit *ast.StructLit) bool { return lit.Lbrace.IsValid() }); i >= 0 {
			braces = structs[i]
		}
		return braces
	}
	for _, file := range in.files {
		chain := fieldsTo(file.parsed.Decls, at, func(f *ast.Field) bool { return bracesOf(f) != nil })
		if chain != nil && !file.isLink {
			return file, bracesOf(chain[len(chain)-1])
		}
	}
	return nil, nil
}

// at returns the place for a struct or for the top of a file.
func (in *inserter) at(file *sourceFile, lit *ast.StructLit, at []string) *place {
	for _, p := range in.places {
		if p.file == file && p.lit == lit {
			return p
		}
	}
	p := &place{file: file, lit: lit, path: at}
	in.places = append(in.places, p)
	return p
}

// fileOf returns the file for the fields of a release: the first that has the release, that
// is called like the file of the fields, or that has releases; else the first.
func (in *inserter) fileOf(release string) *sourceFile {
	rank := func(f *sourceFile) int {
		depth := 0
		for _, d := range f.parsed.Decls {
			depth = max(depth, commonKeys(d, []string{releasesField, release}))
		}
		switch {
		case f.isLink:
			return 4
		case depth > 1:
			return 0
		case path.Base(f.name) == in.origin:
			return 1
		case depth > 0:
			return 2
		}
		return 3
	}
	return slices.MinFunc(in.files, func(a, b *sourceFile) int { return cmp.Compare(rank(a), rank(b)) })
}

// commonKeys returns how many keys a declaration has in common with a path, along its fields.
func commonKeys(d ast.Decl, keys []string) int {
	f, ok := d.(*ast.Field)
	if !ok || len(keys) == 0 {
		return 0
	}
	if key, ok := keyOf(f); !ok || key != keys[0] {
		return 0
	}
	most := 0
	for _, lit := range structsIn(f.Value) {
		for _, below := range lit.Elts {
			most = max(most, commonKeys(below, keys[1:]))
		}
	}
	return 1 + most
}

// A splice replaces nothing at a place of a text by another text.
type splice struct {
	at   int
	text string
}

// spliced returns the text with the splices, in their order where places are equal.
func spliced(text []byte, splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return cmp.Compare(a.at, b.at) })
	var out []byte
	from := 0
	for _, s := range splices {
		out = append(append(out, text[from:s.at]...), s.text...)
		from = s.at
	}
	return append(out, text[from:]...)
}

// splices returns the texts to insert.
func (p *place) splices() []splice {
	if p.lit != nil && p.lit.Lbrace.Line() == p.lit.Rbrace.Line() {
		return p.intoLine()
	}
	elts, indent := p.file.parsed.Decls, ""
	if p.lit != nil {
		elts, indent = p.lit.Elts, p.indent()+"\t"
	}
	var out []splice
	for _, f := range p.fields {
		text := indented(f.text, indent) + "\n"
		at, ok := p.after(elts, f.keys)
		switch {
		case ok:
		case p.lit != nil:
			at = p.lit.Rbrace.Offset()
			begin := bytes.LastIndexByte(p.file.text[:at], '\n') + 1
			if len(bytes.TrimSpace(p.file.text[begin:at])) == 0 {
				at = begin
			} else {
				text = "\n" + text
			}
		default:
			at = len(p.file.text)
			text = "\n" + text
		}
		if at > 0 && p.file.text[at-1] != '\n' && !strings.HasPrefix(text, "\n") {
			text = "\n" + text
		}
		out = append(out, splice{at, text})
	}
	return out
}

// after returns the place after the last declaration that has most keys in common with a
// path, false when there is none that ends its line.
func (p *place) after(elts []ast.Decl, keys []string) (int, bool) {
	least := 1
	if p.lit == nil {
		least = 2 // the key of releases says little
	}
	best, at := 0, 0
	for _, d := range elts {
		n := commonKeys(d, keys)
		if n < least || n < best {
			continue
		}
		end := d.End().Offset()
		line := p.file.text[end:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		rest := bytes.TrimLeft(line, ", \t\r\n")
		if len(rest) == 0 || bytes.HasPrefix(rest, []byte("//")) {
			best, at = n, end+len(line)
		}
	}
	return at, best > 0
}

// indent returns the white space before the line in which the struct begins.
func (p *place) indent() string {
	at := p.lit.Lbrace.Offset()
	line := p.file.text[bytes.LastIndexByte(p.file.text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// intoLine returns the texts to insert into a struct that is written in one line. It stays in
// one line if that is short.
func (p *place) intoLine() []splice {
	const most = 100
	lit := p.lit
	begin := bytes.LastIndexByte(p.file.text[:lit.Lbrace.Offset()], '\n') + 1
	width := lit.Rbrace.Offset() - begin
	isShort := true
	var texts []string
	for _, f := range p.fields {
		isShort = isShort && !strings.Contains(f.text, "\n") && !strings.Contains(f.text, "//")
		width += len(f.text) + len(", ")
		texts = append(texts, f.text)
	}
	isEmpty := len(lit.Elts) == 0
	if isShort && width < most {
		text := strings.Join(texts, ", ")
		if !isEmpty {
			return []splice{{lit.Elts[len(lit.Elts)-1].End().Offset(), ", " + text}}
		}
		return []splice{{lit.Lbrace.Offset() + 1, text}}
	}
	indent := p.indent()
	text := "\n" + indented(strings.Join(texts, "\n"), indent+"\t") + "\n" + indent
	if isEmpty {
		return []splice{{lit.Rbrace.Offset(), text}}
	}
	return []splice{{lit.Lbrace.Offset() + 1, "\n" + indent + "\t"}, {lit.Rbrace.Offset(), text}}
}
