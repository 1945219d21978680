package values

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// newObject adds an object with the key.
func (r *interpreter) newObject(key objectKey) *object {
	o := &object{id: len(r.objects) + 1, site: key.site}
	o.self = &value{objects: []*object{o}}
	r.objects[key] = o
	return o
}

// fieldOfRoot returns the field of the dot of a chart's templates.
func (r *interpreter) fieldOfRoot(root *chartRoot, name string) *value {
	out := r.fieldOfObject(root.extra, name)
	switch name {
	case "Values":
		return r.union(root.values.self, r.union(out, root.values.also))
	case "Files":
		return r.union(root.files.self, out)
	case "Template":
		o := r.made(root, name)
		r.put(o, "BasePath", textOf(path.Join(root.full, "templates")))
		r.put(o, "Name", textOf(wild))
		return r.union(o.self, out)
	case "Chart":
		o := r.made(root, name)
		r.put(o, "Name", textOf(root.name))
		for _, other := range []string{
			"Home", "Sources", "Version", "Description", "Keywords", "Maintainers", "Icon", "APIVersion", "Condition",
			"Tags", "AppVersion", "Deprecated", "Annotations", "KubeVersion", "Dependencies", "Type", "IsRoot",
		} {
			r.put(o, other, anything())
		}
		return r.union(o.self, out)
	case "Subcharts":
		o := r.made(root, name)
		for _, sub := range root.subs {
			r.put(o, sub.name, sub.self)
		}
		return r.union(o.self, out)
	case "Release", "Capabilities":
		return r.union(out, anything())
	}
	return out // Helm sets no other fields
}

// made returns the object for a field of the dot of a chart, which no expression makes.
func (r *interpreter) made(root *chartRoot, name string) *object {
	key := objectKey{call: -root.id, content: name}
	if o := r.objects[key]; o != nil {
		return o
	}
	return r.newObject(key)
}

// table evaluates .Values.Table and .Values.PathValue.
func (r *interpreter) table(p *place, names *value) *value {
	texts, ok := names.literal()
	if !ok {
		r.use(p.self, Printed)
		return anything()
	}
	var out *value
	for _, t := range texts {
		out = r.union(out, r.fields(p.self, strings.Split(t, ".")))
	}
	return out
}

// kindDefault and kindTernary match lines with a kind that a template computes.
var (
	kindDefault = regexp.MustCompile(`^kind: *\{\{-? .* \| default "([A-Z]\w*)" -?\}\}\s*$`)
	kindTernary = regexp.MustCompile(`^kind: *\{\{-? ternary "([A-Z]\w*)" ("([A-Z]\w*)"|\$?\.?[\w.]+) .*\}\}\s*$`)
)

// computedKinds returns the kinds that the first line of the text can have: one
// that is the default of a value, or those of a ternary. It returns none when a
// template computes the kind in another way.
func computedKinds(text string) []apiKind {
	line, _, _ := strings.Cut(text, "\n")
	if m := kindDefault.FindStringSubmatch(line); m != nil {
		return []apiKind{{kind: m[1], replaceable: true}}
	}
	m := kindTernary.FindStringSubmatch(line)
	switch {
	case m == nil:
		return nil
	case m[3] == "":
		return []apiKind{{kind: m[1], replaceable: true}}
	}
	return []apiKind{{kind: m[1]}, {kind: m[3]}}
}

// keyLine splits a line that begins with a key. It returns the width of a
// leading dash with its blanks, the key, and the text after the colon without
// surrounding blanks and actions.
func keyLine(line []byte) (dash int, key, value []byte, ok bool) {
	rest := line
	if bytes.HasPrefix(rest, []byte("- ")) {
		rest = bytes.TrimLeft(rest[1:], " ")
		dash = len(line) - len(rest)
	}
	rest = withoutQuote(rest)
	n := 0
	for n < len(rest) && isKeyByte(rest[n]) {
		n++
	}
	key, rest = rest[:n], withoutQuote(rest[n:])
	if n == 0 || len(rest) == 0 || rest[0] != ':' {
		return 0, nil, nil, false
	}
	rest = rest[1:]
	if len(rest) > 0 && rest[0] != ' ' && rest[0] != blot {
		return 0, nil, nil, false
	}
	return dash, key, bytes.Trim(rest, " "+string(blot)), true
}

func withoutQuote(text []byte) []byte {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		return text[1:]
	}
	return text
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '-' <= c && c <= '9' || c == '_' || c == '$'
}
