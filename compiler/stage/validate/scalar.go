package validate

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// scalar checks a value that is neither a map nor a list.
func (w *walk) scalar(s *kube.Schema, v any) {
	switch s.Type {
	case kube.String:
		text, ok := v.(string)
		if !ok {
			w.wrongType("a string", v)
			return
		}
		w.text(s, text)
	case kube.Boolean:
		if _, ok := v.(bool); !ok {
			w.wrongType("a bool", v)
		}
	case kube.Number:
		if _, ok := number(v); !ok {
			w.wrongType("a number", v)
		}
	case kube.Integer:
		w.integer(s.Format, "an integer", v)
	case kube.IntOrString:
		if _, ok := v.(string); !ok {
			w.integer("int32", "an integer or a string", v)
		}
	case kube.Quantity:
		w.quantity(v)
	}
}

// text checks the format and the allowed values of a string. An empty string
// counts as missing if it may be missing.
func (w *walk) text(s *kube.Schema, text string) {
	switch s.Format {
	case "byte":
		_, err := base64.StdEncoding.DecodeString(text)
		if at, ok := errors.AsType[base64.CorruptInputError](err); ok {
			w.report(diag.CodeObjectValue, "encode it in base64", fmt.Sprintf("is not valid base64: its byte %d does not belong there", int64(at)), true)
		}
	case "date-time":
		layout, as := time.RFC3339, "2006-01-02T15:04:05Z"
		if s.Name == meta+"MicroTime" {
			layout, as = metav1.RFC3339Micro, "2006-01-02T15:04:05.000000Z"
		}
		if _, err := time.Parse(layout, text); err != nil {
			w.add("write it as "+as, "is "+w.show(text)+", which is not a valid date and time")
		}
	}
	if s.Enum == nil || text == "" || w.status || slices.Contains(s.Enum, text) {
		return
	}
	const maxListed = 12
	allowed := slices.DeleteFunc(slices.Clone(s.Enum), func(e string) bool { return e == "" })
	w.add(didYouMean(text, allowed), "is "+w.show(text)+", not one of "+diag.JoinFirst(allowed, maxListed))
}

// integer checks a whole number.
func (w *walk) integer(format, want string, v any) {
	n, ok := number(v)
	if !ok {
		w.wrongType(want, v)
		return
	}
	if n != math.Trunc(n) || math.IsInf(n, 0) {
		w.add("", "is "+w.show(v)+", not an integer")
		return
	}
	low, high := float64(math.MinInt64), float64(math.MaxInt64)
	if format == "int32" {
		low, high = math.MinInt32, math.MaxInt32
	}
	// The float64 nearest to the largest int64 is larger than it.
	if _, whole := v.(int64); !whole && n == float64(math.MaxInt64) || n < low || n > high {
		w.add("", "is "+w.show(v)+", more than "+strings.TrimPrefix(format, "int")+" bits can hold")
	}
}

// quantities is the hint for an invalid quantity.
const quantities = "write it as 100m, 0.5, 2, 512Mi or 1Gi"

// quantity checks a quantity such as 100m or 1Gi.
func (w *walk) quantity(v any) {
	text, ok := v.(string)
	if !ok {
		if _, ok := number(v); !ok {
			w.wrongType("a quantity", v)
		}
		return
	}
	if _, err := resource.ParseQuantity(strings.TrimSpace(text)); err != nil {
		w.add(quantities, "is "+w.show(text)+", which is not a valid quantity")
	}
}

// number decodes a number like the libraries of Kubernetes.
func number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	case int:
		return float64(v), true
	}
	return 0, false
}

// wrongType reports a value with another type than the schema's.
func (w *walk) wrongType(want string, v any) {
	found := diag.TypeOf(v)
	if _, ok := scalarText(v); ok && !w.quiet {
		found += " (" + show(v) + ")"
	}
	hint := ""
	if want == "a quantity" {
		hint = quantities
	}
	text, isText := v.(string)
	_, isMap := v.(map[string]any)
	switch {
	case want == "a string":
		hint = textHint(v)
	case isText && (want == "a bool" && (text == "true" || text == "false") || want != "a bool" && isNumber(text)):
		hint = "leave the quotes out"
	case want == "a list" && isMap:
		hint = "write it as a list, each item after a dash"
	case want == "a map":
		hint = "write it as key: value"
	}
	w.report(diag.CodeObjectValue, hint, "is "+found+", not "+want, true)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// scalarText returns a text that identifies a string, number or bool. Equal
// numbers have equal texts.
func scalarText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return `"` + v, true
	case bool:
		return strconv.FormatBool(v), true
	}
	if n, ok := number(v); ok {
		return strconv.FormatFloat(n, 'g', -1, 64), true
	}
	return "", false
}

// maxShown is the maximum number of bytes of a value in a message.
const maxShown = 60

// show returns a scalar for messages: short, with unprintable characters
// escaped.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(cut(v))
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case nil, bool, int, int64:
		return fmt.Sprint(v)
	}
	return diag.TypeOf(v)
}

// show is the function show, except for values that must stay hidden.
func (w *walk) show(v any) string {
	if w.quiet {
		return "a value that is not shown"
	}
	return show(v)
}

// shorten returns the printable beginning of a text.
func shorten(text string) string { return visible(cut(text)) }

// cut returns the beginning of a text.
func cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
