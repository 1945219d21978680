// Command standin is in the images of the example's charts whose programs do not exist or
// are not Go programs. Its name decides what it does:
//
//	standin -http :80 -https :443 -- IGNORED...   answer requests, probes and webhooks
//	kured IGNORED...                              answer requests for metrics
//	certgen create|patch FLAGS...                 give a webhook its certificate
//	curl FLAGS... URL                             get a page
//	bash FLAGS...                                 run sh
package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	var err error
	switch filepath.Base(os.Args[0]) {
	case "certgen":
		err = certgen(os.Args[1:])
	case "kured":
		err = serve([]string{"-http", ":8080"})
	case "curl":
		err = get(os.Args[1:])
	case "bash":
		err = syscall.Exec("/bin/sh", append([]string{"sh"}, os.Args[1:]...), os.Environ())
	default:
		err = serve(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Args[0]+":", err)
		os.Exit(1)
	}
}

// get gets the page among the arguments.
func get(args []string) error {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "http") {
			continue
		}
		resp, err := http.Get(arg)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", arg, resp.Status)
		}
	}
	return nil
}
