// Command release writes the files of a release besides the binaries, and checks the
// modules that are linked into them. It runs in the root of the repository:
//
//	release licenses FILE       writes the licences of all linked modules
//	release sbom BINARY FILE    writes an SPDX document for a binary
//	release verify DIRECTORY    checks the files that goreleaser wrote, see artifacts.go
//	release follow DIRECTORY    follows the pages for new users with them, see follow.go
//	release types PLATFORM...   checks the types of all packages and tests
//	release vulnerabilities     checks what govulncheck -format json prints
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "licenses":
		modules, err := linkedModules(ctx, ".", platforms...)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := writeLicenses(&text, modules); err != nil {
			return err
		}
		return os.WriteFile(args[1], text.Bytes(), 0o644)
	case len(args) == 3 && args[0] == "sbom":
		platform, err := platformOf(args[1])
		if err != nil {
			return err
		}
		modules, err := linkedModules(ctx, ".", platform)
		if err != nil {
			return err
		}
		return writeSBOM(args[1], args[2], modules)
	case len(args) == 2 && args[0] == "verify":
		return verify(ctx, args[1])
	case len(args) == 2 && args[0] == "follow":
		return followDocs(ctx, "docs", args[1], os.Stdout)
	case len(args) > 1 && args[0] == "types":
		return checkTypes(ctx, ".", args[1:], "./...")
	case len(args) == 1 && args[0] == "vulnerabilities":
		allowed, err := readAllowed("testdata/release/vulnerabilities.json")
		if err != nil {
			return err
		}
		return checkVulnerabilities(os.Stdin, allowed, time.Now())
	}
	return fmt.Errorf("usage: release licenses FILE | sbom BINARY FILE | verify DIRECTORY | follow DIRECTORY | types PLATFORM... | vulnerabilities")
}
