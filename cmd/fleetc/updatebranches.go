package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/deliver/export/branch"
	"github.com/fleetc/fleetc/compiler/edit/updates"
)

// branchOf returns the branch of a group; empty without --branch-per-group.
func (u *updateOptions) branchOf(g *updates.Group) updates.PushedGroup {
	i := slices.IndexFunc(u.pushed, func(p updates.PushedGroup) bool { return p.Group == g.Name })
	if i < 0 {
		return updates.PushedGroup{Base: "main"}
	}
	return u.pushed[i]
}

// writeBodies writes the texts of the pull requests to files.
func (u *updateOptions) writeBodies(o *options, found *updates.Updates) error {
	if u.bodies == "" {
		return nil
	}
	if err := os.MkdirAll(o.path(u.bodies), 0o755); err != nil {
		return err
	}
	for _, g := range found.Groups {
		var b strings.Builder
		at := u.branchOf(g)
		base := at.Base
		if at.Branch != "" {
			base = "origin/" + base
		}
		if err := g.WriteMarkdown(&b, base, at.Branch, updates.MaxMarkdown); err != nil {
			return err
		}
		if err := os.WriteFile(o.path(u.bodyFile(g)), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bodyFile returns the file with the text of a pull request.
func (u *updateOptions) bodyFile(g *updates.Group) string {
	return filepath.Join(u.bodies, g.Name+".md")
}

// printPushed prints what happened to the branches of groups.
func (u *updateOptions) printPushed(w io.Writer) error {
	if len(u.pushed) == 0 {
		return nil
	}
	var branches []branch.Result
	for _, p := range u.pushed {
		branches = append(branches, branch.Result{Branch: p.Branch, State: p.State, Commit: p.Commit, Base: p.Base})
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return printBranches(w, branches, "", "", false)
}

// A groupJSON is a group in the output of update -o json.
type groupJSON struct {
	updates.GroupReport
	BodyFile string `json:"bodyFile,omitempty"` // text of the pull request, relative to the directory of -C
}

// json prints the groups in JSON.
func (u *updateOptions) json(w io.Writer, found *updates.Updates, written []string) error {
	out := struct {
		Written  []string              `json:"written"`
		Groups   []groupJSON           `json:"groups"`
		Branches []updates.PushedGroup `json:"branches"`
		Others   []string              `json:"others"` // names of groups that were not selected
		LeftOut  []updates.LeftOut     `json:"leftOut"`
	}{append([]string{}, written...), []groupJSON{}, append([]updates.PushedGroup{}, u.pushed...), append([]string{}, found.Others...), append([]updates.LeftOut{}, found.LeftOut...)}
	for _, g := range found.Groups {
		one := groupJSON{GroupReport: g.Report()}
		if u.bodies != "" {
			one.BodyFile = u.bodyFile(g)
		}
		out.Groups = append(out.Groups, one)
	}
	return writeJSON(w, out)
}
