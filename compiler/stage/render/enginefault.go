package render

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A complaint is the message of required or fail.
type complaint struct{ msg string }

func (c *complaint) Error() string { return c.msg }

// fault converts a template error to the reported error.
func (e *engine) fault(name string, err error) error {
	if e.stopErr != nil {
		return fmt.Errorf("%s: %w", cmp.Or(e.stoppedAt, name), e.stopErr)
	}
	if c := (*complaint)(nil); errors.As(err, &c) {
		return fmt.Errorf("%s: %w", cmp.Or(place(err), name), c)
	}
	msg := strings.TrimPrefix(err.Error(), "template: ")
	// Messages quote templates with the calls that parsing inserted.
	msg = strings.ReplaceAll(strings.ReplaceAll(msg, " | "+fnMade, ""), fnFixedNow, "now")
	msg = strings.NewReplacer(
		reflect.TypeFor[missing]().String(), reflect.TypeFor[any]().String(),
		reflect.TypeFor[files]().String(), "engine.files", // Helm's type
	).Replace(msg)
	msg = withoutCalls(withoutCalls(msg, "("+fnArg+" "), fnMade+" (")
	return errors.New(shorten(msg))
}

// withoutCalls removes calls of a function from a message, which begin with begin and end
// with a parenthesis: "first (fleetc_arg .a.B)" becomes "first .a.B".
func withoutCalls(msg, begin string) string {
	for {
		before, rest, found := strings.Cut(msg, begin)
		if !found {
			return msg
		}
		end := 0
		for depth := 1; end < len(rest); end++ {
			switch rest[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		msg = before + rest[:end] + rest[min(end+1, len(rest)):]
	}
}

// shorten cuts the middle of a long message. The message of recursive includes
// names every template.
func shorten(msg string) string { return diag.Ends(msg, 1000) }

// parseFault converts a parse error of text/template to its position and its
// last clause, as Helm does.
func parseFault(name string, err error) error {
	parts := strings.Split(err.Error(), ": ")
	if len(parts) == 1 {
		return fmt.Errorf("parse error in (%s): %w", name, err)
	}
	return errors.New(shorten(fmt.Sprintf("parse error at (%s): %s", parts[1], parts[len(parts)-1])))
}

// place returns file, line and column of an error of text/template, or an
// empty string.
func place(err error) string {
	rest, ok := strings.CutPrefix(err.Error(), "template: ")
	at, _, found := strings.Cut(rest, ": ")
	if !ok || !found {
		return ""
	}
	return at
}
