package diag

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func pos(file string, line, col int) Pos { return Pos{File: file, Line: line, Col: col} }

func written(t *testing.T, err error) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, err, func(file string) string { return "x/" + file }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestListErr(t *testing.T) {
	var l List
	if l.Err() != nil {
		t.Error("an empty list is an error")
	}
	l.Add(nil)
	l.Add(errors.Join())
	shared := func(cluster string) error {
		return In(cluster, fmt.Errorf("wrapped: %w", &Diag{At: []Pos{pos("b.cue", 2, 1)}, Path: "p", Msg: "wrong"}))
	}
	l.Add(shared("prod/b"))
	l.Add(&Diag{At: []Pos{pos("a.cue", 10, 1)}, Msg: "ten"})
	l.Add(&Diag{At: []Pos{pos("a.cue", 9, 1)}, Msg: "nine"})
	l.Add(errors.New("no place"))
	l.Add(shared("prod/a"))
	l.Add(shared("prod/a"))
	l.Add(&Diag{At: []Pos{pos("b.cue", 2, 1)}, Path: "q", Msg: "wrong", Hint: "mend it", Clusters: []string{"z"}})
	want := `x/a.cue:9:1: nine
x/a.cue:10:1: ten
x/b.cue:2:1: p: wrong
    in prod/a, prod/b
x/b.cue:2:1: q: wrong
    hint: mend it
    in z
no place [FL3110]
`
	if got := written(t, l.Err()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A wrapping error does not change it.
	if got := written(t, fmt.Errorf("more: %w", l.Err())); got != want {
		t.Errorf("wrapped: got\n%s", got)
	}
}

func TestListKeepsCauses(t *testing.T) {
	cause := errors.New("cause")
	var l List
	l.Add(&Diag{Msg: "a", Cause: cause})
	l.Add(&Diag{Msg: "b"})
	if !errors.Is(l.Err(), cause) {
		t.Error("the cause is lost")
	}
	if got := l.Err().Error(); got != "a\nb" {
		t.Errorf("Error is %q", got)
	}
}

func TestFleetWideFaultStaysOne(t *testing.T) {
	var l List
	l.Add(&Diag{Msg: "a"})
	l.Add(In("c", &Diag{Msg: "a"}))
	if got := written(t, l.Err()); got != "a\n" {
		t.Errorf("got %q", got)
	}
}

func TestInKeepsClusters(t *testing.T) {
	d := &Diag{Msg: "a", Clusters: []string{"b"}}
	if got := written(t, In("c", d)); got != "a\n    in b\n" {
		t.Errorf("got %q", got)
	}
	if In("c", nil) != nil {
		t.Error("In of nothing is an error")
	}
}

func TestWriteText(t *testing.T) {
	d := &Diag{At: []Pos{pos("a", 1, 2), pos("b", 3, 0), {File: "c"}}, Path: "p", Msg: "first\nsecond\n", Hint: "do"}
	for i := range 12 {
		d.Clusters = append(d.Clusters, fmt.Sprintf("c%02d", i))
	}
	want := `x/a:1:2: p: first
    second
    x/b:3: and here
    x/c: and here
    hint: do
    in c00, c01, c02, c03, c04, c05, c06, c07, c08, c09 and 2 more
`
	if got := written(t, d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHints(t *testing.T) {
	for _, test := range []struct{ word, among, want string }{
		{"prd", "dev prod staging", "did you mean prod?"},
		{"porducton", "production", "did you mean production?"},
		{"replicsa", "replicas replicaCount", "did you mean replicas?"},
		{"Prod", "prod", "did you mean prod?"},
		{"x", "dev prod", "use one of dev, prod"},
		{"prod", "prod", "use prod"},
		{"ab", "b a", "did you mean a?"},
		{"anything", "", ""},
		{"anything", "b c d e f g h i j k l m n o", "use one of b, c, d, e, f, g, h, i, j, k, l, m, n, o"},
		{"anything", "b c d e f g h i j k l m n o p", ""},
	} {
		if got := OneOf(test.word, strings.Fields(test.among)); got != test.want {
			t.Errorf("OneOf(%s, %s) = %q, want %q", test.word, test.among, got, test.want)
		}
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("prd", "prod")
	f.Add("", "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 1000 {
			return // the time is quadratic, and names are short
		}
		if d, e := distance(a, b), distance(b, a); d != e || d > max(len(a), len(b)) || (d == 0) != (a == b) {
			t.Errorf("distance(%q, %q) = %d and %d", a, b, d, e)
		}
	})
}

// A plain error of the file system says what to do.
func TestAllOfFileSystem(t *testing.T) {
	for cause, want := range map[error]string{
		syscall.ENOSPC: "free disk space, then run the command again", syscall.EACCES: "check the owner and the mode of the file and its directory",
		syscall.EROFS: "use a writable directory: this file system is read-only", syscall.ENOENT: "",
		syscall.ENOTDIR: "move or remove the file or directory that is in the way", syscall.EEXIST: "move or remove the file or directory that is in the way",
	} {
		err := fmt.Errorf("write the plan: %w", &fs.PathError{Op: "open", Path: "plan.json", Err: cause})
		if got := All(err); len(got) != 1 || got[0].Hint != want || got[0].Code != CodeFileSystem {
			t.Errorf("%v has the faults %+v, want the hint %q", err, got, want)
		}
	}
}

// A fault whose cause is a list is one fault.
func TestAllOfCause(t *testing.T) {
	inner := List{{Msg: "a"}, {Msg: "b"}}
	outer := &Diag{Msg: "outer", Cause: inner}
	for _, c := range []struct {
		err  error
		want int
	}{{outer, 1}, {fmt.Errorf("in dev/one: %w", outer), 1}, {inner, 2}, {fmt.Errorf("in dev/one: %w", inner), 2}, {errors.Join(errors.New("c"), inner), 2}} {
		if got := All(c.err); len(got) != c.want {
			t.Errorf("%v has the faults %v, want %d", c.err, got, c.want)
		}
	}
}
