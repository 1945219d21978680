package render

import (
	"reflect"
	"text/template"
	"time"
)

// luck is what a rendering has that its arguments do not determine: the time,
// and random numbers. A second rendering is given that of the first, to have
// another.
type luck struct {
	now   time.Time
	first map[string][]any // what the random functions returned the first time, by their names; nil then
	drawn map[string][]any // what they return now
	timed bool             // whether anybody has asked for the time
}

// newLuck returns the luck of a first rendering. The time is the real one.
func newLuck(now time.Time) *luck { return &luck{now: now, drawn: map[string][]any{}} }

// clock returns the time. It is taken from the functions of templates, which
// are all that reads it.
func clock(s *source) time.Time { return s.funcs["now"].(func() time.Time)().UTC().Round(0) }

// another returns the luck of a second rendering: a time that differs in all
// its parts, and other random numbers.
func (l *luck) another() *luck {
	now := l.now.AddDate(1, 1, 1).Add(time.Hour + time.Minute + time.Second)
	return &luck{now: now, first: l.drawn, drawn: map[string][]any{}}
}

// draw calls a random function. The result is not that of the first rendering,
// even when there are only a few to choose from, unless there is only one.
func draw[T comparable](l *luck, name string, f func() T) T {
	const tries = 100
	v := f()
	n := len(l.drawn[name])
	for i := 0; i < tries && n < len(l.first[name]) && l.first[name][n] == any(v); i++ {
		v = f()
	}
	l.drawn[name] = append(l.drawn[name], v)
	return v
}

// What the functions that take long cost, in steps.
const (
	keySteps    = 8_000_000 // an RSA key of 4096 bits
	certSteps   = 2_000_000 // a certificate, with a key of 2048 bits
	bcryptSteps = 700_000
	deriveSteps = 1_500_000
)

// chances are the functions that are random or read the clock, and those that
// depend on the time zone of the machine: here it is UTC everywhere.
func (e *engine) chances() template.FuncMap {
	out := template.FuncMap{}
	for _, name := range []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric"} {
		f := original[func(int) string](e, name)
		out[name] = func(n int) string {
			e.chance = true
			e.room(n, 4)
			e.spend(1 + 16*max(n, 0))
			return e.text(draw(e.luck, name, func() string { return f(n) }))
		}
	}
	shuffle, randInt := original[func(string) string](e, "shuffle"), original[func(_, _ int) int](e, "randInt")
	out["shuffle"] = func(s string) string {
		e.chance = true
		e.spend(len(s))
		return e.text(draw(e.luck, "shuffle", func() string { return shuffle(s) }))
	}
	out["randInt"] = func(from, to int) int {
		e.chance = true
		return draw(e.luck, "randInt", func() int { return randInt(from, to) })
	}
	for name, steps := range map[string]int{
		"randBytes": 0, "uuidv4": 0, "encryptAES": 0, "bcrypt": bcryptSteps, "htpasswd": bcryptSteps, "genPrivateKey": keySteps,
		"genCA": certSteps, "genCAWithKey": certSteps, "genSelfSignedCert": certSteps, "genSelfSignedCertWithKey": certSteps,
		"genSignedCert": certSteps, "genSignedCertWithKey": certSteps,
	} {
		out[name] = e.costly(name, steps, true)
	}
	if e.first != nil {
		e.quickKeys(out)
	}
	out["derivePassword"] = e.costly("derivePassword", deriveSteps, false)
	out["buildCustomCert"] = e.costly("buildCustomCert", certSteps, false)
	for name, f := range e.times() {
		out[name] = f
	}
	return out
}

// quickKeys replaces the functions that make keys in a second rendering, which
// is there to differ and for nothing else: keys of elliptic curves are made a
// thousand times as fast as those of RSA.
func (e *engine) quickKeys(out template.FuncMap) {
	private := original[func(string) string](e, "genPrivateKey")
	out["genPrivateKey"] = func(kind string) string {
		e.chance = true
		if kind == "" || kind == "rsa" || kind == "dsa" {
			kind = "ecdsa"
		}
		return e.text(private(kind))
	}
	for _, name := range []string{"genCA", "genSelfSignedCert", "genSignedCert"} {
		withKey := reflect.ValueOf(e.source.funcs[name+"WithKey"])
		out[name] = reflect.MakeFunc(reflect.TypeOf(e.source.funcs[name]), func(args []reflect.Value) []reflect.Value {
			e.chance = true
			e.spend(certSteps / 100)
			e.weighAll(args)
			return withKey.Call(append(args, reflect.ValueOf(private("ecdsa"))))
		}).Interface()
	}
}

// costly returns a function that takes long by itself, and longer for keys
// that are larger than common.
func (e *engine) costly(name string, steps int, random bool) any {
	const common = 3500 // bytes of an RSA key of 4096 bits as text
	return e.generic(e.source.funcs[name], func(args []reflect.Value) {
		e.chance = e.chance || random
		e.spend(1 + steps)
		for _, a := range args {
			if a.Kind() == reflect.Int {
				e.room(int(a.Int()), 1)
				continue
			}
			n := e.weigh(a.Interface())
			if times := n / common; steps > 0 && times > 0 {
				e.room(times, 1<<20)
				e.spend(steps * times * times * times)
			}
		}
	})
}

// times are the functions that read the clock or know a time zone.
func (e *engine) times() template.FuncMap {
	now := func() time.Time {
		e.chance, e.timed = true, true
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
		fnSteady:         func() time.Time { return e.now },
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
