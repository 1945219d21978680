// Command checkdashboard fails if the dashboard on standard input is not in the format of
// Grafana: unknown fields, wrong types, and values that the schema does not allow.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	data, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = check(data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns the faults of a dashboard.
func check(data []byte) error {
	var d dashboard.Dashboard
	err := d.UnmarshalJSONStrict(data)
	if errs, ok := errors.AsType[cog.BuildErrors](err); ok && len(errs) == 0 {
		err = nil // the decoder returns an empty list
	}
	return cmp.Or(err, d.Validate())
}
