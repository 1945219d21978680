package validate

import "testing"

func TestScheduleFault(t *testing.T) {
	for _, legal := range []string{
		"* * * * *", "0 0 1 1 0", "59 23 31 12 6", "*/5 1-5,7,9-11/2 ? * ?", "0 0 * JAN-dec sun,Mon", "5/15 * * * *",
		" 0  0 * * * ", "0 0 * * 1,", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every 1h30m",
	} {
		if fault := scheduleFault(legal); fault != "" {
			t.Errorf("%q: %s", legal, fault)
		}
	}
	for text, want := range map[string]string{
		"":                 "it has 0 parts, not five",
		"* * * * * *":      "it has 6 parts, not five",
		"60 * * * *":       "60 is not a valid minute: use 0 to 59",
		"-1 * * * *":       "-1 is not a valid minute: use 0 to 59",
		"* 24 * * *":       "24 is not a valid hour: use 0 to 23",
		"* * 0 * *":        "0 is not a valid day: use 1 to 31",
		"* * * 13 *":       "13 is not a valid month: use 1 to 12",
		"* * * * 7":        "7 is not a valid weekday: use 0 to 6",
		"* * * * monday":   "monday is not a valid weekday: use 0 to 6",
		"*/0 * * * *":      "*/0 is not a valid minute: use 0 to 59",
		"*/5/5 * * * *":    "*/5/5 is not a valid minute: use 0 to 59",
		"1-2-3 * * * *":    "1-2-3 is not a valid minute: use 0 to 59",
		"0 5-3 * * *":      "5-3 is not a valid hour: use 0 to 23",
		"0 0 1-32 * *":     "1-32 is not a valid day: use 1 to 31",
		"0 0 * feb-13 *":   "feb-13 is not a valid month: use 1 to 12",
		"a b c d e":        "a is not a valid minute: use 0 to 59",
		"@never":           "after @ comes yearly, monthly, weekly, daily, hourly or every",
		"@every":           "after @ comes yearly, monthly, weekly, daily, hourly or every",
		"@every fortnight": "after @every comes a duration such as 1h30m",
	} {
		if got := scheduleFault(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
