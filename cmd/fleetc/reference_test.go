package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var commandReference = flag.String("command-reference", "", "write the page of the website that describes each command to this file")

// TestCommandReference writes the page that describes each command and flag, when the flag
// names a file. make site uses it.
func TestCommandReference(t *testing.T) {
	root := newRootCommand(&options{})
	var page strings.Builder
	page.WriteString("---\noutline: 2\n---\n\n# Commands\n\nThis page has the help of each command. " +
		"All commands take the [flags of fleetc](#fleetc).\n\n")
	sections := writeReference(&page, root)
	if want := strings.Count(page.String(), "\n## "); sections != want || sections < 40 {
		t.Errorf("%d commands, and %d sections", sections, want)
	}
	for _, want := range []string{"\n## fleetc apply\n", "\n## fleetc chart add\n", "`--prune`", "`-C`, `--directory` *directory*"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if *commandReference != "" {
		if err := os.WriteFile(*commandReference, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// writeReference writes the section of a command and those of its subcommands, and returns
// how many it wrote.
func writeReference(w *strings.Builder, cmd *cobra.Command) int {
	if cmd.Hidden {
		return 0
	}
	fmt.Fprintf(w, "## %s\n\n", cmd.CommandPath())
	writeProse(w, cmd.Long)
	fmt.Fprintf(w, "```text\n%s\n```\n\n", cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(w, "Examples:\n\n```sh\n%s\n```\n\n", unindent(cmd.Example))
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		w.WriteString("Flags:\n\n")
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				writeFlag(w, f)
			}
		})
		w.WriteString("\n")
	}
	sections := 1
	for _, sub := range cmd.Commands() {
		sections += writeReference(w, sub)
	}
	return sections
}

func writeFlag(w *strings.Builder, f *pflag.Flag) {
	argument, usage := pflag.UnquoteUsage(f)
	w.WriteString("- ")
	if f.Shorthand != "" {
		fmt.Fprintf(w, "`-%s`, ", f.Shorthand)
	}
	fmt.Fprintf(w, "`--%s`", f.Name)
	if argument != "" {
		fmt.Fprintf(w, " *%s*", markdownText(argument))
	}
	fmt.Fprintf(w, ": %s", markdownText(usage))
	if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
		fmt.Fprintf(w, " (default `%s`)", d)
	}
	w.WriteString("\n")
}

// writeProse writes a long help text as Markdown. Indented lines are code.
func writeProse(w *strings.Builder, text string) {
	code := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		if indented != code {
			w.WriteString(map[bool]string{true: "\n```text\n", false: "```\n"}[indented])
		}
		if code = indented; !code {
			line = markdownText(line)
		}
		w.WriteString(line)
	}
	if code {
		w.WriteString("```\n")
	}
	w.WriteString("\n")
}

// markdownText escapes the characters that have a meaning in Markdown.
func markdownText(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "[", `\[`, "<", `\<`, "`", "\\`", "#", `\#`).Replace(text)
}

// unindent removes the indentation of examples.
func unindent(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\n  ", "\n"))
}
