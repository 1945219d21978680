package fleet

import (
	"slices"
	"testing"
)

func TestField(t *testing.T) {
	for text, want := range map[string][]string{
		"data.password":        {"data", "password"},
		`data."tls.crt"`:       {"data", "tls.crt"},
		"spec.ports[0].name":   {"spec", "ports", "0", "name"},
		`a["b"]`:               nil,
		`data."a\"b".c`:        {"data", `a"b`, "c"},
		"data.admin-password":  {"data", "admin-password"},
		"[0].a":                {"0", "a"},
		"a..b":                 nil,
		"a.":                   nil,
		".a":                   nil,
		"":                     nil,
		"a[x]":                 nil,
		"a[1":                  nil,
		`a."b`:                 nil,
		`a"b"`:                 nil,
		"a[0]b":                nil,
		"a.[0]":                nil,
		"a[99999999999999999]": nil,
	} {
		got, ok := ParseField(text)
		if ok != (want != nil) || ok && !slices.Equal(got, want) {
			t.Errorf("%s is %q, %v, want %q", text, got, ok, want)
		}
		if again, _ := ParseField(FieldText(got)); ok && !slices.Equal(again, got) {
			t.Errorf("%q is written as %s", got, FieldText(got))
		}
	}
}
