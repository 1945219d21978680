package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// libraries are the modules whose versions affect the output.
var libraries = []string{"cuelang.org/go", "helm.sh/helm/v3"}

func newVersionCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "version prints the version of fleetc, the commit if the build knows it, and the\nversions of the libraries that its output depends on. Two builds of one commit\nwith the same Go print the same.",
		Example: "  fleetc version\n  fleetc version -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			versions := map[string]string{"fleetc": toolVersion(), "go": runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				if c := commit(info); c != "" {
					versions["commit"] = c
				}
				for _, dep := range info.Deps {
					for _, l := range libraries {
						if dep.Path == l {
							versions[l] = dep.Version
						}
					}
				}
			}
			return writeResult(cmd, o, versions, func(w io.Writer) {
				for _, name := range append([]string{"fleetc", "commit"}, append(libraries, "go")...) {
					if versions[name] != "" {
						fmt.Fprintf(w, "%s %s\n", name, versions[name])
					}
				}
			})
		},
	}
	outputFlag(cmd, "text", "json")
	return cmd
}

// commit returns the git commit of a build, with +dirty if its files were
// changed, or an empty string for a build without git.
func commit(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if c := settings["vcs.revision"]; c != "" {
		if settings["vcs.modified"] == "true" {
			c += "+dirty"
		}
		return c
	}
	if v := pseudo.FindString(info.Main.Version); strings.Contains(v, "-") {
		return v[strings.LastIndex(v, "-")+1:]
	}
	return ""
}

// pseudo matches a pseudo-version of Go for a commit without a tag.
var pseudo = regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}|\+dirty$`)

// toolVersion returns the released version of the binary, or devel for a build
// from a checkout. It is part of every export, so it must not change with each
// commit.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" || pseudo.MatchString(info.Main.Version) {
		return "devel"
	}
	return info.Main.Version
}

// buildID identifies the build of fleetc: the released version or, for a build
// from a checkout, properties of the program file. It may be empty.
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
