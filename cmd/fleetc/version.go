package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// libraries are the modules whose versions decide what comes out of a
// compilation.
var libraries = []string{"cuelang.org/go", "helm.sh/helm/v3"}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "version prints the version of fleetc and of the libraries that decide what it renders.",
		Example: "  fleetc version\n  fleetc version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			versions := map[string]string{"fleetc": toolVersion(), "go": runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, dep := range info.Deps {
					for _, l := range libraries {
						if dep.Path == l {
							versions[l] = dep.Version
						}
					}
				}
			}
			w := cmd.OutOrStdout()
			if output == "json" {
				return writeJSON(w, versions)
			}
			for _, name := range append([]string{"fleetc"}, append(libraries, "go")...) {
				if _, err := fmt.Fprintf(w, "%s %s\n", name, versions[name]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// pseudo matches the version that Go makes up for a commit without a tag.
var pseudo = regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}|\+dirty$`)

// toolVersion returns the released version that the binary was built from;
// devel when it was built from a checkout. It is part of every export, which a
// new commit of fleetc alone must not change.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" || pseudo.MatchString(info.Main.Version) {
		return "devel"
	}
	return info.Main.Version
}

// buildID says which build of fleetc this is: the released version, or for one
// from a checkout what is known of the program's file. It is empty when that is
// nothing.
func buildID() string {
	if v := toolVersion(); v != "devel" {
		return v
	}
	file, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", file, info.Size(), info.ModTime().UnixNano())
}

// sharedBuildID is buildID for machines that share what they rendered: the released
// version and what built it, or for a program from a checkout the digest of its
// file. It is empty when the file cannot be read.
func sharedBuildID() string {
	if v := toolVersion(); v != "devel" {
		return v + " " + runtime.Version()
	}
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
