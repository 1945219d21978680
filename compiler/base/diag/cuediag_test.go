package diag

import (
	"bytes"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

func TestFaults(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"a conflict has both places", `a: 1, a: 2`, `x.cue:1:10: a: set to two different values, 2 and 1 [FL1202]
    x.cue:1:4: and here
    hint: keep one of the two lines
`},
		{"alternatives are folded", `a: "p" | "q", a: "r"`, `x.cue:1:4: a: "r" is not one of "p", "q" [FL1201]
    x.cue:1:18: and here
    x.cue:1:10: and here
    hint: did you mean "p"?
`},
		{"a map for a number with a default", `a: *2 | int, a: {}`, `x.cue:1:17: a: this is a map, and must be an integer [FL1203]
    x.cue:1:5: and here
    x.cue:1:9: and here
    hint: write an integer
`},
		{"no type of several", `a: int | string, a: true`, `x.cue:1:21: a: true is a bool, and must be a string or an integer [FL1203]
    x.cue:1:4: and here
    x.cue:1:10: and here
    hint: write a string or an integer
`},
		{"a list or a text", `a: string | [...string], a: 1`, `x.cue:1:29: a: 1 is a number, and must be a list or a string [FL1203]
    x.cue:1:4: and here
    x.cue:1:13: and here
    hint: write a list or a string
`},
		{"a required list", `#a: {b!: [...string]}, c: #a & {}`, `x.cue:1:6: c.b: field is required but not present [FL1205]
    hint: add b: ["..."]
`},
		{"a required parameter in a text", `#s: {#n!: int, r: b: "a\(#n)"}, r: (#s & {#m: 1}).r`, `x.cue:1:22: r.b: a value inserted here is not set: #n [FL1205]
    x.cue:1:26: and here
    hint: set it where this is used: #n: ...
`},
		{"a half-written field", `a: {b: 3, ro}`, `x.cue:1:11: a: no field or import is called ro [FL1005]
    hint: write "ro" if it is a string
`},
		{"what refers to a fault is no fault of its own", `a: 1, a: 2, b: "\(a)"`, `x.cue:1:10: a: set to two different values, 2 and 1 [FL1202]
    x.cue:1:4: and here
    hint: keep one of the two lines
`},
		{"a cycle", `a: b + 1, b: a + 1`, `x.cue:1:4: a: refers to itself through b [FL1011]
    hint: set one of them to a value
x.cue:1:14: b: refers to itself through a [FL1011]
    hint: set one of them to a value
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := cuecontext.New().CompileString(test.in, cue.Filename("/fleet/x.cue"))
			err := v.Validate(cue.Concrete(true))
			if err == nil {
				t.Fatal("there is no fault")
			}
			var b bytes.Buffer
			if err := WriteText(&b, CUEFaults("/fleet", err, v).Err(), nil); err != nil {
				t.Fatal(err)
			}
			if b.String() != test.want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), test.want)
			}
		})
	}
}

func TestPos(t *testing.T) {
	v := cuecontext.New().CompileString("a: 1", cue.Filename("/fleet/environments/x.cue"))
	for root, want := range map[string]string{
		"/fleet": "environments/x.cue:1:1", "/fleet/environments": "x.cue:1:1", "/other": "/fleet/environments/x.cue:1:1",
	} {
		if got := CUEPos(root, v.LookupPath(cue.ParsePath("a")).Source().Pos()).String(); got != want {
			t.Errorf("from %s the place is %s, want %s", root, got, want)
		}
	}
}

func TestValuesPath(t *testing.T) {
	for path, want := range map[string]string{
		`releases.app.defaults.prod.a.b`:            `releases.app.values.a.b`,
		`releases."my-app".defaults."us-east-1".a`:  `releases."my-app".values.a`,
		`releases.app.values.a`:                     `releases.app.values.a`,
		`releases.app.values.defaults.prod.a`:       `releases.app.values.defaults.prod.a`,
		`releases."a.b".defaults.root.defaults.x.y`: `releases."a.b".values.defaults.x.y`,
	} {
		if got := ValuesPath(path); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}
