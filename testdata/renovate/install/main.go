// Command install installs Renovate into the user's cache, once.
//
//	go run ./testdata/renovate/install
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/fleetc/fleetc/testdata/renovate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := renovate.Install(ctx, "testdata/renovate", os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
	fmt.Println(r.Dir)
}
