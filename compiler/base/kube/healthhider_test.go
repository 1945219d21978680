package kube

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestHider(t *testing.T) {
	hide := SecretHider([]string{`pass"word\1`, "a<b>&c", "first line\nsecond line", "abc"})
	for text, want := range map[string]string{
		`wrong: pass"word\1`:                        "wrong: (hidden)",
		`Invalid value: "pass\"word\\1": too long`:  `Invalid value: "(hidden)": too long`,
		`{"password":"a\u003cb\u003e\u0026c"}`:      `{"password":"(hidden)"}`,
		`{"password":"a<b>&c"}`:                     `{"password":"(hidden)"}`,
		`parsing "first line\nsecond line": no`:     `parsing "(hidden)": no`,
		"the second line alone, and abc is shorter": "the (hidden) alone, and abc is shorter",
	} {
		if got := hide(text); got != want {
			t.Errorf("%s becomes %s, not %s", text, got, want)
		}
	}
}

// TestReasonIsNotShortened checks that secrets can still be found in a reason: a part of one
// at the end of a shortened text would stay.
func TestReasonIsNotShortened(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	message := strings.Repeat("x", diag.MaxText-10) + secret
	for _, object := range []string{
		"{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Failed, message: MESSAGE}}",
		"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions: [{type: Failed, status: 'True', message: MESSAGE}]}}",
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {conditions: [{type: Ready, status: 'False', message: MESSAGE}]}}",
	} {
		o := parseObject(t, strings.Replace(object, "MESSAGE", message, 1))
		reason := (*HealthRules)(nil).Judge(fleet.Object{Unstructured: o}).Reason
		if got := SecretHider([]string{secret})(reason); !strings.HasSuffix(got, "x(hidden)") {
			t.Errorf("%s: %s", o.GetKind(), got)
		}
	}
}
