package render

import (
	"maps"
	"reflect"
	"text/template"
	"time"
)

// entropy holds the inputs of a rendering that its arguments do not determine:
// the time and random numbers. The second rendering receives the entropy of
// the first and uses different values.
type entropy struct {
	now       time.Time
	previous  map[string][]any // results of the random functions in the first rendering, by function name; nil in that rendering
	current   map[string][]any // their results in this rendering
	usesClock bool             // whether a template read the clock
}

// newEntropy returns the entropy of a first rendering, with the real time.
func newEntropy(now time.Time) *entropy { return &entropy{now: now, current: map[string][]any{}} }

// clock returns the time from the template functions, so that tests can
// replace it.
func clock(s *source) time.Time { return s.funcs["now"].(func() time.Time)().UTC().Round(0) }

// second returns the entropy of a second rendering: every part of the time
// differs, and so do the random numbers.
func (l *entropy) second() *entropy {
	now := l.now.AddDate(1, 1, 1).Add(time.Hour + time.Minute + time.Second)
	return &entropy{now: now, previous: l.current, current: map[string][]any{}}
}

// draw calls a random function until its result differs from the first
// rendering. It gives up after 100 calls, since a function may have only one
// possible result.
func draw[T comparable](l *entropy, name string, f func() T) T {
	const tries = 100
	v := f()
	n := len(l.current[name])
	for i := 0; i < tries && n < len(l.previous[name]) && l.previous[name][n] == any(v); i++ {
		v = f()
	}
	l.current[name] = append(l.current[name], v)
	return v
}

// Costs of slow functions, in steps.
const (
	keySteps    = 8_000_000 // an RSA key of 4096 bits
	certSteps   = 2_000_000 // a certificate, with a key of 2048 bits
	bcryptSteps = 700_000
	deriveSteps = 1_500_000
)

// nondeterministicFuncs returns the functions that are random, read the clock
// or depend on the machine's time zone. The time zone is always UTC.
func (e *engine) nondeterministicFuncs() template.FuncMap {
	out := template.FuncMap{}
	for _, name := range []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric"} {
		f := original[func(int) string](e, name)
		out[name] = func(n int) string {
			e.nondeterministic = true
			e.checkSize(n, 4)
			e.spend(1 + 16*max(n, 0))
			return e.text(draw(e.entropy, name, func() string { return f(n) }))
		}
	}
	shuffle, randInt := original[func(string) string](e, "shuffle"), original[func(_, _ int) int](e, "randInt")
	out["shuffle"] = func(s string) string {
		e.nondeterministic = true
		e.spend(len(s))
		return e.text(draw(e.entropy, "shuffle", func() string { return shuffle(s) }))
	}
	out["randInt"] = func(from, to int) int {
		e.nondeterministic = true
		return draw(e.entropy, "randInt", func() int { return randInt(from, to) })
	}
	for name, steps := range map[string]int{
		"randBytes": 0, "uuidv4": 0, "encryptAES": 0, "bcrypt": bcryptSteps, "htpasswd": bcryptSteps, "genPrivateKey": keySteps,
		"genCA": certSteps, "genCAWithKey": certSteps, "genSelfSignedCert": certSteps, "genSelfSignedCertWithKey": certSteps,
		"genSignedCert": certSteps, "genSignedCertWithKey": certSteps,
	} {
		out[name] = e.costly(name, steps, true)
	}
	if e.previous != nil {
		e.fastKeys(out)
	}
	out["derivePassword"] = e.costly("derivePassword", deriveSteps, false)
	out["buildCustomCert"] = e.costly("buildCustomCert", certSteps, false)
	maps.Copy(out, e.timeFuncs())
	return out
}

// fastKeys replaces the functions that generate keys in a second rendering,
// whose result is only compared. Elliptic-curve keys are generated a thousand
// times as fast as RSA keys.
func (e *engine) fastKeys(out template.FuncMap) {
	private := original[func(string) string](e, "genPrivateKey")
	out["genPrivateKey"] = func(kind string) string {
		e.nondeterministic = true
		if kind == "" || kind == "rsa" || kind == "dsa" {
			kind = "ecdsa"
		}
		return e.text(private(kind))
	}
	for _, name := range []string{"genCA", "genSelfSignedCert", "genSignedCert"} {
		withKey := reflect.ValueOf(e.source.funcs[name+"WithKey"])
		out[name] = reflect.MakeFunc(reflect.TypeOf(e.source.funcs[name]), func(args []reflect.Value) []reflect.Value {
			e.nondeterministic = true
			e.spend(certSteps / 100)
			e.weighAll(args)
			return withKey.Call(append(args, reflect.ValueOf(private("ecdsa"))))
		}).Interface()
	}
}

// costly returns a function with a fixed cost, which grows for keys that are
// larger than usual.
func (e *engine) costly(name string, steps int, random bool) any {
	const common = 3500 // bytes of an RSA key of 4096 bits as text
	return e.withCost(e.source.funcs[name], func(args []reflect.Value) {
		e.nondeterministic = e.nondeterministic || random
		e.spend(1 + steps)
		for _, a := range args {
			if a.Kind() == reflect.Int {
				e.checkSize(int(a.Int()), 1)
				continue
			}
			n := e.weigh(a.Interface())
			if times := n / common; steps > 0 && times > 0 {
				e.checkSize(times, 1<<20)
				e.spend(steps * times * times * times)
			}
		}
	})
}

// timeFuncs returns the functions that read the clock or use a time zone.
func (e *engine) timeFuncs() template.FuncMap {
	now := func() time.Time {
		e.nondeterministic, e.usesClock = true, true
		return e.now
	}
	in := func(format string, v any, zone string) string {
		switch v.(type) {
		case time.Time, *time.Time, int64, int, int32:
		default:
			v = now()
		}
		if zone == "Local" {
			zone = "UTC"
		}
		return e.text(original[func(string, any, string) string](e, "dateInZone")(format, v, zone))
	}
	since := func(t time.Time) time.Duration { return now().Sub(t) }
	durationRound := original[func(any) string](e, "durationRound")
	zoned := func(v any, zone string) string { return in(time.DateOnly, v, zone) }
	parse := func(format, s string) (time.Time, error) { return time.ParseInLocation(format, s, time.UTC) }
	return template.FuncMap{
		"now":            now,
		fnFixedNow:       func() time.Time { return e.now },
		"date":           func(format string, v any) string { return in(format, v, "UTC") },
		"htmlDate":       func(v any) string { return zoned(v, "UTC") },
		"htmlDateInZone": zoned,
		"dateInZone":     in,
		"date_in_zone":   in,
		"toDate":         func(format, s string) time.Time { t, _ := parse(format, s); return t },
		"mustToDate":     parse,
		"ago": func(v any) string {
			var d time.Duration
			switch t := v.(type) {
			case time.Time:
				d = since(t)
			case int64:
				d = since(time.Unix(t, 0))
			case int:
				d = since(time.Unix(int64(t), 0))
			}
			return d.Round(time.Second).String()
		},
		"durationRound": func(v any) string {
			if t, ok := v.(time.Time); ok {
				v = int64(since(t))
			}
			return durationRound(v)
		},
	}
}
