package importer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// varying are the functions of sprig whose result depends on the clock, on random numbers,
// on the time zone or on the network, by kind.
var varying = map[string][]string{
	"differs every time": {
		"ago", "now", "randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4",
		"bcrypt", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert",
		"genSignedCertWithKey", "htpasswd",
	},
	"depends on the time and the time zone of the machine": {
		"date", "dateInZone", "dateModify", "date_in_zone", "date_modify", "htmlDate", "htmlDateInZone", "mustDateModify", "mustToDate",
		"must_date_modify", "toDate",
	},
	"depends on the network":                              {"getHostByName"},
	"depends on all environment variables of the machine": {"env", "expandenv"},
}

// A VaryingError is the error of a template that calls a function whose result another
// machine or another run would not have.
type VaryingError struct{ Function, Why string }

// Error implements error.
func (e *VaryingError) Error() string { return "the result of " + e.Function + " " + e.Why }

// templateFunctions returns the functions of sprig for templates of other tools. A function
// whose result does not depend on its arguments alone returns a [VaryingError]. Keys and
// values of maps, which sprig returns in a random order, are sorted by key.
func templateFunctions() template.FuncMap {
	out := sprig.TxtFuncMap()
	for why, names := range varying {
		for _, name := range names {
			out[name] = func(...any) (string, error) { return "", &VaryingError{name, why} }
		}
	}
	out["keys"] = func(maps ...map[string]any) []string {
		return slices.Concat(diag.Each(maps, sortedKeys)...)
	}
	out["values"] = func(m map[string]any) []any {
		return diag.Each(sortedKeys(m), func(key string) any { return m[key] })
	}
	return out
}

// runTemplate calls f, which executes a template, within the limits of time and memory. A
// panic of a function of the template becomes an error.
func runTemplate[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return par.RunLimited(ctx, par.Limits{}, func() (out T, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%v", r)
			}
		}()
		return f()
	})
}

// maxTemplateOutput limits the result of a template, in bytes.
const maxTemplateOutput = 4 << 20

// A TemplateOutput is the result of a template, of limited size.
type TemplateOutput struct{ bytes.Buffer }

// Write implements [io.Writer].
func (o *TemplateOutput) Write(p []byte) (int, error) {
	if o.Len()+len(p) > maxTemplateOutput {
		return 0, fmt.Errorf("the result is larger than %d MiB", maxTemplateOutput>>20)
	}
	return o.Buffer.Write(p)
}
