package unify

import (
	"strings"
	"testing"
)

// TestGrowingCalls checks calls whose results may be far larger than their
// arguments.
func TestGrowingCalls(t *testing.T) {
	const head = `import ("strings", "list", "strconv", "math/bits", s "strings")
_keep: [strings.ToUpper("a"), list.Max([1]), strconv.Atoi("1"), bits.Len(1), s.ToUpper("a")]
_n: [1000000, ...int]
_big: 1000000
_name: string
_text: "NAME.example.com"
#max: 100
`
	for text, want := range map[string]string{
		`bits.Lsh(1, 64)`:                               "",
		`bits.Lsh(1, #max)`:                             "",
		`bits.Lsh(1, #max*2+1-3)`:                       "",
		`[for i, _ in _n {bits.Lsh(1, mod(i, 64))}]`:    "",
		`bits.Lsh(1, 100000000000)`:                     "the argument of bits.Lsh is too large",
		`bits.Lsh(1, _big)`:                             "the argument of bits.Lsh is too large",
		`bits.Lsh(1, _n[0])`:                            "the argument of bits.Lsh cannot be determined before evaluation",
		`[for i, _ in _n {bits.Lsh(1, i)}]`:             "the argument of bits.Lsh cannot be determined before evaluation",
		`bits.Lsh(1, {n: 1}.n)`:                         "the argument of bits.Lsh cannot be determined before evaluation",
		`bits.Set(0, 100000000000, 1)`:                  "the argument of bits.Set is too large",
		`strconv.FormatFloat(1.5, 102, -1, 64)`:         "",
		`strconv.FormatFloat(1.5, 102, 2, 64)`:          "",
		`strconv.FormatFloat(1.5, 102, 500000000, 64)`:  "the argument of strconv.FormatFloat is too large",
		`strconv.FormatFloat(1.5, 102, _n[0], 64)`:      "the argument of strconv.FormatFloat cannot be determined before evaluation",
		`strings.Repeat("a", 1000000)`:                  "",
		`strings.Repeat("0", 3-len(_name))`:             "",
		`strings.Repeat(_name, 8)`:                      "",
		`strings.Repeat("a" + "\(1)", _n[0])`:           "",
		`strings.Repeat(_name, _n[0])`:                  "the size of strings.Repeat cannot be determined before evaluation",
		`strings.Repeat(_name, 1000000)`:                "the size of strings.Repeat cannot be determined before evaluation",
		`strings.Repeat("\(_name)", 9)`:                 "the size of strings.Repeat cannot be determined before evaluation",
		`strings.Repeat(_text + _text, _n[0])`:          "the size of strings.Repeat cannot be determined before evaluation",
		`strings.Repeat(strings.Repeat("a", 1e3), 1e6)`: "the result of strings.Repeat is too large",
		`s.Repeat(_name, 1000000)`:                      "the size of strings.Repeat cannot be determined before evaluation",
		`list.Repeat([0], 1000000)`:                     "",
		`list.Repeat([0], len(_name))`:                  "",
		`list.Repeat([for i in _n {i}], 1000)`:          "the size of list.Repeat cannot be determined before evaluation",
		`strings.Replace(_name, ".", "-", -1)`:          "",
		`strings.Replace(_name, "\n", "\n    ", -1)`:    "",
		`strings.Replace(_text, "NAME", _name, -1)`:     "",
		`strings.Replace(_name, "NAME", _name, 1)`:      "",
		`strings.Replace(_name, "NAME", _name, -1)`:     "the size of strings.Replace cannot be determined before evaluation",
		`strings.Replace(_name, "", "x", -1)`:           "the size of strings.Replace cannot be determined before evaluation",
		`strings.Join([for n in _n {"\(n)"}], ",")`:     "",
		`strings.Join([for n in list.Range(0, 1000, 1) {strings.Repeat("x", 1000000)}], "")`:   "the result of strings.Join is too large",
		`strings.Join([for n in list.Range(0, 100000, 1) {""}], strings.Repeat("x", 1000000))`: "the result of strings.Join is too large",
		`strings.Join([for n in _n {""}], strings.Repeat("x", 100000))`:                        "the size of strings.Join cannot be determined before evaluation",
		`strings.Join([for n in _n {strings.Repeat("x", 100000)}], "")`:                        "the size of strings.Join cannot be determined before evaluation",
		`strings.Join([for n in _n {""}], _name)`:                                              "the size of strings.Join cannot be determined before evaluation",
		`strings.Join(["a", "b"], _name)`:                                                      "",
		`strings.Join(["a", "b"], strings.Repeat("-", 100000))`:                                "",
		`strings.Repeat`:                          "strings.Repeat is a function, not a value",
		`(strings.Repeat)("a", 3)`:                "strings.Repeat is a function, not a value",
		`strings["Repeat"]("a", 3)`:               "the package strings is not a value",
		`[strings][0]`:                            "the package strings is not a value",
		`strings."Repeat"(_name, 9)`:              "the size of strings.Repeat cannot be determined before evaluation",
		`{strings: Repeat: 1, x: strings.Repeat}`: "",
	} {
		root, _, instances := loaded(t, "-- eu.cue --\n"+head+"_x: "+text+"\n")
		in := instances[len(instances)-1]
		if in.Err != nil {
			t.Fatalf("%s: %v", text, in.Err)
		}
		err := checkCalls(root, in)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: got %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
