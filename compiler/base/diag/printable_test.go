package diag

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"web\n\tok":              "web\n\tok",
		"a\x1b[2Jb\rc":           "a\uFFFD[2Jb\uFFFDc",
		"a\r\nb":                 "a\nb",
		"a\n  ::error::x":        "a\n|   ::error::x",
		"a: ##[add-mask]x":       "a: ## [add-mask]x",
		"a: ##vso[task.x]":       "a: ##vso [task.x]",
		"##teamcity[x]":          "##teamcity [x]",
		"a ::error:: b":          "a ::error:: b",
		"\u202etxt.\xff":         "\uFFFDtxt.\uFFFD",
		"a:\n::":                 "a:\n| ::",
		"## a heading\n### one":  "## a heading\n### one",
		"http://[::1]/ : # x ::": "http://[::1]/ : # x ::",
	} {
		got := Printable(text)
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if again := Printable(got); again != got {
			t.Errorf("%q: printed twice it is %q", text, again)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"1 error occurred:\n\t* a\x1b  b\r\n\n": "1 error occurred: * a\uFFFD b",
		"0123456789012345678901234567890123":    "012345678901234567890123456789…",
		" \n":                                   "",
	} {
		if got := Line(text, 30); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzWriter checks that a Writer writes the result of Printable for any
// division of the text.
func FuzzWriter(f *testing.F) {
	f.Add("a\n  ::error::x\r\nb \xe2\x82\xac ##[group]", 3)
	f.Add("##vso[task]\n#\n:\n ::\n", 1)
	f.Add("\x1b[31mred\x1b[0m\x1b[31\x1b[2J", 2)
	f.Add(" \n \r", 1)
	f.Add("\xe2\x82", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size%64)
		write := func(w *Writer) string {
			var b strings.Builder
			w.W = &b
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				if _, err := w.Write([]byte(rest[:min(size, len(rest))])); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		if got, want := write(&Writer{}), Printable(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		coloured := write(&Writer{Colours: []string{"\x1b[31m", "\x1b[0m"}})
		for _, text := range []string{
			write(&Writer{}), write(&Writer{Form: CommandsText}), write(&Writer{Form: JSONText}),
			strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(coloured),
		} {
			for _, r := range text {
				if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
					t.Errorf("%q has %U", text, r)
				}
			}
			if strings.Contains(text, "##[") || strings.Contains(text, "##vso[") {
				t.Errorf("%q has a command", text)
			}
		}
	})
}

// FuzzPrintableJSON checks that the decoded document is unchanged.
func FuzzPrintableJSON(f *testing.F) {
	f.Add("###[a] \u009b\u202e\U000e0001\x7f\x00\xff\\##")
	f.Fuzz(func(t *testing.T, text string) {
		document, err := json.MarshalIndent(map[string]string{text: text}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(document, &want); err != nil {
			t.Fatal(err)
		}
		printable := PrintableJSON(string(document))
		if err := json.Unmarshal([]byte(printable), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v", printable, err)
		}
	})
}
