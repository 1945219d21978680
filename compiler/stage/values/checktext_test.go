package values

import (
	"strings"
	"testing"
)

func TestCheckTexts(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": `
text: ""
server: {args: {path: /}, size: 1, image: {tag: "1"}}
unused: {a: 1, b: 2}
`,
		"templates/x.yaml": `
a: {{ tpl .Values.text . }}{{ tpl .Values.text (dict "ctx" .) }}
b: {{ .Values.server.args.path }}{{ .Values.server.size }}{{ .Values.server.image.tag }}
`,
	}))
	for name, c := range map[string]struct{ text, values, want string }{
		"a value":            {`{{ .Values.unused.a }}`, "unused: {a: 1}", ""},
		"beside the value":   {`{{ .Values.unused.a }}`, "unused: {b: 1}", "values.unused.b"},
		"dig":                {`{{ dig "args" "path" "/" .Values.server }}`, "server: {szie: 1}", "values.server.szie"},
		"dig, found":         {`{{ dig "args" "other" "/" .Values.server }}`, "server: {args: {other: 1}}", ""},
		"with":               {`{{ with .Values.server }}{{ .extra.a }}{{ end }}`, "server: {extra: {a: 1}, extar: 1}", "values.server.extar"},
		"a condition":        {`{{ if .Values.server.image }}x{{ end }}`, "server: {image: {tga: x}}", ""},
		"a whole map":        {`{{ toYaml .Values.server }}`, "server: {any: 1}", ""},
		"a loop":             {`{{ range $k, $v := .Values.server }}{{ $k }}{{ end }}`, "server: {any: 1}", ""},
		"in another dot":     {`{{ with .ctx }}{{ .Values.server.mine.a }}{{ end }}`, "server: {mine: {a: 1}}", ""},
		"the whole, so":      {`{{ with .ctx }}{{ .Values.server }}{{ end }}`, "server: {any: 1}", ""},
		"not a template":     {`{{ .Values.server.mine.a`, "server: {mine: {a: 1}, imgae: {}}", "values.server.imgae"},
		"an unknown name":    {`{{ f .Values.server.mine }}`, "server: {mine: {a: 1}, imgae: {}}", "values.server.imgae"},
		"the other spelling": {`{{ .Values.server.siez }}`, "server: {siez: 1}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range typ.Check(tree(t, "v.yaml", "text: '"+c.text+"'\n"+c.values), nil) {
				got = append(got, f.Path)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}
