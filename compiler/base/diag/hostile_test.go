package diag

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// FuzzHostile writes faults with hostile text in every format. None of it may reach
// a terminal as a control sequence or a CI system as a command.
func FuzzHostile(f *testing.F) {
	f.Add("values.yaml", "releases.web", "bad value", "write it")
	f.Add("a\n::error::x.cue", "x\r\n::set-output name=a::b", "\x1b]8;;https://evil\x07link\x1b]8;;\x07", "\u009b31m")
	f.Add("::error file=a::b", "##[command]x", "first\n    ::set-output name=a::b\n\t::stop-commands::x", "\u202etxt")
	f.Add("", "", "::add-mask::x", "a\rb\x7f\xff")
	f.Fuzz(func(t *testing.T, file, path, msg, hint string) {
		d := &Diag{At: []Pos{{File: file, Line: 1, Col: 2}, {File: file}}, Path: path, Msg: msg, Hint: hint, Clusters: []string{file}}
		if file == "" {
			d.At, d.Clusters = nil, nil
		}
		same := func(file string) string { return file }
		r := Report{Err: d, Files: Files{
			Here: same, Repository: func(file string) (string, bool) { return file, true },
			Line: func(string, int) (string, bool) { return "", false },
		}}
		for _, format := range []Format{Text, JSON, SARIF, GitHub} {
			var b strings.Builder
			if err := r.Write(&b, format); err != nil {
				t.Fatal(err)
			}
			for _, c := range b.String() {
				if c != '\n' && c != '\t' && !unicode.IsPrint(c) {
					t.Errorf("%s has %U:\n%q", format, c, b.String())
				}
			}
			if Format(format).IsDocument() {
				if !json.Valid([]byte(b.String())) {
					t.Errorf("%s is not valid:\n%s", format, b.String())
				}
				continue
			}
			commands := 0
			for l := range strings.Lines(b.String()) {
				if t := strings.TrimSpace(l); strings.HasPrefix(t, "::") || strings.HasPrefix(t, "##[") {
					commands++
				}
			}
			want := 0
			if Format(format) == GitHub {
				want = 1
			}
			if commands != want {
				t.Errorf("%s has %d commands, want %d:\n%s", format, commands, want, b.String())
			}
		}
	})
}
