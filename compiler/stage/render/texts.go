package render

import (
	"fmt"
	"reflect"
	"regexp/syntax"
	"strings"
	"text/template"
)

// texts are the functions whose text can be far longer than their arguments.
func (e *engine) texts() template.FuncMap {
	repeat, indent, nindent := original[func(int, string) string](e, "repeat"), original[func(int, string) string](e, "indent"), original[func(int, string) string](e, "nindent")
	replace, wrapWith := original[func(_, _, _ string) string](e, "replace"), original[func(int, string, string) string](e, "wrapWith")
	join := original[func(string, any) string](e, "join")
	padded := func(f func(int, string) string) func(int, string) string {
		return func(n int, s string) string {
			e.room(1+strings.Count(s, "\n"), n)
			return e.text(f(n, s))
		}
	}
	return template.FuncMap{
		"repeat":  func(n int, s string) string { e.room(n, len(s)); return e.text(repeat(n, s)) },
		"indent":  padded(indent),
		"nindent": padded(nindent),
		"replace": func(from, to, s string) string {
			if len(to) > len(from) {
				e.room(strings.Count(s, from), len(to)-len(from))
			}
			return e.text(replace(from, to, s))
		},
		"wrapWith": func(n int, sep, s string) string {
			e.room(1+len(s), 1+len(sep))
			return e.text(wrapWith(n, sep, s))
		},
		"join": func(sep string, v any) string {
			e.weigh(v)
			e.room(length(v), len(sep))
			return e.text(join(sep, v))
		},
		"printf": func(format string, args ...any) string {
			e.room(1, padding(format)+(1+strings.Count(format, "%"))*e.weigh(args))
			return e.text(fmt.Sprintf(format, args...))
		},
	}
}

// codecs are the functions that encode and decode. YAML takes a step for each
// byte, and what is decoded is many times as large as its text.
func (e *engine) codecs() template.FuncMap {
	out := template.FuncMap{}
	toYAML := func(v any) string {
		text, _ := e.source.json.get(toJSON(v), asYAML) // which takes long
		return text
	}
	for name, f := range map[string]func(any) string{
		"toYaml": toYAML, "toYamlPretty": original[func(any) string](e, "toYamlPretty"), "toToml": original[func(any) string](e, "toToml"),
	} {
		out[name] = func(v any) string {
			e.weigh(v)
			s := f(v)
			e.spend(len(s))
			return e.text(s)
		}
	}
	decoded := func(s string) {
		e.spend(len(s))
		e.room(len(s), 16)
		e.make(16 * len(s))
	}
	for _, name := range []string{"fromYamlArray", "fromJson", "fromJsonArray", "mustFromJson", "fromToml"} {
		out[name] = e.generic(e.source.funcs[name], func(args []reflect.Value) {
			s := args[0].String()
			decoded(s)
			if name == "fromToml" && strings.Count(s, "[")+strings.Count(s, "{") > maxBlocks {
				e.stop("templates that decode more than %d lists and maps of TOML", maxBlocks)
			}
		})
	}
	out["fromYaml"] = func(s string) map[string]any {
		decoded(s)
		m, kept := e.source.yaml.get(s, fromYAML)
		if kept {
			m = deepCopy(m).(map[string]any)
		}
		return m
	}
	return out
}

// padding returns how many characters the widths in a format may add.
func padding(format string) int {
	const widest = 1_000_000 // to package fmt
	sum, n, verb := len(format), 0, false
	for _, c := range []byte(format) {
		switch {
		case c == '%':
			verb = !verb
		case !verb:
		case c == '*':
			sum += widest
		case '0' <= c && c <= '9':
			n = min(10*n+int(c-'0'), widest)
			continue
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			verb = false
		}
		sum, n = sum+n, 0
	}
	return sum + n
}

// expressions are the functions with regular expressions. Matching takes at
// most as long as the expression is times the text.
func (e *engine) expressions() template.FuncMap {
	out := template.FuncMap{}
	for name, f := range e.source.funcs {
		if !strings.HasPrefix(strings.TrimPrefix(strings.ToLower(name), "must"), "regex") || name == "regexQuoteMeta" {
			continue
		}
		out[name] = e.generic(f, func(args []reflect.Value) {
			re, s := args[0].String(), args[1].Len()
			e.spend(1 + e.instructions(re)*(1+s/16))
			if len(args) == 3 && args[2].Kind() == reflect.String {
				e.room(1+s, 1+args[2].Len()/16)
			}
		})
	}
	return out
}

// instructions returns how long the program of a regular expression is; 0 when
// it is none.
func (e *engine) instructions(re string) int {
	e.make(len(re)) // each time: what a template takes does not depend on those before it
	n, known := e.regexs[re]
	if known {
		return n
	}
	if parsed, err := syntax.Parse(re, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(parsed.Simplify()); err == nil {
			n = len(prog.Inst)
		}
	}
	e.regexs[re] = n
	return n
}
