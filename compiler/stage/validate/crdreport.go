package validate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	maxCustomFaults = 20  // faults per object; the rest is counted
	maxText         = 300 // bytes of a quoted text
	maxWord         = 100 // bytes of a word for which there is a suggestion
)

// A problem is a fault of an object without its position.
type problem struct { // path of the field; empty for the object
	field string // path of the field; empty for the object
	text  string // follows the field in the message: " is missing", ": must be a list"
	hint  string // what to do; may be empty
	cause error  // may be nil
}

// customFaults converts the problems of an object to faults, one for each field, at
// most maxCustomFaults.
func customFaults(o fleet.Object, found []problem) diag.List {
	var out diag.List
	folded := fold(found)
	for _, p := range folded[:min(len(folded), maxCustomFaults)] {
		cause := p.cause
		if field, ok := fleet.ParseField(p.field); ok && cause == nil {
			cause = &fleet.FieldError{Object: o, Field: field}
		}
		out = append(out, customFault(o, strings.TrimPrefix(diag.Visible(p.field, maxText)+p.text, ": "), p.hint, cause))
	}
	if n := len(folded) - len(out); n > 0 {
		out = append(out, customFault(o, fmt.Sprintf("%d more of its fields are invalid", n), "", nil))
	}
	return out
}

// fold sorts problems and joins those of one field.
func fold(found []problem) []problem {
	sorted := slices.SortedFunc(slices.Values(found), func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.text, b.text), cmp.Compare(a.hint, b.hint))
	})
	var out []problem
	for _, p := range sorted {
		n := len(out)
		if n == 0 || out[n-1].field != p.field || p.field == "" {
			out = append(out, p)
			continue
		}
		last := &out[n-1]
		if !strings.Contains(last.text, p.text) {
			last.text += ";" + strings.TrimPrefix(p.text, ":")
		}
		last.hint = cmp.Or(last.hint, p.hint)
	}
	return out
}

// customFault returns a fault of an object.
func customFault(o fleet.Object, msg, hint string, cause error) *diag.Diag {
	msg = diag.Visible(msg, 4*maxText)
	if from := o.Origin(); from != "" {
		msg += " (" + from + ")"
	}
	return &diag.Diag{Code: diag.CodeCustomResource, At: diag.Positions(o.Pos), Path: o.Title(), Msg: msg, Hint: diag.Visible(hint, 4*maxText), Cause: cause}
}

// words returns the candidates for a suggestion, without long ones: comparing
// texts of any length takes too long.
func words(word string, among []string) []string {
	if len(word) > maxWord {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(among), func(w string) bool { return len(w) > maxWord })
}

// WithoutCRDs returns the faults of objects without those in the specs of CRDs for which
// the check of CRDs has a better fault.
func WithoutCRDs(byKind, byCRD error) error {
	const crds = "CustomResourceDefinition.apiextensions.k8s.io "
	covered := map[string]bool{}
	for _, d := range diag.All(byCRD) {
		covered[d.Path] = strings.HasPrefix(d.Path, crds)
	}
	var out diag.List
	for _, d := range diag.All(byKind) {
		at, ok := errors.AsType[*fleet.FieldError](d.Cause)
		if !ok || !covered[d.Path] || at.Field[0] != "spec" {
			out = append(out, d)
		}
	}
	return out.Err()
}
