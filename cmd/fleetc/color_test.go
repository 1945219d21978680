package main

import "testing"

// TestUsesColour checks when text is coloured without --color.
func TestUsesColour(t *testing.T) {
	for _, test := range []struct {
		env            map[string]string
		terminal, pipe bool
	}{
		{nil, true, false},
		{map[string]string{"TERM": "xterm-256color"}, true, false},
		{map[string]string{"TERM": "dumb"}, false, false},
		{map[string]string{"NO_COLOR": "1"}, false, false},
		{map[string]string{"NO_COLOR": ""}, true, false},
		{map[string]string{"CLICOLOR": "0"}, false, false},
		{map[string]string{"CLICOLOR": "1"}, true, false},
		{map[string]string{"CLICOLOR_FORCE": "1"}, true, true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, true, false},
		{map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, true, true},
		{map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false, false},
	} {
		env := func(name string) string { return test.env[name] }
		if got := usesColour(env, true); got != test.terminal {
			t.Errorf("%v on a terminal: %v", test.env, got)
		}
		if got := usesColour(env, false); got != test.pipe {
			t.Errorf("%v on a pipe: %v", test.env, got)
		}
	}
}
