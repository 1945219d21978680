package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// files returns Files for a fleet in the directory infra of a repository. All files
// have the given lines.
func files(lines ...string) Files {
	return Files{
		Here:       func(file string) string { return "../" + file },
		Repository: func(file string) (string, bool) { return path.Join("infra", file), !path.IsAbs(file) },
		Line: func(_ string, line int) (string, bool) {
			if line > len(lines) {
				return "", false
			}
			return lines[line-1], true
		},
	}
}

func textOf(t *testing.T, f Format, err error, lines ...string) string {
	t.Helper()
	var b bytes.Buffer
	r := Report{Err: err, Version: "1.2.3", Files: files(lines...)}
	if err := r.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportText(t *testing.T) {
	err := &Diag{At: []Pos{{File: "a.cue", Line: 1, Col: 2}}, Msg: "wrong"}
	for _, f := range []Format{Text, "", "other"} {
		if got := textOf(t, f, err); got != "../a.cue:1:2: wrong\n" {
			t.Errorf("%q: %q", f, got)
		}
	}
}

func TestWithoutFaults(t *testing.T) {
	for f, want := range map[Format]string{Text: "", GitHub: "", JSON: "{\n  \"faults\": []\n}\n"} {
		if got := textOf(t, f, nil); got != want {
			t.Errorf("%s: %q", f, got)
		}
	}
	if log := sarif(t, nil); len(log.Runs) != 1 || log.Runs[0].Results == nil || !log.Runs[0].Invocations[0].Successful {
		t.Errorf("%+v", log)
	}
}

func TestColumn(t *testing.T) {
	lines := []string{"aß😀b", "a\xffb", ""}
	for _, test := range []struct {
		line, col, want int
	}{
		{1, 1, 1}, {1, 2, 2}, {1, 4, 3}, {1, 8, 5}, {1, 9, 6}, // including the end of the line
		{1, 10, 0}, {4, 1, 0}, {0, 0, 0}, {1, 0, 0}, // unknown
		{2, 3, 3}, {3, 1, 1},
	} {
		r := Report{Files: files(lines...)}
		if got := r.column(Pos{File: "f", Line: test.line, Col: test.col}); got != test.want {
			t.Errorf("%d:%d is column %d, want %d", test.line, test.col, got, test.want)
		}
	}
}

func TestJSON(t *testing.T) {
	var l List
	d := &Diag{
		At:   []Pos{{File: "a.cue", Line: 1, Col: 4}, {File: "/b.cue", Line: 2}, {File: "c"}},
		Path: "p", Msg: "1 <2\n&", Hint: "do", Cause: errors.New("not shown"),
	}
	for i := range 12 {
		d.Clusters = append(d.Clusters, fmt.Sprintf("c%02d", i))
	}
	l.Add(d)
	l.Add(errors.New("no place"))
	want := `{"faults":[{"at":[{"file":"a.cue","line":1,"column":4},{"file":"/b.cue","line":2},{"file":"c"}],"path":"p",` +
		`"message":"1 <2\n&","hint":"do","clusters":["c00","c01","c02","c03","c04","c05","c06","c07","c08","c09","c10","c11"]},` +
		`{"code":"FL3110","at":[],"message":"no place","clusters":[]}]}`
	got := textOf(t, JSON, l.Err())
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(got)); err != nil {
		t.Fatal(err)
	}
	if compact.String() != want {
		t.Errorf("got\n%s\nwant\n%s", compact.String(), want)
	}
}

func TestGitHub(t *testing.T) {
	for _, test := range []struct {
		d    Diag
		want string
	}{
		{Diag{Msg: "no place"}, "::error title=fleetc::no place\n"},
		{
			Diag{At: []Pos{{File: "a,b:c%.cue", Line: 1, Col: 3}, {File: "d.cue"}}, Path: `x."::"`, Msg: "ü", Hint: "100%"},
			`::error file=infra/a%2Cb%3Ac%25.cue,line=1,col=2,title=x."%3A%3A"::../a,b:c%25.cue:1:3: x."::": ü%0A    ../d.cue: and here%0A    hint: 100%25` + "\n",
		},
		{
			Diag{At: []Pos{{File: "a", Line: 9, Col: 3}}, Path: "p\n::error::q", Msg: "one\r\n::error::two%0A\n"},
			"::error file=infra/a,line=9,title=p�%3A%3Aerror%3A%3Aq::../a:9:3: p�::error::q: one%0A    | ::error::two%250A\n",
		},
		{Diag{At: []Pos{{File: "/elsewhere", Line: 1, Col: 1}}, Msg: "m"}, "::error title=fleetc::..//elsewhere:1:1: m\n"},
		{Diag{At: []Pos{{File: "d"}}, Msg: "m", Clusters: []string{"prod/a"}}, "::error file=infra/d,title=fleetc::../d: m%0A    in prod/a\n"},
	} {
		if got := textOf(t, GitHub, &test.d, "ü: 1"); got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
		}
	}
}

