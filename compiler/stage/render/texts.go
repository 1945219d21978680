package render

import (
	"fmt"
	"reflect"
	"regexp/syntax"
	"strings"
	"text/template"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// textFuncs returns the functions whose result can be far longer than their
// arguments.
func (e *engine) textFuncs() template.FuncMap {
	repeat, indent, nindent := original[func(int, string) string](e, "repeat"), original[func(int, string) string](e, "indent"), original[func(int, string) string](e, "nindent")
	replace, wrapWith := original[func(_, _, _ string) string](e, "replace"), original[func(int, string, string) string](e, "wrapWith")
	join := original[func(string, any) string](e, "join")
	padded := func(f func(int, string) string) func(int, string) string {
		return func(n int, s string) string {
			e.checkSize(1+strings.Count(s, "\n"), n)
			return e.text(f(n, s))
		}
	}
	return template.FuncMap{
		"repeat":  func(n int, s string) string { e.checkSize(n, len(s)); return e.text(repeat(n, s)) },
		"indent":  padded(indent),
		"nindent": padded(nindent),
		"replace": func(from, to, s string) string {
			if len(to) > len(from) {
				e.checkSize(strings.Count(s, from), len(to)-len(from))
			}
			return e.text(replace(from, to, s))
		},
		"wrapWith": func(n int, sep, s string) string {
			e.checkSize(1+len(s), 1+len(sep))
			return e.text(wrapWith(n, sep, s))
		},
		"join": func(sep string, v any) string {
			e.weigh(v)
			e.checkSize(length(v), len(sep))
			return e.text(join(sep, v))
		},
		"printf": func(format string, args ...any) string {
			e.checkSize(1, padding(format)+(1+strings.Count(format, "%"))*e.weigh(args))
			return e.text(fmt.Sprintf(format, args...))
		},
	}
}

// codecFuncs returns the functions that encode and decode. YAML costs a step
// per byte, and decoded values are many times as large as their text.
func (e *engine) codecFuncs() template.FuncMap {
	out := template.FuncMap{}
	toYAML := func(v any) string {
		text, _ := e.source.json.get(toJSON(v), asYAML) // asYAML is slow
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
		e.checkSize(len(s), 16)
		e.allocate(16 * len(s))
	}
	for _, name := range []string{"fromYamlArray", "fromJson", "fromJsonArray", "mustFromJson", "fromToml"} {
		out[name] = e.withCost(e.source.funcs[name], func(args []reflect.Value) {
			s := args[0].String()
			decoded(s)
			if name == "fromToml" && strings.Count(s, "[")+strings.Count(s, "{") > maxBlocks {
				e.stop("templates decode more than %d lists and maps of TOML", maxBlocks)
			}
		})
	}
	out["fromYaml"] = func(s string) map[string]any {
		decoded(s)
		m, kept := e.source.yaml.get(s, fromYAML)
		if kept {
			m = fleet.Clone(m).(map[string]any)
		}
		return m
	}
	return out
}

// padding returns how many characters the widths in a format can add.
func padding(format string) int {
	const widest = 1_000_000 // the limit of package fmt
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

// regexFuncs returns the functions with regular expressions. Matching time is
// at most proportional to the expression times the text.
func (e *engine) regexFuncs() template.FuncMap {
	out := template.FuncMap{}
	for name, f := range e.source.funcs {
		if !strings.HasPrefix(strings.TrimPrefix(strings.ToLower(name), "must"), "regex") || name == "regexQuoteMeta" {
			continue
		}
		out[name] = e.withCost(f, func(args []reflect.Value) {
			re, s := args[0].String(), args[1].Len()
			e.spend(1 + e.instructions(re)*(1+s/16))
			if len(args) == 3 && args[2].Kind() == reflect.String {
				e.checkSize(1+s, 1+args[2].Len()/16)
			}
		})
	}
	return out
}

// instructions returns the program length of a regular expression, or 0 if it
// is invalid.
func (e *engine) instructions(re string) int {
	e.allocate(len(re)) // counted each time, so that the cost does not depend on earlier templates
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
