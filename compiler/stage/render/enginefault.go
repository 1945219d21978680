package render

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// A complaint is what a chart says with required or fail.
type complaint struct{ msg string }

func (c *complaint) Error() string { return c.msg }

// fault returns the error of a template as it is reported.
func (e *engine) fault(name string, err error) error {
	if e.why != nil {
		return fmt.Errorf("%s: %w", cmp.Or(e.at, name), e.why)
	}
	if c := (*complaint)(nil); errors.As(err, &c) {
		return fmt.Errorf("%s: %w", cmp.Or(place(err), name), c)
	}
	msg := strings.TrimPrefix(err.Error(), "template: ")
	// Messages quote templates, with the calls that parsing added.
	msg = strings.ReplaceAll(strings.ReplaceAll(msg, " | "+fnMade, ""), fnSteady, "now")
	return errors.New(shorten(withoutArguments(msg)))
}

// withoutArguments removes the calls of fnArg from a message, along with the
// parentheses that were put around them: "first (.a.B | fleetc_arg)" becomes
// "first .a.B".
func withoutArguments(msg string) string {
	const end = " | " + fnArg + ")"
	for {
		at := strings.Index(msg, end)
		if at < 0 {
			return msg
		}
		start := at - 1
		for depth := 1; start > 0; start-- {
			switch msg[start] {
			case ')':
				depth++
			case '(':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		msg = msg[:max(start, 0)] + msg[min(max(start, 0)+1, at):at] + msg[at+len(end):]
	}
}

// shorten leaves out the middle of a long message: one of templates that
// include each other names them all.
func shorten(msg string) string {
	const limit = 1000
	if len(msg) <= limit {
		return msg
	}
	return strings.ToValidUTF8(msg[:limit/2], "") + " ... " + strings.ToValidUTF8(msg[len(msg)-limit/2:], "")
}

// parseFault is what text/template says of a template that does not parse: the
// place, and the last of its words.
func parseFault(name string, err error) error {
	parts := strings.Split(err.Error(), ": ")
	if len(parts) == 1 {
		return fmt.Errorf("parse error in (%s): %w", name, err)
	}
	return fmt.Errorf("parse error at (%s): %s", parts[1], parts[len(parts)-1])
}

// place returns where in a template an error of text/template is: its file,
// line and column; nothing when it does not say.
func place(err error) string {
	rest, ok := strings.CutPrefix(err.Error(), "template: ")
	at, _, found := strings.Cut(rest, ": ")
	if !ok || !found {
		return ""
	}
	return at
}
