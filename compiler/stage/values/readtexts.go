package values

import (
	"strconv"
	"strings"

	"github.com/Masterminds/sprig/v3"
)

// textFunctions are the functions that make texts and that decode them.
func textFunctions() map[string]function {
	table := map[string]function{
		"printf": printfOf,
		"print": func(a arguments) *value {
			a.useAll(Printed)
			out := []string{""}
			for _, v := range a.list {
				a.printBare(v)
				out = concat(out, v.written())
			}
			return &value{texts: out}
		},
	}
	for _, name := range []string{"toYaml", "toYamlPretty", "toJson", "toPrettyJson", "toRawJson"} {
		table[name] = func(a arguments) *value { return a.encode(a.site, a.at(0)) }
	}
	for _, name := range []string{"sha1sum", "sha256sum", "sha512sum", "adler32sum"} {
		table[name] = func(a arguments) *value {
			for _, v := range a.list {
				a.useAt(v, neutral)
			}
			return textOf(wild)
		}
	}
	for _, name := range []string{"fromYaml", "fromJson", "fromYamlArray", "fromJsonArray"} {
		table[name] = decode
	}
	// These preserve an encoded value.
	for _, name := range []string{"indent", "nindent"} {
		table[name] = func(a arguments) *value { return transform(a, true, nil) }
	}
	table["toString"] = func(a arguments) *value {
		return transform(a, true, func(s, _ string) string { return s })
	}
	table["trim"] = func(a arguments) *value {
		return transform(a, true, func(s, _ string) string { return strings.TrimSpace(s) })
	}
	for name, change := range map[string]func(s, by string) string{
		"quote":      func(s, _ string) string { return strconv.Quote(s) },
		"squote":     func(s, _ string) string { return "'" + s + "'" },
		"trimSuffix": strings.TrimSuffix,
		"trimPrefix": strings.TrimPrefix,
		"trimAll":    strings.Trim,
	} {
		table[name] = func(a arguments) *value { return transform(a, false, change) }
	}
	casedTexts(table)
	quotedTexts(table)
	table["replace"] = func(a arguments) *value {
		old, ok := a.at(0).literal()
		by, known := a.at(1).literal()
		if !ok || !known || len(a.list) != 3 || len(old)+len(by) != 2 {
			a.useAll(Printed)
			return textOf(wild)
		}
		a.list = a.list[2:]
		return transform(a, false, func(s, _ string) string { return strings.ReplaceAll(s, old[0], by[0]) })
	}
	return table
}

// transform returns the last argument after the change, which depends on the
// first argument. With keep, an encoded value remains decodable.
func transform(a arguments, keep bool, change func(s, by string) string) *value {
	v := a.last(0)
	useEach(a, a.list[:max(0, len(a.list)-1)], Printed)
	by := []string{""}
	ok := change != nil
	if len(a.list) > 1 {
		var known bool
		by, known = a.at(0).literal()
		ok = ok && known
	}
	texts, known := v.literal()
	if ok && known {
		var out []string
		for _, t := range texts {
			for _, b := range by {
				out = append(out, change(t, b))
			}
		}
		return textOf(out...)
	}
	if keep && v != nil {
		if out := a.output(v); len(out.objects) > 0 {
			return &value{objects: out.objects, texts: wildUnlessEmpty(out.texts)}
		}
	}
	a.use(v, Printed)
	return textOf(wild)
}

// casedTexts adds the functions that change the case or the spaces of one text.
// The analysis calls the functions themselves.
func casedTexts(table map[string]function) {
	helm := sprig.TxtFuncMap()
	for name := range strings.FieldsSeq("lower upper title untitle camelcase snakecase kebabcase swapcase nospace") {
		change := helm[name].(func(string) string)
		table[name] = func(a arguments) *value {
			return transform(a, false, func(s, _ string) string { return change(s) })
		}
	}
}

// quotedTexts adds the functions that quote a text. They preserve a single
// value.
func quotedTexts(table map[string]function) {
	for _, name := range []string{"quote", "squote"} {
		change := table[name]
		table[name] = func(a arguments) *value {
			if v := a.at(0); len(a.list) == 1 && v != nil && len(v.places) > 0 && len(v.objects)+len(v.roots) == 0 {
				return a.quoted(v)
			}
			return change(a)
		}
	}
}

// quoted returns a text whose only content is a value: the sink of the text is
// the sink of the value.
func (a arguments) quoted(v *value) *value {
	a.printBare(v)
	out := a.encode(a.site, v)
	out.objects[0].by = quoted
	return out
}

// wildUnlessEmpty returns the texts after an unknown change. Blank texts remain
// blank.
func wildUnlessEmpty(texts []string) []string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return []string{wild}
		}
	}
	return texts
}

// decode returns the value that was encoded in a text.
func decode(a arguments) *value {
	v := a.at(0)
	if v == nil {
		return anything()
	}
	var out *value
	rest := &value{places: v.places, roots: v.roots}
	for _, o := range v.objects {
		if o.encoded != nil {
			o.read = true
			out = a.union(out, o.encoded)
		} else {
			rest.objects = append(rest.objects, o)
		}
	}
	a.use(rest, Printed)
	if out == nil || v.unknown || len(rest.places)+len(rest.objects) > 0 || !isBlank(&value{texts: v.texts}) {
		out = a.union(out, anything())
	}
	return out
}

// verbForms are the conditions on values that a template prints with a verb.
var verbForms = map[byte]form{'s': stringForm, 'q': stringForm, 't': boolForm | exactForm}

// printfOf returns the texts of a known format and known arguments.
func printfOf(a arguments) *value {
	formats, ok := a.at(0).literal()
	if ok && len(formats) == 1 && formats[0] == "%T" {
		return kindOfValue(a)
	}
	a.useAll(Printed)
	if !ok {
		return textOf(wild)
	}
	var out []string
	for _, format := range formats {
		out = append(out, a.expand(format, a.rest())...)
	}
	return textOf(out...)
}

// expand returns the texts of the format with the arguments. It records which
// kinds the verbs take.
func (a arguments) expand(format string, args []*value) []string {
	out := []string{""}
	for {
		before, after, found := strings.Cut(format, "%")
		out = concat(out, []string{before})
		if !found || after == "" {
			return out
		}
		verb := strings.TrimLeft(after, "+-# 0123456789.")
		if verb == "" {
			return concat(out, []string{wild})
		}
		format = verb[1:]
		if f := verbForms[verb[0]]; f != 0 && len(args) > 0 {
			a.takes(f, args[0])
		}
		switch {
		case verb == after && verb[0] == '%':
			out = concat(out, []string{"%"})
		case strings.ContainsAny(after[:len(after)-len(verb)+1], "*["):
			return concat(out, []string{wild})
		case len(args) == 0:
			out = concat(out, []string{wild})
		case verb == after && (verb[0] == 's' || verb[0] == 'v'):
			out = concat(out, args[0].written())
			args = args[1:]
		default:
			out = concat(out, []string{wild})
			args = args[1:]
		}
	}
}
