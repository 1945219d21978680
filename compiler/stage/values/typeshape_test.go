package values

import (
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	const all = "templates/x.yaml"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"scalars": {map[string]string{
			"values.yaml": "b: true\ni: 1\nf: 1.5\ns: text\ne: ''\nz: null\nempty:\nquoted: \"yes\"\nold: yes\n",
			all:           "{{ if and .Values.b .Values.i .Values.f .Values.s .Values.e .Values.z .Values.empty .Values.quoted .Values.old }}{{ end }}",
		}, `
	// Default: true
	b?: bool | null

	// Default: 1
	i?: number | null

	// Default: 1.5
	f?: number | null

	// Default: "text"
	s?:     string | null
	e?:     bool | number | string | null
	z?:     _
	empty?: _

	// Default: "yes"
	quoted?: string | null

	// Default: true
	old?: bool | null
`},
		"maps": {map[string]string{
			"values.yaml": "closed: {a: 1}\nfree: {}\ndumped: {a: 1}\nranged: {x: {k: 1}}\nonlyKeys: {}\n",
			all: "{{ if .Values.closed.a }}{{ end }}{{ toYaml .Values.free }}{{ toYaml .Values.dumped }}" +
				"{{ range .Values.ranged }}{{ if .k }}{{ end }}{{ end }}{{ if .Values.onlyKeys.k }}{{ end }}{{ if .Values.new.deep }}{{ end }}{{ if .Values.leaf }}{{ end }}",
		}, `
	closed?: {
		// Default: 1
		a?: number | null
	}
	free?: string | {...} | [...] | null
	dumped?: {
		// Default: 1
		a?: number | string | null
		...
	} | null
	ranged?: {
		x?: {
			// Default: 1
			k?: number | null
		}
		...
	} | null
	onlyKeys?: {
		k?: _
	}
	leaf?: _
	new?: {
		deep?: _
	}
`},
		"lists": {map[string]string{
			"values.yaml": "empty: []\nscalars: [1]\nuniform: [{a: 1, b: x}, {a: 2}]\nmixed: [{a: 1}, {a: x}]\ndumped: [{a: 1}]\n",
			all: "{{ if .Values.empty }}{{ end }}{{ if .Values.scalars }}{{ end }}{{ range .Values.uniform }}{{ if .a }}{{ end }}{{ if .c }}{{ end }}{{ end }}" +
				"{{ range .Values.mixed }}{{ if .a }}{{ end }}{{ end }}{{ toYaml .Values.dumped }}",
		}, `
	empty?: [...] | null
	scalars?: [...] | null
	uniform?: [...{
		a?: number | null
		b?: string | null
		c?: _
	}] | null
	mixed?: [...] | null
	dumped?: string | [...] | null
`},
		"YAML": {map[string]string{
			"values.yaml": "a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  own: 2\n\"q.r\": 1\n1: one\n",
			all:           `{{ if and .Values.a.k .Values.b.k .Values.c.k .Values.c.own (index .Values "q.r") (index .Values "1") }}{{ end }}`,
		}, `
	a?: {
		// Default: 1
		k?: number | null
	}
	b?: {
		// Default: 1
		k?: number | null
	}
	c?: {
		// Default: 2
		own?: number | null

		// Default: 1
		k?: number | null
	}

	// Default: 1
	"q.r"?: number | null

	// Default: "one"
	"1"?: string | null
`},
		"text": {map[string]string{
			"values.yaml": "config: {a: 1}\nother: {a: 1}\nodd: {}\nplain: {}\n",
			all: `{{ $c := .Values.config }}{{ if kindIs "string" $c }}{{ end }}{{ if eq (typeOf .Values.other) "string" }}{{ end }}` +
				`{{ if .Values.config.a }}{{ end }}{{ if .Values.other.a }}{{ end }}{{ .Values.odd }}{{ if .Values.plain }}{{ end }}`,
		}, `
	config?: string | {...} | null
	other?: string | {...} | null
	odd?: _
	plain?: {...} | null
`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := definitionOf(t, derive(t, fleetChart(c.files))); got != c.want {
				t.Errorf("got%s\nwant%s", got, c.want)
			}
		})
	}
}

