package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// rolloutRows returns the table of a rollout, with its header.
func rolloutRows(report deliver.RolloutReport) [][]string {
	rows := [][]string{{"WAVE", "CLUSTER", "STATE", "REVISION", "SINCE", "COMMIT", "BUNDLE", "TARGET"}}
	for _, w := range report.Waves {
		for _, c := range w.Clusters {
			revision, since, commit, running := "-", "-", "-", "-"
			if c.Revision > 0 { // on a branch, clusters have no revisions
				revision = fmt.Sprint(c.Revision)
			}
			if !c.Since.IsZero() {
				since = c.Since.UTC().Format(time.RFC3339)
				commit = shortCommit(apply.Revision{Commit: c.Commit, Dirty: c.Dirty})
			}
			if c.Running != "" {
				running = shortDigest(c.Running)
			}
			rows = append(rows, []string{w.Name, c.ID, string(c.State), revision, since, commit, running, shortDigest(c.Target)})
		}
	}
	return rows
}

// rolloutLines returns what there is to say about each wave, and about removed clusters.
func rolloutLines(report deliver.RolloutReport) []string {
	var lines []string
	for _, w := range report.Waves {
		line := fmt.Sprintf("wave %s is %s", w.Name, w.State)
		for i, wait := range w.Waits {
			line += map[bool]string{true: ": ", false: "; "}[i == 0] + wait.Text
		}
		lines = append(lines, line)
		if w.Approve != "" {
			lines = append(lines, fmt.Sprintf("wave %s has the bundle %s", w.Name, w.Bundle))
		}
		if m := w.Approval; m != nil {
			line := "wave " + w.Name + " was " + m.Text("approved")
			if m.Bundle != w.Bundle {
				line += "; it has another bundle now"
				if w.Approve != "" {
					line += " and needs a new approval"
				}
			}
			lines = append(lines, line)
		}
		if m := w.Pause; m != nil && !slices.ContainsFunc(w.Waits, func(w deliver.Wait) bool { return w.Reason == deliver.ForResume }) {
			lines = append(lines, "wave "+w.Name+" is "+m.Text("paused"))
		}
		for _, c := range w.Clusters {
			if c.Applying != "" {
				lines = append(lines, c.ID+": "+c.Applying+" applies to it")
			}
			for _, u := range c.Unhealthy {
				lines = append(lines, c.ID+": "+u)
			}
		}
	}
	for _, removal := range report.Removals {
		lines = append(lines, fmt.Sprintf("%s is not removed yet: %s", removal.Cluster, removal.Reason))
	}
	return lines
}

func rolloutText(w io.Writer, report deliver.RolloutReport) {
	rows := rolloutRows(report)
	t := newTable(w, strings.Join(rows[0], "\t"))
	for _, row := range rows[1:] {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
	for _, line := range rolloutLines(report) {
		fmt.Fprintln(w, line)
	}
}

// rolloutMarkdown writes a rollout as a comment on a change request.
func rolloutMarkdown(w io.Writer, report deliver.RolloutReport) {
	writeMarkdownTable(w, rolloutRows(report))
	fmt.Fprintln(w)
	for _, line := range rolloutLines(report) {
		fmt.Fprintln(w, "- "+diff.MarkdownText(line))
	}
}

// waveList names one or more waves.
func waveList(names []string) string {
	if len(names) == 1 {
		return "wave " + names[0]
	}
	return "waves " + strings.Join(names, ", ")
}
