package jsonnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-jsonnet"

	"github.com/fleetc/fleetc/compiler/diag"
)

const (
	crashed    = "(CRASH) " // begins what the library says of its own panics
	maxMessage = 1000       // bytes; a user's error may hold a whole manifest
	maxCallers = 2          // lines of the call stack beside the first
)

// fault returns what the library says as a fault of the user's.
func (m *machine) fault(err error) error {
	if faults, ok := errors.AsType[diag.List](err); ok {
		return faults
	}
	if d, ok := errors.AsType[*diag.Diag](err); ok && len(d.At) > 0 {
		return d
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	t := m.run
	if stop, ok := errors.AsType[*stopFault](err); ok {
		d := t.fault("%s", stop.msg)
		if m.meter.at != nil {
			d.At[0] = posOf(m.meter.at)
		}
		return d
	}
	if run, ok := errors.AsType[jsonnet.RuntimeError](err); ok {
		return m.runtime(run)
	}
	if msg, ok := strings.CutPrefix(err.Error(), crashed); ok {
		first, _, _ := strings.Cut(msg, "\n")
		return t.fault("the file does not evaluate: %s", tidy(first))
	}
	if told := t.told[err.Error()]; told != nil {
		d := t.fault("%s", told.Msg)
		d.Hint = told.Hint
		return d
	}
	if d := t.static(err.Error()); d != nil {
		return d
	}
	return t.fault("%s", tidy(err.Error()))
}

// runtime returns the fault for what went wrong in the evaluation.
func (m *machine) runtime(err jsonnet.RuntimeError) error {
	t := m.run
	if d := t.static(err.Msg); d != nil {
		return d
	}
	frames := t.frames(err.StackTrace)
	d := t.fault("")
	if len(frames) > 0 {
		d.At[0] = posOf(&frames[0].Loc)
		for _, f := range frames[1:] {
			d.At = append(d.At, posOf(&f.Loc))
		}
	}
	if told := t.told[err.Msg]; told != nil {
		d.Msg, d.Hint, d.Cause = told.Msg, told.Hint, told.Cause
		d.At = append(d.At, told.At...)
	} else {
		d.Msg, d.Hint = m.explain(err.Msg, frames)
	}
	path := resultPath(err.StackTrace)
	switch {
	case len(frames) > 0:
	case err.Msg == noJSON:
		d.Msg = cmp.Or(path, "the result") + " is " + d.Msg
	case path != "":
		// What the library was given is looked at late, and only there.
		d.Msg = path + ": " + d.Msg
	}
	return d
}

// frames returns the lines of the user's in a call stack that say most: the
// innermost in front, and behind it those that led there. A line in a library
// that is vendored comes behind the one that calls into it.
func (t *run) frames(stack []jsonnet.TraceFrame) []jsonnet.TraceFrame {
	var own, vendored []jsonnet.TraceFrame
	seen := map[diag.Pos]bool{}
	for _, f := range slices.Backward(stack) {
		if f.Loc.File == nil || t.reads[f.Loc.FileName] == nil || f.Loc.Begin.Line == 0 {
			continue
		}
		line := diag.Pos{File: f.Loc.FileName, Line: f.Loc.Begin.Line}
		if seen[line] {
			continue
		}
		seen[line] = true
		if strings.HasPrefix(line.File, vendorDir+"/") {
			vendored = append(vendored, f)
		} else {
			own = append(own, f)
		}
	}
	if len(own) > 0 && len(vendored) > 0 {
		own = slices.Insert(own, 1, vendored[0])
	} else {
		own = append(own, vendored...)
	}
	return own[:min(len(own), 1+maxCallers)]
}

// places match the beginning of what the library says of a file that does not
// parse, behind the file's name.
var places = []*regexp.Regexp{
	regexp.MustCompile(`^:(\d+):(\d+)(?:-\d+)? `),
	regexp.MustCompile(`^:\((\d+):(\d+)\)-\(\d+:\d+\) `),
}

// static returns the fault for a file that does not parse; nil when the
// message is of something else.
func (t *run) static(msg string) *diag.Diag {
	for _, file := range t.readFiles() {
		rest, ok := strings.CutPrefix(msg, file)
		if !ok {
			continue
		}
		for _, place := range places {
			at := place.FindStringSubmatch(rest)
			if at == nil {
				continue
			}
			d := t.fault("%s", lowered(tidy(rest[len(at[0]):])))
			d.At[0].File = file
			d.At[0].Line, _ = strconv.Atoi(at[1])
			d.At[0].Col, _ = strconv.Atoi(at[2])
			if unknown, ok := strings.CutPrefix(d.Msg, "unknown variable: "); ok {
				d.Msg = "there is no variable " + unknown
				d.Hint = diag.DidYouMean(unknown, words(t.reads[file].contents.String()))
			}
			return d
		}
	}
	return nil
}

// resultPath returns the path in the result at which it was when something
// went wrong, as far as the stack says it.
func resultPath(stack []jsonnet.TraceFrame) string {
	var b strings.Builder
	for _, f := range stack {
		if f.Loc.File != nil {
			continue
		}
		if quoted, ok := strings.CutPrefix(f.Loc.FileName, "Field "); ok {
			if k, err := strconv.Unquote(quoted); err == nil {
				b.WriteString(field(k))
			}
		} else if i, ok := strings.CutPrefix(f.Loc.FileName, "Array element "); ok {
			b.WriteString("[" + i + "]")
		}
	}
	return b.String()
}

// tidy returns a message without a full stop, control characters and most of
// its length.
func tidy(msg string) string {
	msg = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.TrimSuffix(strings.TrimSpace(msg), "."))
	if len(msg) > maxMessage {
		msg = strings.ToValidUTF8(msg[:maxMessage/2], "") + " ... " + strings.ToValidUTF8(msg[len(msg)-maxMessage/2:], "")
	}
	return msg
}

// lowered returns a message that begins in lower case, unless it begins with a
// name in capitals.
func lowered(msg string) string {
	if len(msg) < 2 || msg[0] < 'A' || msg[0] > 'Z' || msg[1] >= 'A' && msg[1] <= 'Z' {
		return msg
	}
	return fmt.Sprintf("%c%s", msg[0]+'a'-'A', msg[1:])
}
