package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	crashed    = "(CRASH) " // prefix of the library's messages about its own panics
	maxMessage = 1000       // bytes; an error of a file may contain a whole manifest
	maxCallers = 2          // lines of the call stack besides the first
)

// fault converts an error of the library to a fault.
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
		d.Code, d.Hint = diag.CodeSourceLimits, tooMuch
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
		d := t.fault("the file does not evaluate: %s", tidy(first))
		d.Hint = "write the file in another way: the Jsonnet library has a fault in it"
		return d
	}
	if knownFaults := t.knownFaults[err.Error()]; knownFaults != nil {
		d := t.fault("%s", knownFaults.Msg)
		d.Code, d.Hint = knownFaults.Code, knownFaults.Hint
		if len(knownFaults.At) > 0 { // in this file or one that it imports
			d.At = slices.Concat(knownFaults.At, d.At[1:])
		}
		return d
	}
	if d := t.static(err.Error()); d != nil {
		return d
	}
	d := t.fault("%s", tidy(err.Error()))
	d.Hint = "correct the file, or a file that it imports"
	return d
}

// runtime converts an error of the evaluation to a fault.
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
	if knownFaults := t.knownFaults[err.Msg]; knownFaults != nil {
		d.Code, d.Msg, d.Hint, d.Cause = knownFaults.Code, knownFaults.Msg, knownFaults.Hint, knownFaults.Cause
		if knownFaults.Cause == nil { // of the importer: the imported file is wrong
			d.At = slices.Concat(knownFaults.At, d.At)
		} else {
			d.At = append(d.At, knownFaults.At...)
		}
	} else {
		d.Msg, d.Hint = m.explain(err.Msg, frames)
		if tidy(err.Msg) == noStack {
			d.Code = diag.CodeSourceLimits
		}
	}
	path := resultPath(err.StackTrace)
	switch {
	case len(frames) > 0:
	case err.Msg == noJSON:
		d.Code = diag.CodeRenderedObject
		d.Msg = cmp.Or(path, "the result") + " is " + d.Msg
	case path != "":
		// The library evaluates the arguments late and without a position.
		d.Msg = path + ": " + d.Msg
	}
	return d
}

// frames returns the most helpful lines of a call stack: the innermost line of
// the user first, then its callers. A line in a vendored library comes after
// the line that calls the library.
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

// jsonnetPlaces matches the position, after the file name, in the library's messages
// about syntax errors.
var jsonnetPlaces = []*regexp.Regexp{
	regexp.MustCompile(`^:(\d+):(\d+)(?:-\d+)? `),
	regexp.MustCompile(`^:\((\d+):(\d+)\)-\(\d+:\d+\) `),
}

// static returns the fault of a file with a syntax error, or nil for other
// messages.
func (t *run) static(msg string) *diag.Diag {
	for _, file := range t.readFiles() {
		rest, ok := strings.CutPrefix(msg, file)
		if !ok {
			continue
		}
		for _, place := range jsonnetPlaces {
			at := place.FindStringSubmatch(rest)
			if at == nil {
				continue
			}
			d := t.fault("%s", lowered(tidy(rest[len(at[0]):])))
			d.Hint = "correct the syntax here, or in the line above it"
			d.At[0].File = file
			d.At[0].Line, _ = strconv.Atoi(at[1])
			d.At[0].Col, _ = strconv.Atoi(at[2])
			if unknown, ok := strings.CutPrefix(d.Msg, "unknown variable: "); ok {
				d.Msg = "there is no variable " + unknown
				d.Hint = cmp.Or(diag.DidYouMean(unknown, wordPattern.FindAllString(t.reads[file].contents.String(), -1)), "define it with local, or put the string in quotes")
			}
			return d
		}
	}
	return nil
}

// resultPath returns the path in the result where an error occurred, as far as
// the stack shows it.
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

// tidy removes the full stop of a message and shortens it.
func tidy(msg string) string {
	return diag.Ends(strings.TrimSuffix(strings.TrimSpace(msg), "."), maxMessage)
}

// lowered returns a message with a lower-case first letter, unless it begins
// with an acronym.
func lowered(msg string) string {
	if len(msg) < 2 || msg[0] < 'A' || msg[0] > 'Z' || msg[1] >= 'A' && msg[1] <= 'Z' {
		return msg
	}
	return fmt.Sprintf("%c%s", msg[0]+'a'-'A', msg[1:])
}