// TestCode checks that each format has the code of a fault.
func TestCode(t *testing.T) {
	d := &Diag{Code: CodeNoFleet, At: []Pos{{File: "a", Line: 1, Col: 1}}, Path: "p", Msg: "one:\ntwo", Hint: "do"}
	for f, want := range map[Format]string{
		Text:   "../a:1:1: p: one: [FL1001]\n    two\n    hint: do\n",
		GitHub: "::error file=infra/a,line=1,col=1,title=FL1001%3A No fleet is found::../a:1:1: p: one: [FL1001]%0A    two%0A    hint: do\n",
	} {
		if got := textOf(t, f, d, "x"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", f, got, want)
		}
	}
	if got := FaultsOf(d)[0].Code; got != CodeNoFleet {
		t.Errorf("JSON: %q", got)
	}
	if got := Texts(&Diag{Code: CodeNoFleet, Msg: "m"})[0]; got != "m [FL1001]" {
		t.Errorf("a list of texts: %q", got)
	}
	run := sarif(t, List{d, {Code: CodeNoClusters, Msg: "no place"}}).Runs[0]
	if got := run.Results[0].RuleID; got != "FL1001" {
		t.Errorf("SARIF: the rule is %q", got)
	}
	if note := run.Invocations[0].Notifications[0]; note.Rule == nil || note.Rule.ID != "FL1002" || note.RuleID != "" {
		t.Errorf("SARIF: a notification %+v", note)
	}
	for _, rule := range run.Tool.Driver.Rules[1:] {
		c := Code(rule.ID)
		if rule.Summary.Text != c.Title()+"." || rule.Defaults.Level != "error" || rule.HelpURI != c.URL() ||
			rule.Help.Markdown != c.Page() || rule.Help.Text == "" || rule.Description.Text == "" {
			t.Errorf("SARIF: %+v", rule)
		}
	}
}

func sarif(t *testing.T, err error, lines ...string) sarifLog {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(textOf(t, SARIF, err, lines...)), &log); err != nil {
		t.Fatal(err)
	}
	return log
}

func TestSARIF(t *testing.T) {
	var l List
	l.Add(&Diag{
		At:   []Pos{{File: "ä b:c.cue", Line: 1, Col: 3}, {File: "/x y", Line: 2}, {File: "d"}},
		Path: "p", Msg: "{0} [a](b)", Hint: "do", Clusters: []string{"c"},
	})
	l.Add(errors.New("no place"))
	run := sarif(t, l.Err(), "ü: 1").Runs[0]
	if run.Tool.Driver.Version != "1.2.3" || len(run.Results) != 1 {
		t.Fatalf("%+v", run)
	}
	r := run.Results[0]
	if want := "p: {{0}} [a] (b)\n    hint: do\n    in c\n    and [here](1)\n    and [here](2)"; r.Message.Text != want {
		t.Errorf("the message is %q", r.Message.Text)
	}
	if r.RuleID != run.Tool.Driver.Rules[0].ID {
		t.Errorf("the rule %s is not declared", r.RuleID)
	}
	var places []string
	for i, p := range append(r.Locations, r.Related...) {
		if p.ID != i {
			t.Errorf("place %d has the ID %d", i, p.ID)
		}
		s := p.Physical.Artifact.BaseID + " " + p.Physical.Artifact.URI
		if p.Physical.Region != nil {
			s += fmt.Sprint(" ", *p.Physical.Region)
		}
		places = append(places, s)
	}
	want := []string{"%SRCROOT% infra/%C3%A4%20b:c.cue {1 2}", " file:///x%20y {2 0}", "%SRCROOT% infra/d"}
	if strings.Join(places, "\n") != strings.Join(want, "\n") {
		t.Errorf("places are %q", places)
	}
	// Faults without a position are notifications.
	notes := run.Invocations[0]
	if notes.Successful || len(notes.Notifications) != 1 || notes.Notifications[0].Message.Text != "no place [FL3110]" || notes.Notifications[0].Rule.ID != "FL3110" {
		t.Errorf("%+v", notes)
	}
}

// FuzzWrite checks that hostile text cannot add lines to GitHub's commands or break
// documents.
func FuzzWrite(f *testing.F) {
	f.Add("a.cue", "path", "message\n::error::x", "hint", "c", "line", 3)
	f.Add("%0A,:", "::", "%0D\r\x00{0}](", "\xff", "\n", "ü", -2)
	f.Fuzz(func(t *testing.T, file, path, msg, hint, cluster, line string, col int) {
		d := &Diag{At: []Pos{{File: file, Line: 1, Col: col}, {File: file}}, Path: path, Msg: msg, Hint: hint, Clusters: []string{cluster}}
		if got := textOf(t, GitHub, d, line); strings.ContainsAny(got[:len(got)-1], "\r\n") || !strings.HasPrefix(got, "::error file=") || got[len(got)-1] != '\n' {
			t.Errorf("%q", got)
		} else if properties, _, _ := strings.Cut(got[2:], "::"); strings.Count(properties, ",") > 3 {
			t.Errorf("%q", got)
		}
		var doc struct{ Faults []Fault }
		if err := json.Unmarshal([]byte(textOf(t, JSON, d, line)), &doc); err != nil {
			t.Error(err)
		}
		if len(doc.Faults) != 1 || utf8.ValidString(msg) && doc.Faults[0].Message != msg {
			t.Errorf("%+v", doc)
		}
		if log := sarif(t, d, line); strings.Count(log.Runs[0].Results[0].Message.Text, "](") != 1 {
			t.Errorf("%+v", log)
		}
	})
}
