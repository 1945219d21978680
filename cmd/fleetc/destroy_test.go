package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestConfirmDestroy checks that only the ID of the cluster confirms.
func TestConfirmDestroy(t *testing.T) {
	for answer, want := range map[string]bool{
		"dev/one\n": true, " dev/one \n": true, "dev/one": true, "y\n": false, "yes\n": false, "dev/on\n": false, "\n": false, "": false,
	} {
		var out strings.Builder
		cmd := &cobra.Command{}
		cmd.SetErr(&out)
		cmd.SetContext(t.Context())
		err := confirmDestroy(cmd, strings.NewReader(answer), "destroy all of dev/one", "dev/one")
		if (err == nil) != want || out.String() != "destroy all of dev/one? type dev/one to confirm: " {
			t.Errorf("%q: %v, %q", answer, err, out.String())
		}
	}
}