func TestDependencies(t *testing.T) {
	typ := derive(t, umbrella())
	for path, want := range map[string]string{
		"db.enabled": "bool", "db.size": "number", "cache.size": "number", "cache.deep.c": "number", "web.on": "bool", "web.host": "string",
		"tags.fast": "bool", "tags.extra": "bool", "global.db": "bool", "global.zone": "string", "global.m.x": "number", "global.m.w": "number",
		"db.leaf.enabled": "bool", "db.leaf.v": "number", "dbnet.inner.port": "number", "level": "string", "port": "number", "undeclared.q": "number",
		"db.global.zone": "string",
	} {
		at, ok := typ.At(strings.Split(path, ".")...)
		if !ok || !strings.Contains(strings.Join(at.Kinds.Names(), " "), want) || at.Kinds == Any {
			t.Errorf("%s is %v (%v), want %s", path, at.Kinds.Names(), ok, want)
		}
	}
	for _, path := range []string{"leaf", "db.web", "db.x", "tags.no", "web.enabled", "global.m.z"} {
		if at, ok := typ.At(strings.Split(path, ".")...); ok {
			t.Errorf("%s is %v", path, at.Kinds.Names())
		}
	}
}

func TestDocs(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{"values.yaml": strings.TrimPrefix(`
# Header of the file.

## @section Common
## @param image.tag [string, nullable] Tag of the image
## @skip image.pullPolicy
##
image:
  tag: a
  # plain comment
  # of two lines
  plain: 1
  # -- (string) marked
  # and its second line
  # @default -- computed
  marked: x
  # old.path -- old style
  old: 1
  # some words
  # -- the last counts
  last: 1

  #  commented: out
  #  list:
  #    - x
  after: {}
    # limits:
    #   cpu: 1
  next: 1
  behind: 1 # said behind
  # Prose first.
  #
  # example:
  #   a: b
  prose: 1

  # detached

  none: 1
  # ---------------
  # Ruled
  # ---------------
  ruled: 1
  # @schema
  # type: integer
  # @schema
  # described
  schema: 1
`, "\n")}))
	for path, want := range map[string]string{
		"image": "", "image.tag": "Tag of the image", "image.plain": "plain comment\nof two lines", "image.marked": "marked\nand its second line",
		"image.old": "old style", "image.last": "the last counts", "image.after": "", "image.next": "", "image.behind": "said behind",
		"image.prose": "Prose first.", "image.none": "", "image.ruled": "Ruled", "image.schema": "described",
	} {
		if at, ok := typ.At(strings.Split(path, ".")...); !ok || at.Doc != want {
			t.Errorf("%s: %q, want %q", path, at.Doc, want)
		}
	}
	if at, _ := typ.At("image", "plain"); at.Place != "values.yaml:11" {
		t.Errorf("plain is at %s", at.Place)
	}
	for _, key := range []string{"commented", "list", "limits"} {
		if _, ok := typ.At("image", key); ok {
			t.Errorf("%s is a key", key)
		}
	}
}

func TestTidy(t *testing.T) {
	long := strings.Repeat("word ", 500)
	for text, want := range map[string]string{
		"a\r\nb\u2028c\x1b[31m\x00": "a\nbc[31m", "\n\n a \n\n": " a", "tab\tx": "tab x", "\xff\xfe": "", "*/ #x: 1": "*/ #x: 1",
		strings.Repeat("x", 150): strings.Repeat("x", 100) + "\n" + strings.Repeat("x", 50),
	} {
		if got := tidy(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	got := strings.Split(tidy(long), "\n")
	if len(got) != maxDocLines || !strings.HasSuffix(got[maxDocLines-1], "word ...") {
		t.Errorf("got %q", got)
	}
	for _, l := range got {
		if len(l) > maxDocLine+4 || strings.Contains(l, "wor word") {
			t.Errorf("line %q", l)
		}
	}
}
