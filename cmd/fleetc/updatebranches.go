package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/edit"
)

// branchOf returns the branch of a group; empty without --branch-per-group.
func branchOf(found *edit.Updates, g *edit.UpdateGroup) edit.PushedGroup {
	i := slices.IndexFunc(found.Branches, func(p edit.PushedGroup) bool { return p.Group == g.Name })
	if i < 0 {
		return edit.PushedGroup{Base: "main"}
	}
	return found.Branches[i]
}

// writeBodies writes the texts of the pull requests to files.
func (u *updateOptions) writeBodies(o *options, found *edit.Updates) error {
	if u.bodies == "" {
		return nil
	}
	if err := os.MkdirAll(o.path(u.bodies), 0o755); err != nil {
		return err
	}
	for _, g := range found.Groups {
		var b strings.Builder
		at := branchOf(found, g)
		base := at.Base
		if at.Branch != "" {
			base = "origin/" + base
		}
		if err := g.WriteMarkdown(&b, base, at.Branch, edit.MaxUpdateMarkdown); err != nil {
			return err
		}
		g.BodyFile = filepath.Join(u.bodies, g.Name+".md")
		if err := os.WriteFile(o.path(g.BodyFile), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// printPushed prints what happened to the branches of groups.
func printPushed(w io.Writer, pushed []edit.PushedGroup) {
	if len(pushed) == 0 {
		return
	}
	var branches []export.BranchResult
	for _, p := range pushed {
		branches = append(branches, export.BranchResult{Branch: p.Branch, State: p.State, Commit: p.Commit, Base: p.Base})
	}
	fmt.Fprintln(w)
	printBranches(w, branches, "", "", false)
}
