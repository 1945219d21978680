package chart

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestParseAddress(t *testing.T) {
	for address, want := range map[string]fleet.GitRef{
		"https://example.com/a/b.yaml":                          {},
		"http://example.com/b.json":                             {},
		"https://github.com/org/repo":                           {URL: "https://github.com/org/repo", Ref: "HEAD"},
		"https://github.com/org/repo?ref=v1":                    {URL: "https://github.com/org/repo", Ref: "v1"},
		"https://github.com/org/repo/a/b?ref=v1":                {URL: "https://github.com/org/repo", Ref: "v1", Path: "a/b"},
		"https://github.com/org/repo//a/b/?ref=v1&timeout=90s":  {URL: "https://github.com/org/repo", Ref: "v1", Path: "a/b"},
		"https://github.com/org/repo//a.yaml?version=v2":        {URL: "https://github.com/org/repo", Ref: "v2", Path: "a.yaml"},
		"https://example.com/deep/er/repo.git/a?ref=v1":         {URL: "https://example.com/deep/er/repo.git", Ref: "v1", Path: "a"},
		"https://example.com/deep/er/repo.git":                  {URL: "https://example.com/deep/er/repo.git", Ref: "HEAD"},
		"github.com/org/repo/a?ref=main":                        {URL: "https://github.com/org/repo", Ref: "main", Path: "a"},
		"GitHub.com:org/repo":                                   {URL: "https://github.com/org/repo", Ref: "HEAD"},
		"git::https://example.com/org/repo//.":                  {URL: "https://example.com/org/repo", Ref: "HEAD"},
		"git@example.com:org/repo.git//a?ref=0123456789abcdef0": {URL: "ssh://git@example.com/org/repo.git", Ref: "0123456789abcdef0", Path: "a"},
		"ssh://git@example.com/org/repo//a":                     {URL: "ssh://git@example.com/org/repo", Ref: "HEAD", Path: "a"},
	} {
		if got, err := parseAddress(address); got != want || err != nil {
			t.Errorf("%s is %+v, %v", address, got, err)
		}
	}
	for address, want := range map[string]string{
		"https://me:secret@example.com/a.yaml":          "credentials",
		"https://me:secret@example.com/org/repo//a":     "credentials",
		"file:///srv/repo.git//a":                       "this machine",
		"git::file:///srv/repo.git":                     "this machine",
		"https://github.com/org/repo?ref=--upload-pack": "not a git ref",
		"https://github.com/org/repo?ref=a..b":          "not a git ref",
		"https://github.com/org/repo//../x?ref=v1":      "not a path",
		"https://github.com/org/repo//a/../../x":        "not a path",
		"https://github.com/org/repo?submodules=true":   "submodules",
		"https://github.com/org/repo?ref=%zz":           "invalid query",
		"ext::sh -c id":                                 "",
		"git::ext::sh":                                  "",
	} {
		if got, err := parseAddress(address); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is %+v, %v", address, got, err)
		}
	}
}
